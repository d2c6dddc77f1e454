// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// holder is a pod that has exclusive CPUs of the kubelet.
type holder struct {
	CPUs   string
	QoS    string         // Koordinator's class; "" = the pod has none
	Placed map[string]int // CPUs per zone that the scheduler counts for the pod; empty = it chose no NUMA nodes for the pod
}

// podCase is a pod for the scheduler.
type podCase struct {
	QoS, CPUs, Memory, HugePages2Mi string
	Required, Preferred, Exclusive  string // binding of its CPUs
	NUMA, NUMAExclusive             string // policy
}

// testCase is a node, and pods that come to it one after the other.
type testCase struct {
	Machine        string
	CPUManager     string
	FullPCPUs      bool
	ReservedCPUs   string // reservedSystemCPUs; "" = kubeReserved
	KubeReserved   string // CPUs
	ReservedMemory string // of NUMA node 0
	Policy, Scope  string // the kubelet's Topology Manager
	HugePages      bool   // koordlet's feature gate HugePageReport
	Held           []holder
	Labels         map[string]string // of the Node
	Strategy       string            // of the scheduler's NUMA score
	Pods           []podCase
}

const mebibyte = 1 << 20

func oneOf(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

// random draws a case. What most clusters have is drawn most often.
func (c *comparer) random(r *rand.Rand) testCase {
	name := c.machines[r.IntN(len(c.machines))]
	m := c.found[name]
	t := testCase{Machine: name, CPUManager: "static", Policy: oneOf(r, "none", "best-effort", "restricted", "single-numa-node"),
		Scope: oneOf(r, "container", "pod"), HugePages: r.IntN(3) > 0, Labels: map[string]string{}, KubeReserved: "1"}
	all := daemon.All(m.zones)
	if r.IntN(4) == 0 {
		t.CPUManager = "none"
	}
	if r.IntN(4) == 0 && t.CPUManager == "static" {
		t.FullPCPUs = true
	}
	if r.IntN(3) > 0 {
		list := all.List()
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		t.ReservedCPUs = cpuset.New(list[:1+r.IntN(min(4, len(list)-1))]...).String()
	} else {
		t.KubeReserved = oneOf(r, "1", "1500m", "3")
	}
	if r.IntN(6) == 0 {
		t.ReservedMemory = fmt.Sprint((100 + r.IntN(1000)) * mebibyte)
	}
	if t.CPUManager == "static" {
		c.hold(r, &t, m)
	}
	if r.IntN(3) == 0 {
		t.Labels["node.koordinator.sh/numa-topology-policy"] = oneOf(r, "BestEffort", "Restricted", "SingleNUMANode")
	}
	if r.IntN(5) == 0 {
		t.Labels["node.koordinator.sh/cpu-bind-policy"] = oneOf(r, "FullPCPUsOnly", "SpreadByPCPUs", "None")
	}
	if r.IntN(4) == 0 {
		t.Labels["node.koordinator.sh/numa-allocate-strategy"] = oneOf(r, "MostAllocated", "LeastAllocated", "DistributeEvenly")
	}
	if r.IntN(3) == 0 {
		t.Strategy = "MostAllocated"
	}
	for range 1 + r.IntN(4) {
		t.Pods = append(t.Pods, randomPod(r, m))
	}
	return t
}

// hold has containers take CPUs that are not reserved.
func (c *comparer) hold(r *rand.Rand, t *testCase, m *machine) {
	reserved, _ := cpuset.Parse(t.ReservedCPUs)
	if t.ReservedCPUs == "" {
		reserved = m.reserved[t.KubeReserved]
	}
	zones := slices.Clone(m.zones)
	for i := range zones {
		zones[i].Allocatable = zones[i].CPUs.Difference(reserved)
	}
	for _, cpus := range daemon.Draw(r, zones) {
		list := cpus.List()
		if r.IntN(2) == 0 {
			list = list[:(len(list)+3)/4] // leaves more for the others
		}
		one := holder{CPUs: cpuset.New(list...).String()}
		if r.IntN(12) == 0 {
			one.QoS = oneOf(r, "LS", "LSR", "BE")
		}
		if r.IntN(12) == 0 {
			one.Placed = map[string]int{}
			for _, zone := range m.zones {
				if n := zone.CPUs.Intersection(cpuset.New(list...)).Size(); n > 0 {
					one.Placed[zone.Name] = n
				}
			}
		}
		t.Held = append(t.Held, one)
	}
}

func randomPod(r *rand.Rand, m *machine) podCase {
	zone := m.zones[r.IntN(len(m.zones))].CPUs.Size()
	cpus := 1 + r.IntN(max(1, zone))
	switch r.IntN(8) {
	case 0:
		cpus = 1 + r.IntN(max(1, 2*zone))
	case 1, 2:
		cpus = 1 + r.IntN(4)
	}
	if r.IntN(2) == 0 {
		cpus += cpus % 2
	}
	p := podCase{QoS: oneOf(r, "LSR", "LSR", "LSE", "LS", ""), CPUs: fmt.Sprint(cpus)}
	if r.IntN(10) == 0 {
		p.CPUs += ".5"
	}
	if r.IntN(4) > 0 {
		p.Memory = fmt.Sprint((1 + r.IntN(max(1, int(m.memory/mebibyte)))) * mebibyte)
		if r.IntN(3) > 0 {
			p.Memory = fmt.Sprint((1 + r.IntN(4096)) * mebibyte)
		}
	}
	if r.IntN(10) == 0 {
		p.HugePages2Mi = fmt.Sprint(2 * (1 + r.IntN(64)) * mebibyte)
	}
	if r.IntN(3) == 0 {
		p.Required = oneOf(r, "FullPCPUs", "SpreadByPCPUs", "Default")
	}
	if r.IntN(3) == 0 {
		p.Preferred = oneOf(r, "FullPCPUs", "SpreadByPCPUs", "Default")
	}
	if r.IntN(6) == 0 {
		p.Exclusive = oneOf(r, "PCPULevel", "NUMANodeLevel")
	}
	if r.IntN(4) == 0 {
		p.NUMA = oneOf(r, "BestEffort", "Restricted", "SingleNUMANode")
		p.NUMAExclusive = oneOf(r, "", "Required", "Preferred")
	}
	return p
}

func smaller(t testCase) (list []testCase) {
	for i := range t.Pods {
		if len(t.Pods) > 1 {
			one := t
			one.Pods = slices.Delete(slices.Clone(t.Pods), i, i+1)
			list = append(list, one)
		}
	}
	for i := range t.Held {
		one := t
		one.Held = slices.Delete(slices.Clone(t.Held), i, i+1)
		list = append(list, one)
	}
	if len(t.Labels) > 0 {
		one := t
		one.Labels = nil
		list = append(list, one)
	}
	if t.ReservedMemory != "" {
		one := t
		one.ReservedMemory = ""
		list = append(list, one)
	}
	return list
}

// text is JSON of a value that has one.
func text(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func (p *podCase) pod(i int) *v1.Pod {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(p.CPUs)}
	if p.Memory != "" {
		amounts[v1.ResourceMemory] = resource.MustParse(p.Memory)
	}
	if p.HugePages2Mi != "" {
		amounts["hugepages-2Mi"] = resource.MustParse(p.HugePages2Mi)
	}
	name := fmt.Sprintf("new-%d", i)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name),
		Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "example.com/app",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}}}}
	if p.QoS != "" {
		pod.Labels["koordinator.sh/qosClass"] = p.QoS
	}
	if p.Required != "" || p.Preferred != "" || p.Exclusive != "" {
		pod.Annotations["scheduling.koordinator.sh/resource-spec"] = text(map[string]string{"requiredCPUBindPolicy": p.Required,
			"preferredCPUBindPolicy": p.Preferred, "preferredCPUExclusivePolicy": p.Exclusive})
	}
	if p.NUMA != "" {
		pod.Annotations["scheduling.koordinator.sh/numa-topology-spec"] = text(map[string]string{"numaTopologyPolicy": p.NUMA,
			"singleNUMANodeExclusive": p.NUMAExclusive})
	}
	return pod
}

