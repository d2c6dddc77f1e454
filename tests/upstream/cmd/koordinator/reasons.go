// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// object is what the scheduler reads of a NodeResourceTopology, which is in v1alpha1 what it is in v1alpha2.
type object struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	TopologyPolicies []string `json:"topologyPolicies"`
	Zones            []zone   `json:"zones"`
}

type zone struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Resources []amount `json:"resources"`
}

type amount struct {
	Name        string            `json:"name"`
	Capacity    resource.Quantity `json:"capacity"`
	Allocatable resource.Quantity `json:"allocatable"`
	Available   resource.Quantity `json:"available"`
}

func (o *object) copy() *object {
	c := *o
	c.Metadata.Annotations = maps.Clone(o.Metadata.Annotations)
	c.TopologyPolicies = slices.Clone(o.TopologyPolicies)
	c.Zones = slices.Clone(o.Zones)
	for i := range c.Zones {
		c.Zones[i].Resources = slices.Clone(o.Zones[i].Resources)
	}
	return &c
}

// unlike lists what the scheduler reads differently in the two objects.
func unlike(ours, theirs *object) (list []string) {
	for _, key := range []string{"node.koordinator.sh/cpu-topology", "node.koordinator.sh/pod-cpu-allocs", "kubelet.koordinator.sh/cpu-manager-policy"} {
		if a, b := ours.Metadata.Annotations[key], theirs.Metadata.Annotations[key]; a != b {
			list = append(list, fmt.Sprintf("%s: nrtd %.2000s, koordlet %.2000s", key, a, b))
		}
	}
	a, b := text([]any{ours.TopologyPolicies, ours.Zones}), text([]any{theirs.TopologyPolicies, theirs.Zones})
	return append(list, fmt.Sprintf("zones: nrtd %.2000s, koordlet %.2000s", a, b))
}

// isOtherPage tells whether a resource is hugepages that koordlet does not know.
func isOtherPage(name string) bool {
	return strings.HasPrefix(name, "hugepages-") && name != "hugepages-2Mi" && name != "hugepages-1Gi"
}

func takeMemory(z *zone, size resource.Quantity) {
	for i := range z.Resources {
		if z.Resources[i].Name == "memory" {
			z.Resources[i].Allocatable = z.Resources[i].Allocatable.DeepCopy()
			z.Resources[i].Allocatable.Sub(size)
		}
	}
}

// reason is a way in which the objects are different on purpose. With that changed in koordlet's object, and nothing else,
// the plugin has to do on it exactly what it does on nrtd's.
type reason struct {
	name string
	// applies tells whether it can be the reason at all.
	applies func(t *testCase, m *machine) bool
	change  func(c *comparer, t *testCase, ours, theirs *object) error
}

