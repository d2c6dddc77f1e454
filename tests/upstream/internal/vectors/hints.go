// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"math/rand/v2"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// hint is one topology hint; NUMA nil is any node.
type hint struct {
	NUMA      []int `json:"numa"`
	Preferred bool  `json:"preferred"`
}

// verdict is what a policy made of hints, and what the CPU manager then assigned.
type verdict struct {
	hint
	Admit bool   `json:"admit"`
	CPUs  string `json:"cpus,omitempty"`
	Error string `json:"error,omitempty"`
}

// closest is the policy option of the name, appended to a policy's name in the files.
const closest = "prefer-closest-numa-nodes"

func fromHint(h topologymanager.TopologyHint) hint {
	out := hint{Preferred: h.Preferred}
	if h.NUMANodeAffinity != nil {
		out.NUMA = h.NUMANodeAffinity.GetBits()
	}
	return out
}

func fromHints(list []topologymanager.TopologyHint) []hint {
	out := []hint{}
	for _, h := range list {
		out = append(out, fromHint(h))
	}
	return out
}

// policies makes every policy the kubelet has, with and without the option, by the names the files use.
func policies(logger klog.Logger, nodes []cadvisorapi.Node, names []string) (map[string]topologymanager.Policy, error) {
	out := map[string]topologymanager.Policy{}
	for _, option := range []bool{false, true} {
		settings, suffix := map[string]string{}, ""
		if option {
			settings, suffix = map[string]string{topologymanager.PreferClosestNUMANodes: "true"}, "+"+closest
		}
		options, err := topologymanager.NewPolicyOptions(logger, settings)
		if err != nil {
			return nil, err
		}
		info, err := topologymanager.NewNUMAInfo(nodes, options)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			switch name {
			case topologymanager.PolicyNone:
				out[name+suffix] = topologymanager.NewNonePolicy()
			case topologymanager.PolicyBestEffort:
				out[name+suffix] = topologymanager.NewBestEffortPolicy(info, options)
			case topologymanager.PolicyRestricted:
				out[name+suffix] = topologymanager.NewRestrictedPolicy(info, options)
			case topologymanager.PolicySingleNumaNode:
				out[name+suffix] = topologymanager.NewSingleNumaNodePolicy(info, options)
			}
		}
	}
	return out, nil
}

// mergeCase is one entry of topology_manager.json.
type mergeCase struct {
	ID        string             `json:"id"`
	NUMANodes int                `json:"numaNodes"`
	Distances [][]uint64         `json:"distances"`
	Resources [][]hint           `json:"resources"`
	Policies  map[string]verdict `json:"policies"`
}

// maxPermutations bounds what one merge may try; the real code walks the whole product of the lists.
const maxPermutations = 300000

// Merges makes cases for topology_manager.json: what the real policies make of one to three resources' hints.
func Merges(logger klog.Logger, r *rand.Rand, id func(int) string, count int) ([]mergeCase, error) {
	var cases []mergeCase
	for len(cases) < count {
		n := pick(r, []int{1, 2, 2, 3, 4, 4, 5, 6, 7, 8})
		c := mergeCase{ID: id(len(cases)), NUMANodes: n, Distances: randomDistances(r, n), Policies: map[string]verdict{}}
		permutations := 1
		var hints []map[string][]topologymanager.TopologyHint
		for range 1 + r.IntN(3) {
			list := randomHints(r, n)
			permutations *= max(1, len(list))
			hints = append(hints, map[string][]topologymanager.TopologyHint{string(rune('a' + len(hints))): list})
			if list == nil {
				c.Resources = append(c.Resources, nil)
			} else {
				c.Resources = append(c.Resources, fromHints(list))
			}
		}
		if permutations > maxPermutations {
			continue
		}
		var nodes []cadvisorapi.Node
		for i := range n {
			nodes = append(nodes, cadvisorapi.Node{Id: i, Distances: c.Distances[i]})
		}
		all, err := policies(logger, nodes, []string{topologymanager.PolicyNone, topologymanager.PolicyBestEffort,
			topologymanager.PolicyRestricted, topologymanager.PolicySingleNumaNode})
		if err != nil {
			return nil, err
		}
		for name, policy := range all {
			merged, admit := policy.Merge(logger, hints)
			c.Policies[name] = verdict{hint: fromHint(merged), Admit: admit}
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// randomHints draws what a hint provider may say of one resource: nothing (nil), impossible (empty), hints as a real
// provider makes them (every combination that fits, the narrowest preferred), or any hints in that order.
func randomHints(r *rand.Rand, n int) []topologymanager.TopologyHint {
	switch {
	case chance(r, 8):
		return nil
	case chance(r, 8):
		return []topologymanager.TopologyHint{}
	}
	var nodes []int
	for i := range n {
		nodes = append(nodes, i)
	}
	wild := chance(r, 25)
	narrowest := 1 + r.IntN(n)
	available := make([]int, n)
	for i := range available {
		available[i] = r.IntN(8)
	}
	need := r.IntN(1 + 8*n/2)
	list := []topologymanager.TopologyHint{}
	bitmask.IterateBitMasks(nodes, func(mask bitmask.BitMask) {
		sum := 0
		for _, node := range mask.GetBits() {
			sum += available[node]
		}
		switch {
		case wild && chance(r, 60), !wild && (sum < need || mask.Count() < narrowest):
		case wild:
			list = append(list, topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: chance(r, 30)})
		default:
			list = append(list, topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: mask.Count() == narrowest})
		}
	})
	return list
}
