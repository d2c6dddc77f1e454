// SPDX-License-Identifier: Apache-2.0

//go:build until_1.34

package managers

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
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
	_ "unsafe" // for go:linkname
)

//go:linkname linkedDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func linkedDeviceManager(socket string, nodes []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

func newDeviceManager(_ context.Context, socket string, nodes []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error) {
	return linkedDeviceManager(socket, nodes, store)
}

// Discover is what the CPU manager makes of the machine.
func Discover(machine *cadvisorapi.MachineInfo) (*topology.CPUTopology, error) {
	return topology.Discover(machine)
}

func newCPUManager(_ context.Context, s cpuSettings) (cpumanager.Manager, error) {
	return cpumanager.NewManager(s.policy, s.options, s.reconcile, s.machine, s.reservedCPUs, s.reserved, s.root, s.topology)
}

func newMemoryManager(ctx context.Context, policy string, machine *cadvisorapi.MachineInfo, reserved v1.ResourceList,
	memory []kubeletconfig.MemoryReservation, root string, store topologymanager.Store) (memorymanager.Manager, error) {
	return memorymanager.NewManager(ctx, policy, machine, reserved, memory, root, store)
}

func newMemoryPolicy(ctx context.Context, machine *cadvisorapi.MachineInfo, reserved map[int]map[v1.ResourceName]uint64, store topologymanager.Store) (memorymanager.Policy, error) {
	return memorymanager.NewPolicyStatic(ctx, machine, reserved, store)
}

func (m *Managers) addHintProvider(_ context.Context, p topologymanager.HintProvider) {
	m.topology.AddHintProvider(p)
}

func (m *Managers) newPredicateHandler() lifecycle.PodAdmitHandler {
	return lifecycle.NewPredicateAdmitHandler(func() (*v1.Node, error) { return m.currentNode(), nil }, keepFailures{}, m.devices.UpdatePluginResources)
}

func (m *Managers) startCPUs(_ context.Context, containers containermap.ContainerMap) error {
	return m.cpus.Start(m.activePods, m, noStatus{}, noRuntime{}, containers)
}

func (m *Managers) startDevices(_ context.Context, containers containermap.ContainerMap, running sets.Set[string]) error {
	return m.devices.Start(m.activePods, m, containers, running)
}

func (m *Managers) stopDevices(context.Context) { m.devices.Stop() }

func (m *Managers) giveMemoryBack(from memorystate.State, uid, container string) {
	m.cleaner.RemoveContainer(context.Background(), from, uid, container)
}

func (m *Managers) memoryBlocks(uid, container string) []memorystate.Block {
	return m.memory.GetMemory(context.Background(), uid, container)
}

func (m *Managers) allocatableMemory() []memorystate.Block {
	return m.memory.GetAllocatableMemory(context.Background())
}
