// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"math/rand/v2"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Case is one question: how does the plugin see this pod on a node with this object.
type Case struct {
	Weights int                                    `json:"weights"` // index into weightSets
	NRT     *topologyv1alpha2.NodeResourceTopology `json:"nrt"`
	Pod     *v1.Pod                                `json:"pod"`
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// devices are extended resources; hostDevice is one that no zone ever has.
var devices = []v1.ResourceName{"vendor.com/gpu", "vendor.com/nic"}

// Random draws a case. Most objects are as an agent would publish them; some have what only a test writes: ids with
// holes or out of order, unknown attribute values, costs that are missing or huge.
func Random(r *rand.Rand) Case {
	zones := pick(r, 1, 2, 2, 3, 4, 4, 5, 6, 8)
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	for _, name := range append([]v1.ResourceName{"hugepages-2Mi", "hugepages-1Gi"}, devices...) {
		if chance(r, 45) {
			names = append(names, name)
		}
	}
	nrt := &topologyv1alpha2.NodeResourceTopology{
		TypeMeta:   metav1.TypeMeta{APIVersion: "topology.node.k8s.io/v1alpha2", Kind: "NodeResourceTopology"},
		ObjectMeta: metav1.ObjectMeta{Name: "node-a"},
		Attributes: randomAttributes(r),
		Zones:      randomZones(r, randomIDs(r, zones), names),
	}
	if chance(r, 25) {
		nrt.TopologyPolicies = []string{pick(r, "SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel", "RestrictedPodLevel",
			"BestEffortContainerLevel", "None", "SingleNUMANode", "nonsense")}
	}
	return Case{Weights: r.IntN(len(weightSets)), NRT: nrt, Pod: randomPod(r, names)}
}

func randomAttributes(r *rand.Rand) topologyv1alpha2.AttributeList {
	var list topologyv1alpha2.AttributeList
	add := func(name, value string) {
		list = append(list, topologyv1alpha2.AttributeInfo{Name: name, Value: value})
	}
	policy := func() string {
		return pick(r, "single-numa-node", "single-numa-node", "single-numa-node", "restricted", "best-effort", "none", "Restricted")
	}
	scope := func() string { return pick(r, "pod", "pod", "container", "container", "Pod") }
	if chance(r, 95) {
		add("topologyManagerPolicy", policy())
	}
	if chance(r, 90) {
		add("topologyManagerScope", scope())
	}
	if chance(r, 25) {
		add("topologyManagerMaxNUMANodes", pick(r, "8", "16", "2", "3", "1", "64", "101", "+9", " 8", "many", "0", "-4", "2000"))
	}
	if chance(r, 8) {
		add("topologyManagerPolicy", policy())
	}
	if chance(r, 8) {
		add("topologyManagerScope", scope())
	}
	if chance(r, 10) {
		add("nrtd.dev/content-hash", "0123456789abcdef")
	}
	return list
}

// randomIDs draws the NUMA ids in the order of the zones: nearly always 0, 1, 2, ...
func randomIDs(r *rand.Rand, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	switch {
	case chance(r, 92):
	case chance(r, 50):
		r.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	default:
		next := r.IntN(3)
		for i := range ids {
			ids[i] = next
			next += 1 + r.IntN(3)
		}
	}
	return ids
}

func randomZones(r *rand.Rand, ids []int, names []v1.ResourceName) topologyv1alpha2.ZoneList {
	var zones topologyv1alpha2.ZoneList
	style := r.IntN(10) // of the costs: mostly complete rows
	partial := chance(r, 15)
	for _, id := range ids {
		zone := topologyv1alpha2.Zone{Name: fmt.Sprintf("node-%d", id), Type: "Node"}
		for _, other := range ids {
			value := pick(r, int64(11), 12, 16, 20, 21, 32)
			switch {
			case id == other:
				value = 10
			case style == 0 || style == 1 && chance(r, 30):
				continue
			case style == 2 && chance(r, 20):
				value = pick(r, int64(254), 255, 256, 300)
			}
			zone.Costs = append(zone.Costs, topologyv1alpha2.CostInfo{Name: fmt.Sprintf("node-%d", other), Value: value})
		}
		for _, name := range names {
			if partial && chance(r, 30) {
				continue
			}
			total := randomAmount(r, name, 24)
			free := total.DeepCopy()
			if chance(r, 60) {
				free = randomAmount(r, name, 16)
			}
			if free.Cmp(total) > 0 {
				total = free.DeepCopy()
			}
			zone.Resources = append(zone.Resources, topologyv1alpha2.ResourceInfo{
				Name: string(name), Capacity: total, Allocatable: total, Available: free})
		}
		zones = append(zones, zone)
	}
	if chance(r, 40) {
		zones = append(zones, topologyv1alpha2.Zone{Name: "socket-0", Type: "Socket"})
	}
	if chance(r, 40) {
		zones = addRoots(r, zones)
	}
	return zones
}

// randomAmount draws a quantity of up to about most units (CPUs, 64 MiB of memory, pages, devices), in the spellings
// people use.
func randomAmount(r *rand.Rand, name v1.ResourceName, most int) resource.Quantity {
	n := r.IntN(most + 1)
	var text string
	switch name {
	case v1.ResourceCPU:
		text = pick(r, fmt.Sprint(n), fmt.Sprint(n), fmt.Sprintf("%dm", n*1000), fmt.Sprintf("%dm", r.IntN(most*1000+1)))
	case v1.ResourceMemory:
		text = pick(r, fmt.Sprintf("%dMi", n*64), fmt.Sprintf("%dGi", n/4), fmt.Sprintf("%dM", r.IntN(1600)), fmt.Sprint(n*67108864))
	case "hugepages-1Gi":
		text = fmt.Sprintf("%dGi", n/2)
	case "hugepages-2Mi":
		text = fmt.Sprintf("%dMi", n*2)
	default:
		text = fmt.Sprint(n / 3)
	}
	return resource.MustParse(text)
}

func randomPod(r *rand.Rand, names []v1.ResourceName) *v1.Pod {
	// The UID makes it a pod that the API server has accepted, whatever it requests.
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "pod"}}
	guaranteed := chance(r, 75)
	for i := range 1 + r.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, randomContainer(r, fmt.Sprintf("app-%d", i), names, guaranteed))
	}
	if chance(r, 25) {
		for i := range 1 + r.IntN(2) {
			c := randomContainer(r, fmt.Sprintf("init-%d", i), names, guaranteed)
			if chance(r, 30) {
				c.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		}
	}
	if chance(r, 12) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m"), v1.ResourceMemory: resource.MustParse("120Mi")}
	}
	if chance(r, 3) {
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("1Gi")}
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: amounts, Limits: amounts}
	}
	return pod
}

func randomContainer(r *rand.Rand, name string, names []v1.ResourceName, guaranteed bool) v1.Container {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	for _, resource := range names {
		core := resource == v1.ResourceCPU || resource == v1.ResourceMemory
		if !core && chance(r, 45) || core && !guaranteed && chance(r, 25) {
			continue
		}
		amount := randomAmount(r, resource, 9)
		if core && guaranteed && amount.IsZero() {
			amount = randomAmount(r, resource, 9)
			amount.Add(randomAmount(r, resource, 9))
		}
		limits[resource] = amount
		if !core || chance(r, 85) { // without a request the API server takes the limit
			requests[resource] = amount
		}
		if core && !guaranteed && chance(r, 50) {
			delete(limits, resource)
			requests[resource] = amount
		}
	}
	if chance(r, 6) {
		limits["vendor.com/other"] = pickAmount(r)
		requests["vendor.com/other"] = limits["vendor.com/other"]
	}
	if chance(r, 5) {
		requests[v1.ResourceEphemeralStorage] = pickAmount(r)
	}
	return v1.Container{Name: name, Image: "none", Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func pickAmount(r *rand.Rand) resource.Quantity {
	return *resource.NewQuantity(int64(r.IntN(3)), resource.DecimalSI)
}
