// SPDX-License-Identifier: Apache-2.0

//go:build since_1.37

package managers

import (
	"context"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-client/pkg/util"
	"k8s.io/klog/v2"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	podsapi "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/apis/pods"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	cmqos "k8s.io/kubernetes/pkg/kubelet/cm/qos"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/pod"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

func newTopologyManager(ctx context.Context, nodes []cadvisorapi.Node, policy, scope string, options map[string]string) (topologymanager.Manager, error) {
	return topologymanager.NewManager(klog.FromContext(ctx), nodes, policy, scope, options)
}

func (m *Managers) removeAllocated(uid types.UID) error {
	return m.admitted.RemovePod(klog.Background(), uid)
}

func (m *Managers) ask(handler lifecycle.PodAdmitHandler, pod *v1.Pod, others []*v1.Pod, resize bool) lifecycle.PodAdmitResult {
	operation := lifecycle.AddOperation
	if resize {
		operation = lifecycle.ResizeOperation
	}
	return handler.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: others, Operation: operation})
}

func (m *Managers) affinity(uid, container string) topologymanager.TopologyHint {
	return m.topology.GetAffinity(klog.Background(), uid, container)
}

func (m *Managers) deviceCapacity() (capacity, allocatable v1.ResourceList) {
	capacity, allocatable, _ = m.devices.GetCapacity(klog.Background())
	return capacity, allocatable
}

func (m *Managers) allocatableDevices() devicemanager.ResourceDeviceInstances {
	return m.devices.GetAllocatableDevices(klog.Background())
}

func (m *Managers) memoryBlocks(uid, container string) []memorystate.Block {
	return m.memory.GetMemory(klog.Background(), uid, container)
}

func (m *Managers) allocatableMemory() []memorystate.Block {
	return m.memory.GetAllocatableMemory(klog.Background())
}

func (m *Managers) cpuHints(pod *v1.Pod) {
	m.cpus.GetTopologyHints(klog.Background(), pod, &pod.Spec.Containers[0], lifecycle.AddOperation)
}

func (m *Managers) memoryHints(pod *v1.Pod) {
	m.memory.GetTopologyHints(klog.Background(), pod, &pod.Spec.Containers[0], lifecycle.AddOperation)
}

func (keepFailures) HandleAdmissionFailure(_ context.Context, _ *v1.Pod, reasons []lifecycle.PredicateFailureReason, _ lifecycle.Operation) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

func (p mortal) Allocate(ctx context.Context, pod *v1.Pod, container *v1.Container, operation lifecycle.Operation) error {
	p.live()
	return p.HintProvider.Allocate(ctx, pod, container, operation)
}

const TellsOfPods = true

// PodsAPI is whether the kubelet serves the pods API.
const PodsAPI = true

// podManager is the kubelet's, as far as its pods API asks it.
type podManager struct {
	pod.Manager
	managers *Managers
}

func (p podManager) GetPods() []*v1.Pod { return p.managers.activePods() }

// servePods serves the real pods API on ROOT/pods-api/pods-api.sock.
func (m *Managers) servePods() error {
	dir := filepath.Join(m.Root, kubeletconfig.DefaultKubeletPodsAPIDirName)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	endpoint, err := kubeletutil.LocalEndpoint(dir, pods.Socket)
	if err != nil {
		return err
	}
	listener, err := util.CreateListener(endpoint)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	podsapi.RegisterPodsServer(server, pods.NewPodsServer(nil, podManager{managers: m}, nil, nil))
	go server.Serve(listener)
	m.stop = append(m.stop, server.Stop)
	return nil
}

func (m *Managers) providers() podresources.PodResourcesProviders {
	return podresources.PodResourcesProviders{Pods: m, Devices: m, Cpus: m, Memory: m, DynamicResources: m}
}

// What the pod-resources server asks for, answered as the kubelet's container manager does: what is not the container's
// own is not of the container.

func (m *Managers) UpdateAllocatedDevices(logger klog.Logger) {
	m.devices.UpdateAllocatedDevices(logger)
}

func (m *Managers) GetAllocatableDevices(klog.Logger) []*podresourcesapi.ContainerDevices {
	return containerDevices(m.allocatableDevices())
}

// listedCPUs are the exclusive CPUs that the API lists for a container. Of a pod with amounts of its own it lists those of
// a container that asks for whole CPUs now: not of one that was resized since it got them.
func (m *Managers) listedCPUs(pod *v1.Pod, container *v1.Container) cpuset.CPUSet {
	if m.cpus.GetResourceIsolationLevel(pod, container) != cmqos.ResourceIsolationContainer {
		return cpuset.New()
	}
	return m.cpus.GetExclusiveCPUs(string(pod.UID), container.Name)
}

func (m *Managers) GetCPUs(pod *v1.Pod, container *v1.Container) []int64 {
	return wide(m.listedCPUs(pod, container).UnsortedList())
}

func (m *Managers) GetPodCPUs(uid string) []int64 { return wide(m.cpus.GetPodCPUs(uid).UnsortedList()) }

func (m *Managers) GetMemory(_ klog.Logger, pod *v1.Pod, container *v1.Container) []*podresourcesapi.ContainerMemory {
	if m.memory.GetResourceIsolationLevel(pod, container) != cmqos.ResourceIsolationContainer {
		return []*podresourcesapi.ContainerMemory{}
	}
	return containerMemory(m.memoryBlocks(string(pod.UID), container.Name))
}

func (m *Managers) GetPodMemory(_ klog.Logger, uid string) []*podresourcesapi.ContainerMemory {
	return containerMemory(m.podMemory(types.UID(uid)))
}

func (m *Managers) GetAllocatableMemory(klog.Logger) []*podresourcesapi.ContainerMemory {
	return containerMemory(m.allocatableMemory())
}

func (m *Managers) GetDynamicResources(klog.Logger, *v1.Pod, *v1.Container) []*podresourcesapi.DynamicResource {
	return nil
}
