// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"k8s.io/utils/cpuset"
)

// Zone is what a node's CPUs are in one NUMA node.
type Zone struct {
	Name        string
	CPUs        cpuset.CPUSet
	Allocatable cpuset.CPUSet
}

// ZonesOf reads an object's NUMA nodes with their CPUs.
func ZonesOf(object *topologyv1alpha2.NodeResourceTopology, reserved cpuset.CPUSet) (zones []Zone, err error) {
	for _, zone := range object.Zones {
		if zone.Type != "Node" {
			continue
		}
		z := Zone{Name: zone.Name}
		for _, attribute := range zone.Attributes {
			if attribute.Name == "cpus" {
				if z.CPUs, err = cpuset.Parse(attribute.Value); err != nil {
					return nil, fmt.Errorf("%s: cpus: %w", zone.Name, err)
				}
			}
		}
		z.Allocatable = z.CPUs.Difference(reserved)
		zones = append(zones, z)
	}
	return zones, nil
}

// All CPUs of the zones.
func All(zones []Zone) cpuset.CPUSet {
	all := cpuset.New()
	for _, zone := range zones {
		all = all.Union(zone.CPUs)
	}
	return all
}

// Draw draws CPUs for up to four containers, none of them reserved or given twice.
func Draw(r *rand.Rand, zones []Zone) (held []cpuset.CPUSet) {
	left := cpuset.New()
	for _, zone := range zones {
		left = left.Union(zone.Allocatable)
	}
	for range r.IntN(5) {
		list := left.List()
		if len(list) == 0 {
			break
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		one := cpuset.New(list[:1+r.IntN(len(list))]...)
		held = append(held, one)
		left = left.Difference(one)
	}
	return held
}

// CPUsWrong compares the object's available CPUs with what the containers leave. It counts for itself; nrtd is not asked.
func CPUsWrong(zones []Zone, held []cpuset.CPUSet) func(*topologyv1alpha2.NodeResourceTopology) string {
	taken := cpuset.New()
	for _, cpus := range held {
		taken = taken.Union(cpus)
	}
	return func(object *topologyv1alpha2.NodeResourceTopology) string {
		if object == nil {
			return "there is no object"
		}
		for _, zone := range zones {
			want := int64(zone.Allocatable.Difference(taken).Size())
			got := int64(-1)
			for _, z := range object.Zones {
				for _, resource := range z.Resources {
					if z.Name == zone.Name && resource.Name == "cpu" {
						got = resource.Available.Value()
					}
				}
			}
			// A zone without CPUs has no such resource.
			if got != want && !(got == -1 && zone.CPUs.IsEmpty()) {
				return fmt.Sprintf("%s has %d CPUs available, want %d", zone.Name, got, want)
			}
		}
		return ""
	}
}

// SameAs compares an object with one that `nrtd dump` printed: zones and attributes.
func SameAs(want *topologyv1alpha2.NodeResourceTopology) func(*topologyv1alpha2.NodeResourceTopology) string {
	return func(object *topologyv1alpha2.NodeResourceTopology) string {
		if object == nil {
			return "there is no object"
		}
		for _, pair := range [][2]any{{object.Attributes, want.Attributes}, {object.Zones, want.Zones}} {
			got, err := json.Marshal(pair[0])
			if err != nil {
				return err.Error()
			}
			expected, err := json.Marshal(pair[1])
			if err != nil {
				return err.Error()
			}
			if string(got) != string(expected) {
				return fmt.Sprintf("it has %s, want %s", got, expected)
			}
		}
		return ""
	}
}
