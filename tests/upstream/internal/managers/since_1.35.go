// SPDX-License-Identifier: Apache-2.0

//go:build !until_1.34

package managers

import (
	"context"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

//go:linkname linkedDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func linkedDeviceManager(logger klog.Logger, socket string, nodes []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

func newDeviceManager(ctx context.Context, socket string, nodes []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error) {
	return linkedDeviceManager(klog.FromContext(ctx), socket, nodes, store)
}

// Discover is what the CPU manager makes of the machine.
func Discover(machine *cadvisorapi.MachineInfo) (*topology.CPUTopology, error) {
	return topology.Discover(klog.Background(), machine)
}

func newCPUManager(ctx context.Context, s cpuSettings) (cpumanager.Manager, error) {
	return cpumanager.NewManager(klog.FromContext(ctx), s.policy, s.options, s.reconcile, s.machine, s.reservedCPUs, s.reserved, s.root, s.topology)
}

func newMemoryManager(ctx context.Context, policy string, machine *cadvisorapi.MachineInfo, reserved v1.ResourceList,
	memory []kubeletconfig.MemoryReservation, root string, store topologymanager.Store) (memorymanager.Manager, error) {
	return memorymanager.NewManager(klog.FromContext(ctx), policy, machine, reserved, memory, root, store)
}

func newMemoryPolicy(ctx context.Context, machine *cadvisorapi.MachineInfo, reserved map[int]map[v1.ResourceName]uint64, store topologymanager.Store) (memorymanager.Policy, error) {
	return memorymanager.NewPolicyStatic(klog.FromContext(ctx), machine, reserved, store)
}

func (m *Managers) addHintProvider(ctx context.Context, p topologymanager.HintProvider) {
	m.topology.AddHintProvider(klog.FromContext(ctx), p)
}

func (m *Managers) newPredicateHandler() lifecycle.PodAdmitHandler {
	return lifecycle.NewPredicateAdmitHandler(func(context.Context, bool) (*v1.Node, error) { return m.currentNode(), nil },
		keepFailures{}, m.devices.UpdatePluginResources)
}

func (m *Managers) startCPUs(ctx context.Context, containers containermap.ContainerMap) error {
	return m.cpus.Start(ctx, m.activePods, m, noStatus{}, noRuntime{}, containers)
}

func (m *Managers) startDevices(ctx context.Context, containers containermap.ContainerMap, running sets.Set[string]) error {
	return m.devices.Start(klog.FromContext(ctx), m.activePods, m, containers, running)
}

func (m *Managers) stopDevices(ctx context.Context) { m.devices.Stop(klog.FromContext(ctx)) }

func (m *Managers) giveMemoryBack(from memorystate.State, uid, container string) {
	m.cleaner.RemoveContainer(klog.Background(), from, uid, container)
}