// status is what the scheduler wrote to the pod; empty = nothing.
func (h *holder) status() map[string]any {
	status := map[string]any{}
	if h.QoS == "LSR" {
		status["cpuset"] = h.CPUs
	}
	var nodes []any
	for _, zone := range slices.Sorted(maps.Keys(h.Placed)) {
		var id int
		fmt.Sscanf(zone, "node-%d", &id)
		nodes = append(nodes, map[string]any{"node": id, "resources": map[string]string{"cpu": fmt.Sprint(h.Placed[zone])}})
	}
	if len(nodes) > 0 {
		status["numaNodeResources"] = nodes
	}
	return status
}

// held are the pods that have CPUs of the kubelet, for koordlet; bound are those of them that the scheduler bound to the same CPUs
// or placed on their NUMA nodes.
func (t *testCase) held() (held, bound []*v1.Pod) {
	for i, one := range t.Held {
		name := fmt.Sprintf("pod-%d", i)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name)}}
		if one.QoS != "" {
			pod.Labels = map[string]string{"koordinator.sh/qosClass": one.QoS}
		}
		if status := one.status(); len(status) > 0 {
			pod.Annotations = map[string]string{"scheduling.koordinator.sh/resource-status": text(status)}
			bound = append(bound, pod)
		}
		held = append(held, pod)
	}
	return held, bound
}

// config is the kubelet's configuration, for koordlet and nrtd.
func (t *testCase) config() ([]byte, error) {
	config := map[string]any{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cpuManagerPolicy": t.CPUManager,
		"topologyManagerPolicy": t.Policy, "topologyManagerScope": t.Scope, "kubeReserved": map[string]string{"cpu": t.KubeReserved}}
	if t.FullPCPUs {
		config["cpuManagerPolicyOptions"] = map[string]string{"full-pcpus-only": "true"}
	}
	if t.ReservedCPUs != "" {
		config["reservedSystemCPUs"] = t.ReservedCPUs
	}
	if t.ReservedMemory != "" {
		config["memoryManagerPolicy"] = "Static"
		config["reservedMemory"] = []any{map[string]any{"numaNode": 0, "limits": map[string]string{"memory": t.ReservedMemory}}}
	}
	return json.Marshal(config)
}
