// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/managers"
	"sigs.k8s.io/yaml"
)

// errKubelet ends a sequence: the kubelet's code has crashed or does not answer.
var errKubelet = errors.New("the kubelet's code gave up")

// patience is how long the kubelet's code may take for an answer.
const patience = 30 * time.Second

// noPlugin is an extended resource that Nodes have and no device plugin serves, as after a patch of the Node's status.
const noPlugin = v1.ResourceName("example.com/dongle")

// node is one node: the folder that nrtd reads, and the managers of its kubelet.
type node struct {
	*daemon.Node
	setup     *NodeSetup
	managers  *managers.Managers
	amounts   v1.ResourceList // allocatable of its Node
	queue     []made          // objects that nrtd made and that are not published yet, the oldest first
	published map[string]any  // nil = none
	generated int64           // metadata.generation of it
	written   string          // when its content was another one before
	assigned  []*pod          // pods assumed on the node or bound to it, in any order
	there     map[types.UID]*v1.Pod
}

// made is an object of nrtd and the order at which it was made.
type made struct {
	object map[string]any
	order  int
}

// newNode makes the node's folder and starts its kubelet's managers.
func newNode(ctx context.Context, dir, nrtd, name string, setup *NodeSetup, machine *kubelet.Machine) (*node, error) {
	tree, err := daemon.New(dir, name, machine.Dir, nrtd, "", "0")
	if err != nil {
		return nil, err
	}
	// nrtd finds the kubelet's settings; below a sysroot it asks no socket that it is not told of.
	tree.Settings = []string{"--pod-resources", filepath.Join(tree.Kubelet(), "pod-resources/kubelet.sock")}
	n := &node{Node: tree, setup: setup, there: map[types.UID]*v1.Pod{}}
	config := filepath.Join(n.Dir, daemon.ConfigPath)
	text, err := yaml.Marshal(setup.Config)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(n.Kubelet(), 0o755), os.WriteFile(config, text, 0o644), os.RemoveAll(filepath.Join(n.Dir, "proc/stat")),
		n.ShowKubelet(1000)); err != nil {
		return nil, err
	}
	loaded, err := managers.LoadConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKubelet, err)
	}
	if n.managers, err = managers.Start(ctx, n.Kubelet(), machine.Info, loaded); err != nil {
		return nil, fmt.Errorf("%w: %w", errKubelet, err)
	}
	if _, err := kubelet.OfferPCI(n.Dir, setup.Devices); err != nil {
		return nil, err
	}
	for _, d := range setup.Devices {
		if err := n.managers.Register(ctx, d); err != nil {
			return nil, fmt.Errorf("%w: %w", errKubelet, err)
		}
	}
	n.amounts = n.managers.NodeStatus().Allocatable
	delete(n.amounts, v1.ResourcePods)
	n.amounts[noPlugin] = resource.MustParse("1000")
	return n, nil
}

// object is the Node as the API server has it.
func (n *node) object() map[string]any {
	return map[string]any{"metadata": map[string]any{"name": n.Name, "uid": "node-" + n.Name},
		"status": map[string]any{"allocatable": asMap(n.amounts), "capacity": asMap(n.amounts)}}
}

// guard calls the kubelet's code, which may panic or not come back.
func guard(call func()) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if said := recover(); said != nil {
				done <- fmt.Errorf("%w: %v", errKubelet, said)
			}
		}()
		call()
		done <- nil
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%w: no answer in %v", errKubelet, patience)
	}
}

// admit asks the managers. The kubelet knows the pod by this UID.
func (n *node) admit(object *v1.Pod, uid types.UID) (verdict *managers.Verdict, err error) {
	asked := object.DeepCopy()
	asked.Spec.NodeName, asked.Status, asked.UID = "", v1.PodStatus{}, uid // the managers' node has another name
	err = guard(func() { verdict = n.managers.Admit(asked) })
	if err == nil && verdict.Admitted {
		n.there[uid] = asked
		err = os.MkdirAll(n.logs(asked), 0o755)
	}
	return verdict, err
}

// try returns the managers' decision about the pod: it admits the pod and removes it again.
func (n *node) try(object *v1.Pod, uid types.UID) (*managers.Verdict, error) {
	verdict, err := n.admit(object, uid)
	if err == nil && verdict.Admitted {
		err = n.drop(uid)
	}
	return verdict, err
}

func (n *node) drop(uid types.UID) (err error) {
	object := n.there[uid]
	delete(n.there, uid)
	said := guard(func() { err = n.managers.Drop(object.Namespace + "/" + object.Name) })
	return errors.Join(said, err, os.RemoveAll(n.logs(object)))
}

