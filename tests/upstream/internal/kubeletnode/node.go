// SPDX-License-Identifier: Apache-2.0

// Package kubeletnode runs one node of a cluster: the folder that nrtd reads, and the managers of the node's kubelet.
package kubeletnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/managers"
	"sigs.k8s.io/yaml"
)

// ErrKubelet is returned when the kubelet's code has crashed or does not answer: the node cannot be used any more.
var ErrKubelet = errors.New("the kubelet's code gave up")

// patience is how long the kubelet's code may take for an answer.
const patience = 30 * time.Second

// Setup is what a node is made from.
type Setup struct {
	Machine string                                     `json:"machine"`
	Config  *kubeletconfigv1beta1.KubeletConfiguration `json:"config"`
	Devices []managers.Devices                         `json:"devices,omitempty"`
}

// Tree is a folder with a machine, for one node at a time.
type Tree struct {
	dir     *daemon.Node
	machine *kubelet.Machine
}

// NewTree makes the folder DIR/NAME.
func NewTree(dir, name, nrtd string, machine *kubelet.Machine) (*Tree, error) {
	tree, err := daemon.New(dir, name, machine.Dir, nrtd, "", "0")
	if err != nil {
		return nil, err
	}
	return &Tree{tree, machine}, os.RemoveAll(filepath.Join(tree.Dir, "proc/stat"))
}

// Node is one node.
type Node struct {
	*daemon.Node
	Tree     *Tree
	Managers *managers.Managers
	there    map[types.UID]*v1.Pod
	clean    func() // removes what belongs to the node alone from the tree
}

// Start makes a node of the tree and starts the managers of the node's kubelet. The tree can be used again after Close.
func (t *Tree) Start(ctx context.Context, name string, setup *Setup) (*Node, error) {
	dir := *t.dir
	dir.Name = name
	// nrtd finds the kubelet's settings; below a sysroot it asks no socket that it is not told of.
	dir.Settings = []string{"--pod-resources", filepath.Join(dir.Kubelet(), "pod-resources/kubelet.sock")}
	n := &Node{Node: &dir, Tree: t, there: map[types.UID]*v1.Pod{}}
	removeDevices, err := kubelet.OfferPCI(n.Dir, setup.Devices)
	n.clean = func() {
		removeDevices()
		os.RemoveAll(filepath.Join(n.Dir, "var"))
	}
	if err == nil {
		err = n.start(ctx, setup)
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (n *Node) start(ctx context.Context, setup *Setup) error {
	if err := os.MkdirAll(n.Kubelet(), 0o755); err != nil {
		return err
	}
	return n.startManagers(ctx, setup.Config, setup.Devices, managers.Start)
}

type starter func(context.Context, string, *cadvisorapi.MachineInfo, *kubeletconfig.KubeletConfiguration) (*managers.Managers, error)

func (n *Node) startManagers(ctx context.Context, config *kubeletconfigv1beta1.KubeletConfiguration, devices []managers.Devices, start starter) error {
	path := filepath.Join(n.Dir, daemon.ConfigPath)
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(path, text, 0o644), n.ShowKubelet(1000)); err != nil {
		return err
	}
	loaded, err := managers.LoadConfig(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKubelet, err)
	}
	if n.Managers, err = start(ctx, n.Kubelet(), n.Tree.machine.Info, loaded); err != nil {
		return fmt.Errorf("%w: %w", ErrKubelet, err)
	}
	for _, d := range devices {
		if err := n.Managers.Register(ctx, d); err != nil {
			return fmt.Errorf("%w: %w", ErrKubelet, err)
		}
	}
	return nil
}

// Restart starts the kubelet again with other settings while its pods run. Its device plugins have registered when it returns.
func (n *Node) Restart(ctx context.Context, config *kubeletconfigv1beta1.KubeletConfiguration, devices []managers.Devices) error {
	if n.Managers != nil {
		if err := guard(func() { n.Managers.Stop() }); err != nil {
			return err
		}
	}
	n.Managers = nil
	return n.startManagers(ctx, config, devices, managers.Restart)
}

// guard calls the kubelet's code, which may panic or not come back.
func guard(call func()) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if said := recover(); said != nil {
				done <- fmt.Errorf("%w: %v", ErrKubelet, said)
			}
		}()
		call()
		done <- nil
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%w: no answer in %v", ErrKubelet, patience)
	}
}

// Admit asks the managers. The kubelet knows the pod by this UID.
func (n *Node) Admit(object *v1.Pod, uid types.UID) (verdict *managers.Verdict, err error) {
	asked := object.DeepCopy()
	asked.Spec.NodeName, asked.Status, asked.UID = "", v1.PodStatus{}, uid // the managers' node has another name
	err = guard(func() { verdict = n.Managers.Admit(asked) })
	if err == nil && verdict.Admitted {
		n.there[uid] = asked
		err = os.MkdirAll(n.logs(asked), 0o755)
	}
	return verdict, err
}

// Try returns the managers' decision about the pod: it admits the pod and removes it again.
func (n *Node) Try(object *v1.Pod, uid types.UID) (*managers.Verdict, error) {
	verdict, err := n.Admit(object, uid)
	if err == nil && verdict.Admitted {
		err = n.Drop(uid)
	}
	return verdict, err
}

// Has tells whether the node has a pod of this UID, running or completed.
func (n *Node) Has(uid types.UID) bool { return n.there[uid] != nil }

// Drop ends and deletes a pod.
func (n *Node) Drop(uid types.UID) (err error) {
	object := n.there[uid]
	delete(n.there, uid)
	said := guard(func() { err = n.Managers.Drop(object.Namespace + "/" + object.Name) })
	return errors.Join(said, err, os.RemoveAll(n.logs(object)))
}

// Complete ends a pod that is not deleted yet.
func (n *Node) Complete(uid types.UID) (err error) {
	object := n.there[uid]
	said := guard(func() { err = n.Managers.Complete(object.Namespace + "/" + object.Name) })
	return errors.Join(said, err)
}

// Resize gives a container other amounts in place, as far as the managers grant them.
func (n *Node) Resize(pod, container string, amounts v1.ResourceList) (granted bool, err error) {
	said := guard(func() { granted, err = n.Managers.Resize(pod, container, amounts) })
	return granted, errors.Join(said, err)
}

func (n *Node) logs(object *v1.Pod) string {
	return filepath.Join(n.Dir, "var/log/pods", fmt.Sprintf("%s_%s_%s", object.Namespace, object.Name, object.UID))
}

// settle makes the files as old as they are some time after the last change.
func (n *Node) settle() error {
	earlier := time.Now().Add(-time.Hour)
	for _, path := range []string{"pod-resources/kubelet.sock", "cpu_manager_state", "memory_manager_state",
		"device-plugins/kubelet_internal_checkpoint"} {
		if err := os.Chtimes(filepath.Join(n.Kubelet(), path), earlier, earlier); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// Object has nrtd make the node's object as it is now.
func (n *Node) Object(ctx context.Context) (map[string]any, error) {
	if err := n.settle(); err != nil {
		return nil, err
	}
	text, err := n.DumpText(ctx)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	return object, json.Unmarshal(text, &object)
}

// Close ends the managers' servers and removes the kubelet's files.
func (n *Node) Close() {
	if n.Managers != nil {
		guard(func() { n.Managers.Stop() })
	}
	n.clean()
}
