// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"sort"
	"strings"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"k8s.io/utils/cpuset"
)

// Resource is the device plugin's.
const Resource = "example.com/dev"

// Settings are what the kubelet keeps for the system, and whether its policies give anything out exclusively.
type Settings struct {
	ReservedCPUs  cpuset.CPUSet
	ReservedBytes map[int]int64 // by NUMA node
	Static        bool          // the CPU manager's policy
	Forgotten     bool          // it does not know yet what CPUs and memory its pods hold
}

// Amount is how much of a resource the NUMA nodes must have available together, by the cgroups. Only memory that is bound to
// several nodes makes them more than one: a cgroup does not say how much is on which.
type Amount struct {
	Resource    string
	Nodes       []int
	Allocatable int64
	Available   int64
}

func (a Amount) String() string { return fmt.Sprintf("%s of node %v", a.Resource, a.Nodes) }

// Amounts are what is available beside the containers.
func Amounts(nodes []Machine, settings Settings, devices map[string]int, containers []Container) (amounts []Amount) {
	group := map[int]int{} // the lowest node of those that memory ties to this one
	for _, node := range nodes {
		group[node.Node] = node.Node
	}
	for _, container := range containers {
		list := container.Memory.List()
		if container.Bytes["memory"] == 0 {
			continue
		}
		for _, other := range list {
			from, to := group[other], group[list[0]]
			for node := range group {
				if group[node] == from {
					group[node] = to
				}
			}
		}
	}
	byGroup := map[string]*Amount{}
	add := func(resource string, first, node int, bytes int64) {
		key := fmt.Sprint(resource, first)
		if byGroup[key] == nil {
			byGroup[key] = &Amount{Resource: resource}
		}
		amount := byGroup[key]
		amount.Nodes = append(amount.Nodes, node)
		amount.Allocatable += bytes
		amount.Available += bytes
	}
	for _, node := range nodes {
		cpus := node.CPUs.Difference(settings.ReservedCPUs)
		free := cpus
		for _, container := range containers {
			if settings.Static && !settings.Forgotten {
				free = free.Difference(container.CPUs)
			}
		}
		amounts = append(amounts, Amount{"cpu", []int{node.Node}, int64(cpus.Size()), int64(free.Size())})
		near, held := int64(0), int64(0)
		for device, at := range devices {
			if at != node.Node {
				continue
			}
			near++
			for _, container := range containers {
				for _, one := range container.Devices {
					if one == device {
						held++
					}
				}
			}
		}
		amounts = append(amounts, Amount{Resource, []int{node.Node}, near, near - held})
		add("memory", group[node.Node], node.Node, node.Bytes-node.HugePages-settings.ReservedBytes[node.Node])
		add("hugepages-2Mi", group[node.Node], node.Node, node.HugePages)
	}
	for _, amount := range byGroup {
		for _, container := range containers {
			if settings.Forgotten {
				break
			}
			if list := container.Memory.List(); container.Bytes["memory"] > 0 && len(list) > 0 && group[list[0]] == group[amount.Nodes[0]] {
				amount.Available -= container.Bytes[amount.Resource]
			}
		}
		amounts = append(amounts, *amount)
	}
	sort.Slice(amounts, func(i, j int) bool { return amounts[i].String() < amounts[j].String() })
	return amounts
}

// Published is what an object has.
type Published struct {
	allocatable, available map[string]int64 // by the zone's and the resource's name
	State                  string           // the attribute nrtd.dev/node-state
}

// Publication reads the object; of none it is nil.
func Publication(object *topologyv1alpha2.NodeResourceTopology) *Published {
	if object == nil {
		return nil
	}
	p := &Published{allocatable: map[string]int64{}, available: map[string]int64{}}
	for _, attribute := range object.Attributes {
		if attribute.Name == "nrtd.dev/node-state" {
			p.State = attribute.Value
		}
	}
	for _, zone := range object.Zones {
		for _, resource := range zone.Resources {
			p.allocatable[zone.Name+" "+resource.Name] = resource.Allocatable.Value()
			p.available[zone.Name+" "+resource.Name] = resource.Available.Value()
		}
	}
	return p
}

// of is what it has of a resource in the nodes; a resource that is absent is 0.
func (p *Published) of(amount Amount) (allocatable, available int64) {
	for _, node := range amount.Nodes {
		key := fmt.Sprintf("node-%d %s", node, amount.Resource)
		allocatable += p.allocatable[key]
		available += p.available[key]
	}
	return allocatable, available
}

// Above are the amounts of which more is published than there is, each with both numbers.
func Above(published *Published, amounts []Amount) map[string]string {
	above := map[string]string{}
	if published == nil {
		return above
	}
	for _, amount := range amounts {
		if _, available := published.of(amount); available > amount.Available {
			above[amount.String()] = fmt.Sprintf("%d published, %d by the cgroups", available, amount.Available)
		}
	}
	return above
}

// Different says where the object is not what the amounts are, "" when nowhere.
func Different(published *Published, amounts []Amount) string {
	if published == nil {
		return "there is no object"
	}
	var lines []string
	for _, amount := range amounts {
		allocatable, available := published.of(amount)
		if available != amount.Available {
			lines = append(lines, fmt.Sprintf("%s: available %d, by the cgroups %d", amount, available, amount.Available))
		}
		if allocatable != amount.Allocatable {
			lines = append(lines, fmt.Sprintf("%s: allocatable %d, by the machine %d", amount, allocatable, amount.Allocatable))
		}
	}
	return strings.Join(lines, "; ")
}
