// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
	"nrtd.dev/tests/upstream/internal/timing"
)

// timedMerge is a question for the Topology Manager, and its answer.
type timedMerge struct {
	NUMANodes int        `json:"numaNodes"`
	Distances [][]uint64 `json:"distances"`
	Resources [][]hint   `json:"resources"`
	Policy    string     `json:"policy"`
	verdict
}

// TimeMerges measures the restricted policy's merge of one to three resources on 2, 4 and 8 nodes. Each resource has
// a hint for every set of nodes, the single nodes preferred: what a provider gives on a machine with much free.
func TimeMerges(logger klog.Logger, report func(timing.Case)) error {
	for _, n := range []int{2, 4, 8} {
		distances := randomDistances(rand.New(rand.NewPCG(uint64(n), 0)), n)
		var nodes []cadvisorapi.Node
		var ids []int
		for i := range n {
			nodes = append(nodes, cadvisorapi.Node{Id: i, Distances: distances[i]})
			ids = append(ids, i)
		}
		all, err := policies(logger, nodes, []string{topologymanager.PolicyRestricted})
		if err != nil {
			return err
		}
		var list []topologymanager.TopologyHint
		bitmask.IterateBitMasks(ids, func(mask bitmask.BitMask) {
			list = append(list, topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: mask.Count() == 1})
		})
		m := timedMerge{NUMANodes: n, Distances: distances, Policy: topologymanager.PolicyRestricted}
		var hints []map[string][]topologymanager.TopologyHint
		for i := range 3 {
			hints = append(hints, map[string][]topologymanager.TopologyHint{string(rune('a' + i)): list})
			m.Resources = append(m.Resources, fromHints(list))
			c := timing.Case{Name: fmt.Sprintf("Topology Manager merge, %d nodes x %d resources", n, i+1)}
			c.Measure(func() {
				merged, admit := all[m.Policy].Merge(logger, hints)
				m.verdict = verdict{hint: fromHint(merged), Admit: admit}
			})
			c.Merge = m
			report(c)
		}
	}
	return nil
}

// timedAssignment is a question for the CPU manager, and its answer.
type timedAssignment struct {
	Topology      map[string][]int `json:"topology"`
	Distances     [][]uint64       `json:"distances"`
	Options       []string         `json:"options"`
	Reserved      string           `json:"reserved"`
	DefaultCPUSet string           `json:"defaultCpuSet"`
	Request       int              `json:"request"`
	verdict
}

// TimeAssignments measures the static policy's choice of CPUs, packed and distributed over NUMA nodes, on two sockets
// of which one CPU in eleven is taken.
func TimeAssignments(logger klog.Logger, report func(timing.Case)) error {
	machines := []shape{
		{sockets: []int{2}, numa: []int{2}, l3: []int{1}, cores: []int{8}, threads: []int{2}, maxCPUs: 64},
		{sockets: []int{2}, numa: []int{4}, l3: []int{2}, cores: []int{8}, threads: []int{2}, maxCPUs: 256},
	}
	requests := [][]int{{12, 27}, {24, 99}}
	for i, s := range machines {
		m := randomMachine(rand.New(rand.NewPCG(1, 0)), s)
		info := m.info()
		topo, err := topology.Discover(logger, info)
		if err != nil {
			return err
		}
		var ids []int
		for id := range m.cpus {
			if id%11 != 3 {
				ids = append(ids, id)
			}
		}
		shared := cpuset.New(ids...)
		for _, count := range requests[i] {
			for _, options := range [][]string{{}, {cpumanager.DistributeCPUsAcrossNUMAOption}} {
				settings, how := map[string]string{}, "packed"
				for _, o := range options {
					settings[o], how = "true", "distributed"
				}
				reserved := cpuset.New(0)
				policy, err := cpumanager.NewStaticPolicy(logger, topo, reserved.Size(), reserved, anyAffinity{}, settings)
				if err != nil {
					return err
				}
				s := state.NewMemoryState(logger)
				a := timedAssignment{Topology: m.arrays(), Distances: m.distances, Options: options, Reserved: reserved.String(),
					DefaultCPUSet: shared.String(), Request: count}
				c := timing.Case{Name: fmt.Sprintf("static CPU assignment, %d of %d CPUs, %s", count, len(m.cpus), how)}
				var cpus cpuset.CPUSet
				c.Measure(func() {
					s.SetDefaultCPUSet(shared)
					cpus, err = allocateCPUs(policy, logger, s, count, nil)
				})
				if err != nil {
					return err
				}
				a.CPUs = cpus.String()
				c.Assign = a
				report(c)
			}
		}
	}
	return nil
}
