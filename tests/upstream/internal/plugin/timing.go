// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-logr/logr"
	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"nrtd.dev/tests/upstream/internal/timing"
)

// timedFit is a question for the NUMA nodes that a request needs.
type timedFit struct {
	Zones       []vectorZone `json:"zones"`
	Request     amounts      `json:"request"`
	NUMANodes   []int        `json:"numaNodes"`
	MinDistance bool         `json:"minDistance"`
}

// Time measures the search for NUMA nodes on machines of 2 to 16 nodes with four resources: a request that one node
// can hold, one that needs about half of unevenly used nodes, and one that needs all.
func Time(report func(timing.Case)) {
	names := []v1.ResourceName{v1.ResourceCPU, "hugepages-1Gi", v1.ResourceMemory, "vendor.com/nic"}
	for _, n := range []int{2, 4, 8, 12, 16} {
		for _, kind := range []struct {
			name          string
			percent, free int // wanted, of one node's amount; the least that is free of a node
		}{
			{"one", 100, 100},
			{"half of uneven", n * 30, 40},
			{"all", n * 100, 100},
		} {
			r := rand.New(rand.NewPCG(uint64(n), 0))
			nrt := &topologyv1alpha2.NodeResourceTopology{Zones: timedZones(r, n, names, kind.free)}
			request := v1.ResourceList{}
			for _, name := range names {
				request[name] = *resource.NewQuantity(int64(kind.percent), resource.DecimalSI)
			}
			list := createNUMANodeList(logr.Discard(), nrt.Zones)
			fit := timedFit{Zones: vectorZones(nrt), Request: texts(request), NUMANodes: []int{}}
			mask, near := numaNodesRequired(logr.Discard(), v1.PodQOSGuaranteed, list, request)
			if mask != nil {
				fit.NUMANodes = mask.GetBits()
			}
			fit.MinDistance = near
			c := timing.Case{Name: fmt.Sprintf("NUMA nodes required, %d nodes, needs %s", n, kind.name), Fit: fit}
			c.Measure(func() { numaNodesRequired(logr.Discard(), v1.PodQOSGuaranteed, list, request) })
			report(c)
		}
	}
}

// timedZones are nodes, four a socket, of which free to 100 of each resource are available.
func timedZones(r *rand.Rand, n int, names []v1.ResourceName, free int) topologyv1alpha2.ZoneList {
	var zones topologyv1alpha2.ZoneList
	for id := range n {
		zone := topologyv1alpha2.Zone{Name: fmt.Sprintf("node-%d", id), Type: "Node"}
		for other := range n {
			value := int64(32)
			if id == other {
				value = 10
			} else if id/4 == other/4 {
				value = 12
			}
			zone.Costs = append(zone.Costs, topologyv1alpha2.CostInfo{Name: fmt.Sprintf("node-%d", other), Value: value})
		}
		for _, name := range names {
			left := *resource.NewQuantity(int64(free+r.IntN(101-free)), resource.DecimalSI)
			total := *resource.NewQuantity(100, resource.DecimalSI)
			zone.Resources = append(zone.Resources, topologyv1alpha2.ResourceInfo{
				Name: string(name), Capacity: total, Allocatable: total, Available: left})
		}
		zones = append(zones, zone)
	}
	return zones
}