var reasons = []reason{
	{"koordlet names no policy that the scheduler knows for a kubelet's best-effort and restricted",
		func(t *testCase, _ *machine) bool { return t.Policy == "best-effort" || t.Policy == "restricted" },
		func(c *comparer, t *testCase, ours, theirs *object) error {
			plain := map[string]string{"best-effort": "BestEffort", "restricted": "Restricted"}[t.Policy]
			theirs.TopologyPolicies = append(theirs.TopologyPolicies, plain)
			return nil
		}},
	{"koordlet without the feature gate HugePageReport takes hugepages for memory",
		func(t *testCase, _ *machine) bool { return !t.HugePages },
		func(c *comparer, t *testCase, ours, theirs *object) error {
			with := *t
			with.HugePages = true
			again, _, err := c.koordlet(&with)
			if err == nil {
				theirs.Zones = again.Zones
			}
			return err
		}},
	{"koordlet takes hugepages of other sizes than 2Mi and 1Gi for memory",
		func(t *testCase, m *machine) bool { return m.pages },
		func(c *comparer, t *testCase, ours, theirs *object) error {
			for i := range theirs.Zones {
				for _, zone := range ours.Zones {
					for _, pages := range zone.Resources {
						if zone.Name == theirs.Zones[i].Name && isOtherPage(pages.Name) {
							takeMemory(&theirs.Zones[i], pages.Capacity)
						}
					}
				}
			}
			return nil
		}},
	{"koordlet's zones have hugepages of sizes that the machine does not have",
		func(t *testCase, _ *machine) bool {
			return slices.ContainsFunc(t.Pods, func(p podCase) bool { return p.HugePages2Mi != "" })
		},
		func(c *comparer, t *testCase, ours, theirs *object) error {
			has := map[string]bool{}
			for _, zone := range ours.Zones {
				for _, amount := range zone.Resources {
					has[amount.Name] = true
				}
			}
			for i := range theirs.Zones {
				theirs.Zones[i].Resources = slices.DeleteFunc(theirs.Zones[i].Resources, func(a amount) bool {
					return strings.HasPrefix(a.Name, "hugepages-") && a.Allocatable.IsZero() && !has[a.Name]
				})
			}
			return nil
		}},
	{"koordlet's zones have the memory that the kubelet reserves",
		func(t *testCase, _ *machine) bool { return t.ReservedMemory != "" },
		func(c *comparer, t *testCase, ours, theirs *object) error {
			for i := range theirs.Zones {
				if theirs.Zones[i].Name == "node-0" {
					takeMemory(&theirs.Zones[i], resource.MustParse(t.ReservedMemory))
				}
			}
			return nil
		}},
	{"koordlet reserves other CPUs than the kubelet, for which CPUs with the same name are a core",
		func(t *testCase, m *machine) bool {
			return t.CPUManager == "static" && t.ReservedCPUs == "" && !m.agree
		},
		reserveAsTheKubelet},
	{"koordlet reserves other CPUs than the kubelet, which begins with the NUMA nodes where there are more sockets",
		func(t *testCase, m *machine) bool {
			return t.CPUManager == "static" && t.ReservedCPUs == "" && m.spans
		},
		reserveAsTheKubelet},
	{"koordlet leaves out pods of its classes LS and BE that hold CPUs of the kubelet",
		func(t *testCase, _ *machine) bool { return slices.ContainsFunc(t.Held, isShared) },
		func(_ *comparer, t *testCase, _, theirs *object) error { return addHolders(theirs, t, isShared) }},
	{"koordlet leaves out pods that the scheduler bound to CPUs and that hold CPUs of the kubelet",
		func(t *testCase, _ *machine) bool { return slices.ContainsFunc(t.Held, isBound) },
		func(_ *comparer, t *testCase, _, theirs *object) error { return addHolders(theirs, t, isBound) }},
}

func isShared(h holder) bool { return h.QoS == "LS" || h.QoS == "BE" }

func isBound(h holder) bool { return h.QoS == "LSR" }

// addHolders adds the holders that match to the object's pods.
func addHolders(to *object, t *testCase, matches func(holder) bool) error {
	const key = "node.koordinator.sh/pod-cpu-allocs"
	var listed []map[string]any
	if err := json.Unmarshal([]byte(to.Metadata.Annotations[key]), &listed); err != nil {
		return err
	}
	held, _ := t.held()
	for i, one := range t.Held {
		if matches(one) {
			listed = append(listed, map[string]any{"uid": held[i].UID, "cpuset": one.CPUs, "managedByKubelet": true})
		}
	}
	to.Metadata.Annotations[key] = text(listed)
	return nil
}

func reserveAsTheKubelet(_ *comparer, _ *testCase, ours, theirs *object) error {
	const key = "kubelet.koordinator.sh/cpu-manager-policy"
	theirs.Metadata.Annotations[key] = ours.Metadata.Annotations[key]
	return nil
}

// explain finds the fewest reasons that together make the plugin do the same, and counts the case for each of them.
func (c *comparer) explain(t *testCase, ours, theirs *object, q question, got []outcome) (bool, error) {
	var able []reason
	for _, one := range reasons {
		if one.applies(t, c.found[t.Machine]) {
			able = append(able, one)
		}
	}
	var sets [][]reason
	for mask := 1; mask < 1<<len(able); mask++ {
		var set []reason
		for i, one := range able {
			if mask>>i&1 == 1 {
				set = append(set, one)
			}
		}
		sets = append(sets, set)
	}
	slices.SortStableFunc(sets, func(a, b []reason) int { return len(a) - len(b) })
	q.Objects = nil
	for _, set := range sets {
		changed := theirs.copy()
		// The hugepages' gate replaces the zones, so it is before what changes them in the list.
		for _, one := range set {
			if err := one.change(c, t, ours, changed); err != nil {
				return false, err
			}
		}
		q.Objects = append(q.Objects, changed)
	}
	if len(sets) == 0 {
		return false, nil
	}
	a, err := c.ask(q)
	if err != nil {
		return false, err
	}
	for i, set := range sets {
		if same(got, a.Outcomes[i]) {
			for _, one := range set {
				c.reasons[one.name]++
			}
			return true, nil
		}
	}
	return false, nil
}
