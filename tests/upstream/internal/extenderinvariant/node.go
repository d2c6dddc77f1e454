// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-base/version"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

// noPlugin is an extended resource that Nodes have and no device plugin serves, as after a patch of the Node's status.
const noPlugin = v1.ResourceName("example.com/dongle")

// node is one node: the folder that nrtd reads, and the managers of its kubelet.
type node struct {
	*kubeletnode.Node
	setup     *NodeSetup
	amounts   v1.ResourceList // allocatable of its Node
	queue     []made          // objects that nrtd made and that are not published yet, the oldest first
	published map[string]any  // nil = none
	generated int64           // metadata.generation of it
	written   string          // when its content was another one before
	assigned  []*pod          // pods assumed on the node or bound to it, in any order
}

// made is an object of nrtd and the order at which it was made.
type made struct {
	object map[string]any
	order  int
}

// newNode makes the node's folder and starts its kubelet's managers.
func newNode(ctx context.Context, dir, nrtd, name string, setup *NodeSetup, machine *kubelet.Machine) (*node, error) {
	tree, err := kubeletnode.NewTree(dir, name, nrtd, machine)
	if err != nil {
		return nil, err
	}
	own, err := tree.Start(ctx, name, &setup.Setup)
	if err != nil {
		return nil, err
	}
	n := &node{Node: own, setup: setup, amounts: own.Managers.NodeStatus().Allocatable}
	delete(n.amounts, v1.ResourcePods)
	n.amounts[noPlugin] = resource.MustParse("1000")
	return n, nil
}

// object is the Node as the API server has it.
func (n *node) object() map[string]any {
	return map[string]any{"metadata": map[string]any{"name": n.Name, "uid": "node-" + n.Name},
		"status": map[string]any{"allocatable": asMap(n.amounts), "capacity": asMap(n.amounts),
			"nodeInfo": map[string]any{"kubeletVersion": version.Get().GitVersion}}}
}

// dump has nrtd make the node's object as it is now.
func (n *node) dump(ctx context.Context, order int) error {
	object, err := n.Object(ctx)
	if err != nil {
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
