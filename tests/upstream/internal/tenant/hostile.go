// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// kind is a kind of hostile pods.
type kind struct {
	name  string
	count int
	size  int // of what the pods have many of; as many of these as the API server takes
	make  func(i, size int) *v1.Pod
	bound bool // the user names the node, another one for each pod
}

const full = 253 // characters of a name that is a DNS subdomain

// exclusive are amounts that the managers have to place, and more by name.
func exclusive(more ...string) map[v1.ResourceName]string {
	amounts := map[v1.ResourceName]string{v1.ResourceCPU: "1", v1.ResourceMemory: "1Mi"}
	for i := 0; i+1 < len(more); i += 2 {
		amounts[v1.ResourceName(more[i])] = more[i+1]
	}
	return amounts
}

func containers(size int, amounts func(i int) map[v1.ResourceName]string) (list []v1.Container) {
	for i := range size {
		list = append(list, container(fmt.Sprint("c", i), amounts(i)))
	}
	return list
}

// manyContainers are thousands of containers that each want a CPU.
func manyContainers(i, size int) *v1.Pod {
	return podOf("x", containers(size, func(int) map[v1.ResourceName]string { return exclusive() })...)
}

// sharedContainers are thousands in a Guaranteed pod that wants no CPU of its own.
func sharedContainers(i, size int) *v1.Pod {
	return podOf("x", containers(size, func(int) map[v1.ResourceName]string {
		return map[v1.ResourceName]string{v1.ResourceCPU: "1m", v1.ResourceMemory: "1Ki"}
	})...)
}

func initContainers(policy *v1.ContainerRestartPolicy) func(i, size int) *v1.Pod {
	return func(i, size int) *v1.Pod {
		pod := podOf("x", container("app", exclusive()))
		pod.Spec.InitContainers = containers(size, func(int) map[v1.ResourceName]string { return exclusive() })
		for k := range pod.Spec.InitContainers {
			pod.Spec.InitContainers[k].Name = fmt.Sprint("i", k)
			pod.Spec.InitContainers[k].RestartPolicy = policy
		}
		return pod
	}
}

// extendedResources are 44 containers of so many each, with names of their own.
func extendedResources(i, size int) *v1.Pod {
	return podOf("x", containers(44, func(c int) map[v1.ResourceName]string {
		amounts := exclusive()
		for k := range size {
			amounts[v1.ResourceName(fmt.Sprintf("p%d-c%d.example.com/r%d", i, c, k))] = "1"
		}
		return amounts
	})...)
}

// resourceNames are names that no other pod has, in one container.
func resourceNames(i, size int) *v1.Pod {
	amounts := exclusive()
	for k := range size {
		amounts[v1.ResourceName(fmt.Sprintf("p%d.x.io/%d", i, k))] = "1"
	}
	return podOf("x", container("app", amounts))
}

// zeroAmounts are the same with an amount of 0.
func zeroAmounts(i, size int) *v1.Pod {
	amounts := exclusive()
	for k := range size {
		amounts[v1.ResourceName(fmt.Sprintf("z%d.x.io/%d", i, k))] = "0"
	}
	return podOf("x", container("app", amounts))
}

func hugepageSizes(i, size int) *v1.Pod {
	amounts := exclusive()
	for k := range size {
		pages := fmt.Sprintf("%dKi", k+1)
		amounts[v1.ResourceName("hugepages-"+pages)] = pages
	}
	return podOf("x", container("app", amounts))
}

// deviceContainers each want a CPU and a device.
func deviceContainers(i, size int) *v1.Pod {
	return podOf("x", containers(size, func(int) map[v1.ResourceName]string { return exclusive(nic, "1") })...)
}

// longNames has every name as long as it may be.
func longNames(i, size int) *v1.Pod {
	pod := podOf("x", containers(size, func(c int) map[v1.ResourceName]string {
		// The quota of a resource, "requests." before its name, has to be a name as well.
		return exclusive(strings.Repeat("d", full-len(".com")-len("requests."))+".com/"+strings.Repeat("r", 58)+fmt.Sprintf("%05d", c), "1")
	})...)
	pod.Name = fmt.Sprint(strings.Repeat("n", full-3), 100+i)
	for c := range pod.Spec.Containers {
		pod.Spec.Containers[c].Name = fmt.Sprint(strings.Repeat("c", 58), 10000+c)
	}
	pod.Spec.Hostname, pod.Spec.Subdomain = strings.Repeat("h", 63), strings.Repeat("s", 63)
	return pod
}

// metadata has as much of labels and annotations as is accepted.
func metadata(i, size int) *v1.Pod {
	pod := guaranteed("x", "1", "1Mi")
	pod.Labels, pod.Annotations = map[string]string{}, map[string]string{}
	for k := range size {
		pod.Labels[fmt.Sprintf("%s.com/%s%05d", strings.Repeat("l", full-4), strings.Repeat("k", 58), k)] = strings.Repeat("v", 63)
	}
	for k := range 500 {
		pod.Annotations[fmt.Sprint("a", k)] = strings.Repeat("v", 256<<10/500-4)
	}
	return pod
}