// complete ends a pod that is not deleted yet.
func (n *node) complete(uid types.UID) (err error) {
	object := n.there[uid]
	said := guard(func() { err = n.managers.Complete(object.Namespace + "/" + object.Name) })
	return errors.Join(said, err)
}

func (n *node) logs(object *v1.Pod) string {
	return filepath.Join(n.Dir, "var/log/pods", fmt.Sprintf("%s_%s_%s", object.Namespace, object.Name, object.UID))
}

// settle makes the files as old as they are some time after the last change.
func (n *node) settle() error {
	earlier := time.Now().Add(-time.Hour)
	for _, path := range []string{"pod-resources/kubelet.sock", "cpu_manager_state", "memory_manager_state",
		"device-plugins/kubelet_internal_checkpoint"} {
		if err := os.Chtimes(filepath.Join(n.Kubelet(), path), earlier, earlier); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// dump has nrtd make the node's object as it is now.
func (n *node) dump(ctx context.Context, order int) error {
	if err := n.settle(); err != nil {
		return err
	}
	text, err := n.DumpText(ctx)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	if n.setup.Foreign {
		n.makeForeign(object)
	}
	n.queue = append(n.queue, made{object, order})
	return nil
}

// makeForeign makes an object that another exporter could have written: zones and what NFD's topology-updater has among
// the attributes.
func (n *node) makeForeign(object map[string]any) {
	kept := []any{}
	for _, attribute := range object["attributes"].([]any) {
		switch attribute.(map[string]any)["name"] {
		case "topologyManagerPolicy", "topologyManagerScope":
			kept = append(kept, attribute)
		}
	}
	object["attributes"] = kept
	object["metadata"] = map[string]any{"name": n.Name}
}

// take is the next object of the queue: the oldest, or the newest, whose coming makes nrtd write no older one.
func (n *node) take(newest bool) made {
	at := 0
	if newest {
		at = len(n.queue) - 1
	}
	next := n.queue[at]
	n.queue = slices.Delete(n.queue, 0, at+1)
	return next
}

// publishNext writes the next object of the queue.
func (n *node) publishNext(s *apiServer, newest bool) {
	next := n.take(newest)
	rv := n.publish(s, next.object)
	for _, pod := range n.assigned {
		if pod.static && pod.admitOrder <= next.order {
			pod.shownAt = min(pod.shownAt, rv)
		}
	}
}

// publish writes the object. Its generation is another one when more than its metadata is, and so is the time in
// metadata.managedFields at which its zones were written.
func (n *node) publish(s *apiServer, object map[string]any) int64 {
	metadata := object["metadata"].(map[string]any)
	if n.published == nil || string(content(n.published)) != string(content(object)) {
		n.generated++
		n.written = time.Now().UTC().Format(time.RFC3339)
	}
	n.published = object
	metadata["managedFields"] = []any{map[string]any{"manager": "exporter", "operation": "Update", "apiVersion": "topology.node.k8s.io/v1alpha2",
		"fieldsType": "FieldsV1", "time": n.written, "fieldsV1": map[string]any{"f:zones": map[string]any{}, "f:attributes": map[string]any{}}}}
	if metadata["labels"] != nil {
		metadata["managedFields"] = append(metadata["managedFields"].([]any), map[string]any{"manager": "kubectl-edit", "operation": "Update",
			"apiVersion": "topology.node.k8s.io/v1alpha2", "fieldsType": "FieldsV1", "time": time.Now().UTC().Format(time.RFC3339),
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{}}}})
	}
	metadata["generation"], metadata["uid"], metadata["name"] = n.generated, "nrt-"+n.Name, n.Name
	return s.put(nrts, n.Name, object)
}

func content(object map[string]any) []byte {
	text, err := json.Marshal([]any{object["zones"], object["attributes"], object["topologyPolicies"]})
	if err != nil {
		panic(err)
	}
	return text
}

func (n *node) close() {
	if n.managers != nil {
		guard(func() { n.managers.Stop() })
	}
}

// has tells whether the Node has all resources that the pod requests, and could hold the pod alone: schedulers send extenders only such
// nodes.
func (n *node) has(object *v1.Pod) bool {
	for name, amount := range requestsOf(object) {
		all, known := n.amounts[name]
		if !known && !amount.IsZero() || amount.Cmp(all) > 0 {
			return false
		}
	}
	return true
}

// asMap is the value as JSON has it.
func asMap(value any) (out map[string]any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// never is an order that nothing has yet.
const never = math.MaxInt
