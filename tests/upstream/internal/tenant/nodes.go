// SPDX-License-Identifier: Apache-2.0

// Package tenant has an ordinary user of a real API server do what it allows him, while `nrtd-extender` answers questions
// about another user's pods.
package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/managers"
)

// nic is the resource of a device plugin.
const nic = "vendor.com/nic"

// kinds are machines of 64 CPUs with the kubelet's settings. Each has pods of tenant-b with these CPUs, which leave room on
// every NUMA node, and on each less than the node has free as a whole.
var kinds = []struct {
	machine, policy, scope string
	nics                   [][]int
	cpus                   []string
}{
	{"q4x16", "restricted", "container", [][]int{{0}, {1}, {2}, {3}}, []string{"5", "3", "16", "8", "8", "9"}},
	{"d2x32", "single-numa-node", "container", [][]int{{0}, {0}, {1}, {1}}, []string{"5", "3", "16", "25"}},
	{"d2x32", "single-numa-node", "pod", nil, []string{"5", "3", "16", "25"}},
	{"o8x8", "restricted", "pod", nil, []string{"5", "3", "8", "8", "8", "8", "8", "3", "5"}},
	{"o8x8", "restricted", "container", nil, []string{"5", "3", "8", "8", "8", "8", "8", "3", "5"}},
}

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
systemReserved: {memory: 1Gi}
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
topologyManagerPolicy: %s
topologyManagerScope: %s
`

// makeNodes has the real managers of each kind admit pods of tenant-b, publishes what nrtd says of these nodes, and has
// the other nodes be like them, without the pods.
func (t *Test) makeNodes(ctx context.Context) error {
	like := map[int]*topologyv1alpha2.NodeResourceTopology{} // by kind
	for i := range t.Nodes {
		name := fmt.Sprintf("node-%03d", i)
		t.names = append(t.names, name)
		if err := t.registerNode(ctx, name); err != nil {
			return err
		}
		object := like[i%len(kinds)]
		if i < len(kinds) {
			full, empty, err := t.machine(ctx, name, i)
			if err != nil {
				return err
			}
			object, like[i] = full, empty
		}
		if err := t.publish(ctx, name, object); err != nil {
			return err
		}
	}
	if err := t.registerNode(ctx, markerNode); err != nil {
		return err
	}
	return t.publish(ctx, markerNode, like[0])
}

// machine is what nrtd says of a node with pods of tenant-b, and before these came.
func (t *Test) machine(ctx context.Context, name string, number int) (full, empty *topologyv1alpha2.NodeResourceTopology, err error) {
	kind := kinds[number]
	machine := filepath.Join(t.Machines, kind.machine)
	node, err := daemon.New(t.dir, name, machine, t.Nrtd, "", "0")
	if err != nil {
		return nil, nil, err
	}
	node.Settings = nil
	config := filepath.Join(node.Dir, daemon.ConfigPath)
	if err := os.MkdirAll(node.Kubelet(), 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, kubeletConfig, kind.policy, kind.scope), 0o644); err != nil {
		return nil, nil, err
	}
	if err := os.RemoveAll(filepath.Join(node.Dir, "proc/stat")); err != nil { // a link to the machine's
		return nil, nil, err
	}
	if err := node.ShowKubelet(1000); err != nil {
		return nil, nil, err
	}
	m, err := daemon.StartManagers(filepath.Join(t.Programs, "managers"), machine, node.Kubelet(), config)
	if err != nil {
		return nil, nil, err
	}
	defer m.Kill()
	if kind.nics != nil {
		if _, err := kubelet.OfferPCI(node.Dir, []managers.Devices{{Resource: nic, NUMA: kind.nics}}); err != nil {
			return nil, nil, err
		}
		if err := m.Register(nic, kind.nics); err != nil {
			return nil, nil, err
		}
	}
	// This kubelet has been running for a while: for half a minute after a start nrtd waits for pods that come back.
	earlier := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(node.Kubelet(), "pod-resources/kubelet.sock"), earlier, earlier); err != nil {
		return nil, nil, err
	}
	if empty, err = node.Dump(ctx); err != nil {
		return nil, nil, err
	}
	for i, cpus := range kind.cpus {
		if err := t.runPod(ctx, m, fmt.Sprintf("%s-%d", name, i), name, cpus); err != nil {
			return nil, nil, err
		}
	}
	full, err = node.Dump(ctx)
	return full, empty, err
}

// runPod has tenant-b's pod run on the node.
func (t *Test) runPod(ctx context.Context, m *daemon.Managers, name, node, cpus string) error {
	pods := t.admin.CoreV1().Pods(victimNamespace)
	pod := guaranteed(name, cpus, "1Gi")
	pod.Spec.NodeName = node
	pod, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	asked := pod.DeepCopy()
	asked.Spec.NodeName = "" // the managers' node has another name
	if _, err := m.Admit(asked); err != nil {
		return err
	}
	now := metav1.Now()
	pod.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &now, ContainerStatuses: []v1.ContainerStatus{{Name: "app", Image: "x", ImageID: "x",
		Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}}}}}
	pod, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	t.victims = append(t.victims, pod)
	return err
}

// registerNode makes a Node with the amounts of a machine of 64 CPUs.
func (t *Test) registerNode(ctx context.Context, name string) error {
	node, err := t.admin.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	amounts := v1.ResourceList{}
	for resourceName, text := range map[v1.ResourceName]string{v1.ResourceCPU: "63", v1.ResourceMemory: "240Gi", v1.ResourcePods: "110", nic: "4"} {
		amounts[resourceName] = resource.MustParse(text)
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": amounts, "allocatable": amounts}})
	if err != nil {
		return err
	}
	_, err = t.admin.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// publish applies the object under the node's name.
func (t *Test) publish(ctx context.Context, name string, object *topologyv1alpha2.NodeResourceTopology) error {
	object = object.DeepCopy()
	object.Name = name
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	client := t.dynamic.Resource(topologyv1alpha2.SchemeGroupVersion.WithResource("noderesourcetopologies"))
	_, err = client.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	return err
}

// guaranteed is a pod of one container.
func guaranteed(name, cpus, memory string) *v1.Pod {
	return podOf(name, container("app", map[v1.ResourceName]string{v1.ResourceCPU: cpus, v1.ResourceMemory: memory}))
}

// container has these limits, and requests alike.
func container(name string, amounts map[v1.ResourceName]string) v1.Container {
	limits := v1.ResourceList{}
	for _, resourceName := range slices.Sorted(maps.Keys(amounts)) {
		limits[resourceName] = resource.MustParse(amounts[resourceName])
	}
	return v1.Container{Name: name, Image: "x", Resources: v1.ResourceRequirements{Limits: limits}}
}

func podOf(name string, containers ...v1.Container) *v1.Pod {
	no := false
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{AutomountServiceAccountToken: &no, Containers: containers}}
}