// limitsOfQuantities is an amount of cpu and of memory or of a device, at a limit.
var limitsOfQuantities = [][2]string{
	{"cpu", "1n"}, {"cpu", "1e-9"}, {"cpu", "0.5u"}, {"cpu", "0"}, {"cpu", "1e3"}, {"cpu", "9223372036854775807"}, {"cpu", "9223372036854775"}, {"cpu", "9223372036854776"},
	{"cpu", "9E"}, {"cpu", "1e30"}, {"cpu", "-1"}, {"cpu", "2147483648"}, {"memory", "9223372036854775807"}, {"memory", "9223372036854775808"}, {"memory", "8Ei"},
	{"memory", "1n"}, {"memory", "0"}, {"memory", "-1"}, {"memory", "1e-9"}, {nic, "9223372036854775807"}, {nic, "9223372036854775"}, {nic, "2147483648"}, {nic, "0"},
	{nic, "500m"}, {"hugepages-1Gi", "9223372036854775807"}, {"hugepages-2Mi", "0"}, {"hugepages-1", "1"}, {"hugepages-9223372036854775807", "9223372036854775807"},
	{"ephemeral-storage", "9223372036854775807"}, {"ephemeral-storage", "1n"}}

func quantities(i, size int) *v1.Pod {
	amount := limitsOfQuantities[i%len(limitsOfQuantities)]
	return podOf("x", container("app", exclusive(amount[0], amount[1])), container("second", exclusive(amount[0], amount[1])))
}

func priorities(i, size int) *v1.Pod {
	pod := guaranteed("x", "60", "1Gi")
	pod.Spec.PriorityClassName = []string{"system-node-critical", "system-cluster-critical"}[i%2]
	return pod
}

func gates(i, size int) *v1.Pod {
	pod := guaranteed("x", "1", "1Mi")
	for k := range size {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: fmt.Sprintf("example.com/g%d", k)})
	}
	return pod
}

// wholeNode is bound by hand and wants all that the node has.
func wholeNode(i, size int) *v1.Pod { return guaranteed("x", "60", "200Gi") }

func claims(i, size int) *v1.Pod {
	pod := guaranteed("x", "1", "1Mi")
	for k := range size {
		claim := fmt.Sprint("claim-", k)
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
		pod.Spec.Containers[0].Resources.Claims = append(pod.Spec.Containers[0].Resources.Claims, v1.ResourceClaim{Name: claim})
	}
	return pod
}

func podLevel(i, size int) *v1.Pod {
	pod := podOf("x", containers(size, func(int) map[v1.ResourceName]string {
		return map[v1.ResourceName]string{v1.ResourceMemory: "1Ki"}
	})...)
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("7"), v1.ResourceMemory: resource.MustParse("9223372036854775807")}
	pod.Spec.Resources = &v1.ResourceRequirements{Limits: amounts}
	return pod
}

func overhead(i, size int) *v1.Pod {
	pod := guaranteed("x", "1", "1Mi")
	pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("9223372036854775")}
	return pod
}

// different asks for as many different amounts as there are containers.
func different(i, size int) *v1.Pod {
	return podOf("x", containers(size, func(c int) map[v1.ResourceName]string {
		return exclusive("memory", fmt.Sprint(1000*i+c+1), "ephemeral-storage", fmt.Sprint(c+1))
	})...)
}

// lastTooLarge has many containers that are admitted, and a last one that no NUMA node can hold: all are judged until the pod is rejected.
func lastTooLarge(i, size int) *v1.Pod {
	list := containers(size, func(c int) map[v1.ResourceName]string {
		return map[v1.ResourceName]string{v1.ResourceCPU: "1m", v1.ResourceMemory: fmt.Sprintf("%dKi", 64+4*(i%7))}
	})
	return podOf("x", append(list, container("last", map[v1.ResourceName]string{v1.ResourceCPU: "17", v1.ResourceMemory: "64Ki"}))...)
}

var kindsOfPods = []kind{
	{name: "last container too large", count: 6, size: 400, make: lastTooLarge, bound: true},
	{name: "containers", count: 4, size: 20000, make: manyContainers},
	{name: "containers, bound", count: 6, size: 20000, make: manyContainers, bound: true},
	{name: "containers, no exclusive CPUs", count: 4, size: 20000, make: sharedContainers},
	{name: "containers, different", count: 6, size: 20000, make: different},
	{name: "containers with devices", count: 4, size: 20000, make: deviceContainers, bound: true},
	{name: "init containers", count: 6, size: 20000, make: initContainers(nil)},
	{name: "sidecars", count: 6, size: 20000, make: initContainers(ptr.To(v1.ContainerRestartPolicyAlways)), bound: true},
	{name: "44 x 500 extended resources", count: 3, size: 500, make: extendedResources},
	{name: "44 x 500, bound", count: 3, size: 500, make: extendedResources, bound: true},
	{name: "resource names", count: 10, size: 20000, make: resourceNames, bound: true},
	{name: "names of amount 0", count: 6, size: 20000, make: zeroAmounts, bound: true},
	{name: "500 hugepage sizes", count: 4, size: 500, make: hugepageSizes},
	{name: "hugepage sizes", count: 4, size: 20000, make: hugepageSizes, bound: true},
	{name: "long names", count: 6, size: 2000, make: longNames, bound: true},
	{name: "labels and annotations", count: 6, size: 4000, make: metadata, bound: true},
	{name: "quantities", count: len(limitsOfQuantities), make: quantities},
	{name: "quantities, bound", count: len(limitsOfQuantities), make: quantities, bound: true},
	{name: "priority classes", count: 4, make: priorities},
	{name: "scheduling gates", count: 4, size: 20000, make: gates},
	{name: "whole nodes by hand", count: 40, make: wholeNode, bound: true},
	{name: "resource claims", count: 4, size: 256, make: claims, bound: true},
	{name: "pod-level resources", count: 4, size: 20000, make: podLevel, bound: true},
	{name: "overhead", count: 2, make: overhead},
}
