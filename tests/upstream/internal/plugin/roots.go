// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/go-logr/logr"
	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	apiconfig "sigs.k8s.io/scheduler-plugins/apis/config"
	nrtcache "sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/cache"
)

const rootType = "PCIeRoot"

// addRoots adds zones as `nrtd run --pcie-roots=on` does: a root per group of devices, which the zones of NUMA nodes have too.
func addRoots(r *rand.Rand, zones topologyv1alpha2.ZoneList) topologyv1alpha2.ZoneList {
	for i := range 1 + r.IntN(6) {
		root := topologyv1alpha2.Zone{Name: fmt.Sprintf("pci0000:%02x", 16*i+7), Type: rootType}
		if chance(r, 80) {
			root.Parent = pick(r, zones...).Name
		}
		if chance(r, 50) {
			root.Attributes = topologyv1alpha2.AttributeList{{Name: "gpus", Value: fmt.Sprintf("0000:%02x:00.0", 16*i+8)}}
		}
		for _, name := range devices {
			if chance(r, 60) {
				total, free := int64(1+r.IntN(8)), int64(r.IntN(9))
				root.Resources = append(root.Resources, topologyv1alpha2.ResourceInfo{Name: string(name), Capacity: *resource.NewQuantity(total, resource.DecimalSI),
					Allocatable: *resource.NewQuantity(total, resource.DecimalSI), Available: *resource.NewQuantity(min(total, free), resource.DecimalSI)})
			}
		}
		zones = append(zones, root)
	}
	return zones
}

// withoutRoots is the object without zones of PCIe roots; nil if it has none.
func withoutRoots(nrt *topologyv1alpha2.NodeResourceTopology) *topologyv1alpha2.NodeResourceTopology {
	copied := nrt.DeepCopy()
	copied.Zones = slices.DeleteFunc(copied.Zones, func(z topologyv1alpha2.Zone) bool { return z.Type == rootType })
	if len(copied.Zones) == len(nrt.Zones) {
		return nil
	}
	return copied
}

// reserve is what the plugin's reserve cache has of the published object's NUMA nodes with the pod assumed twice.
func (r *Real) reserve(ctx context.Context, name string, pod *v1.Pod) (topologyv1alpha2.ZoneList, error) {
	scope := apiconfig.CacheResyncScopeOnlyResources // no watch
	lister := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0).Core().V1().Pods().Lister()
	cache, err := nrtcache.NewOverReserve(ctx, logr.Discard(), &apiconfig.NodeResourceTopologyCache{ResyncScope: &scope}, r.client, lister,
		func(logr.Logger, *v1.Pod) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, uid := range []string{"1", "2"} {
		assumed := pod.DeepCopy()
		assumed.Name += uid
		cache.ReserveNodeResources(name, assumed)
	}
	nrt, _ := cache.GetCachedNRTCopy(ctx, name, pod)
	if nrt == nil {
		return nil, fmt.Errorf("the reserve cache has no object of %s", name)
	}
	return slices.DeleteFunc(nrt.Zones, func(z topologyv1alpha2.Zone) bool { return z.Type == rootType }), nil
}

// compareRoots asks the plugin about the object without the zones of PCIe roots: it must decide as with them, which it did.
func compareRoots(ctx context.Context, real *Real, c Case, pod *v1.Pod, host *v1.Node, with *Answer) (differences []string, err error) {
	bare := withoutRoots(c.NRT)
	if bare == nil {
		return nil, nil
	}
	reservedWith, err := real.reserve(ctx, c.NRT.Name, pod)
	if err != nil {
		return nil, err
	}
	if err := real.Publish(ctx, bare); err != nil {
		return nil, err
	}
	without, err := real.Ask(ctx, c.Weights, pod, host)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(with, without) {
		differences = append(differences, fmt.Sprintf("with zones of PCIe roots: %+v, without: %+v", *with, *without))
	}
	reserved, err := real.reserve(ctx, c.NRT.Name, pod)
	if err != nil {
		return nil, err
	}
	if fmt.Sprint(reservedWith) != fmt.Sprint(reserved) {
		differences = append(differences, "the reserve cache has other amounts of NUMA nodes with zones of PCIe roots")
	}
	return differences, nil
}
