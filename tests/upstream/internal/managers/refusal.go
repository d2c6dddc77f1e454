// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// reservable are the resources that parseResourceList in cmd/kubelet/app takes.
var reservable = []string{"cpu", "memory", "ephemeral-storage", "pid"}

// Refusal is the error with which the kubelet does not start with a configuration that LoadConfig has read, on a machine without state
// files below root; nil if it starts. The constructors of its managers decide. What surrounds them is unexported and stands here
// again: getReservedCPUs and parseResourceList (cmd/kubelet/app/server.go), and validateNodeAllocatable (pkg/kubelet/cm).
func Refusal(ctx context.Context, root string, machine *cadvisorapi.MachineInfo, config *kubeletconfig.KubeletConfiguration) error {
	cpus, err := cpuset.Parse(config.ReservedSystemCPUs)
	if err != nil {
		return err
	}
	topology, err := Discover(machine)
	if err != nil {
		return err
	}
	if all := topology.CPUDetails.CPUs(); !cpus.IsSubsetOf(all) {
		return fmt.Errorf("reserved-cpus: %s is not a subset of online-cpus: %s", cpus, all)
	}
	for _, list := range []map[string]string{config.KubeReserved, config.SystemReserved} {
		for name := range list {
			if !slices.Contains(reservable, name) {
				return fmt.Errorf("cannot reserve %q resource", name)
			}
		}
	}
	if config.EvictionHard == nil {
		config.EvictionHard = eviction.DefaultEvictionHard // as cmd/kubelet/app does
	}
	capacity := cadvisor.CapacityFromMachineInfo(machine)
	all, reservedCPUs, err := reservation(config, capacity)
	if err != nil {
		return err
	}
	reserved := v1.ResourceList{}
	for name := range capacity {
		if amount, ok := all[name]; ok {
			reserved[name] = amount
		}
	}
	store, err := newTopologyManager(ctx, machine.Topology, config.TopologyManagerPolicy, config.TopologyManagerScope,
		config.TopologyManagerPolicyOptions)
	if err != nil {
		return err
	}
	if _, err := newCPUManager(ctx, cpuSettings{config.CPUManagerPolicy, config.CPUManagerPolicyOptions, 0, machine,
		reservedCPUs, reserved, root, store}); err != nil {
		return err
	}
	if _, err := newMemoryManager(ctx, config.MemoryManagerPolicy, machine, reserved, config.ReservedMemory, root, store); err != nil {
		return err
	}
	for name, amount := range reserved {
		left := capacity[name].DeepCopy()
		left.Sub(amount)
		if left.Sign() < 0 {
			return fmt.Errorf("resource %q has a reservation of %v but capacity of %v. Expected capacity >= reservation", name, &amount, capacity[name])
		}
	}
	return nil
}
