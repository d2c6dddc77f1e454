// SPDX-License-Identifier: Apache-2.0

// Package kubelet plays random sequences of pods to the kubelet's own managers and asks nrtd, before each step, what
// they will say.
package kubelet

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/ptr"

	"nrtd.dev/tests/upstream/internal/managers"
)

// Case is a sequence on one machine.
type Case struct {
	Machine string                                     `json:"machine"`        // its name
	Spec    string                                     `json:"spec,omitempty"` // of a drawn machine, see Maker
	Config  *kubeletconfigv1beta1.KubeletConfiguration `json:"config"`
	Devices []managers.Devices                         `json:"devices,omitempty"`
	Steps   []Step                                     `json:"steps"`
}

// Step is one pod that comes, one that goes (by name; a pod that was not admitted cannot), or a container that is to have
// other amounts. A pod that goes ends and is deleted, or it ends and stays until it is deleted.
type Step struct {
	Admit    *v1.Pod `json:"admit,omitempty"`
	Remove   string  `json:"remove,omitempty"`
	Complete string  `json:"complete,omitempty"`
	Resize   *Resize `json:"resize,omitempty"`
	TidyCPUs bool    `json:"tidyCPUs,omitempty"` // afterwards the CPU manager's loop comes round
}

// Resize is what a container asks for in place of what it has.
type Resize struct {
	Pod       string          `json:"pod"`
	Container string          `json:"container"`
	Amounts   v1.ResourceList `json:"amounts"`
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// Node is a kubelet's settings and devices on one of the machines, drawn at random.
type Node struct {
	Machine   string
	Config    *kubeletconfigv1beta1.KubeletConfiguration
	Devices   []managers.Devices
	machine   *Machine
	hugepages bool // pods may ask for some
}

// RandomNode draws one.
func RandomNode(r *rand.Rand, machines map[string]*Machine, devices bool) Node {
	names := slices.Sorted(maps.Keys(machines))
	name := pick(r, names...)
	m := machines[name]
	n := Node{Machine: name, Config: randomConfig(r, m), machine: m}
	// The kubelet tries every combination of one hint for each resource, of up to 2^nodes hints: a few resources of an
	// eight-node machine are all it can take.
	more := maxHintBits / m.nodes()
	if n.Config.MemoryManagerPolicy != "" {
		more--
	}
	if devices && chance(r, 60) {
		n.Devices = randomDevices(r, m, min(2, more-1))
	}
	n.hugepages = n.Config.MemoryManagerPolicy == "" || more-1-len(n.Devices) >= len(m.Info.HugePages)
	return n
}

// Pod draws a pod for it.
func (n *Node) Pod(r *rand.Rand, name string) *v1.Pod {
	pod := randomPod(r, n.machine, name, n.hugepages, n.Devices)
	if n.Config.FeatureGates[podLevelManagers] && chance(r, 50) {
		shareAmounts(r, pod)
	}
	return pod
}

// CPUs is the number of the machine's CPUs.
func (n *Node) CPUs() int { return n.machine.cpus() }

// NUMANodes is the number of the machine's NUMA nodes.
func (n *Node) NUMANodes() int { return n.machine.nodes() }

// resize draws other amounts of CPU, of memory or of both for one of the pod's containers.
func (n *Node) resize(r *rand.Rand, pod *v1.Pod) *Resize {
	container := pick(r, slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)...)
	drawn := randomContainer(r, n.machine, container.Name, true, false, nil).Resources.Requests
	for _, name := range pick(r, nil, []v1.ResourceName{v1.ResourceCPU}, []v1.ResourceName{v1.ResourceMemory}) {
		delete(drawn, name)
	}
	return &Resize{pod.Name, container.Name, drawn}
}

// OtherConfig draws other settings for the machine.
func (n *Node) OtherConfig(r *rand.Rand) *kubeletconfigv1beta1.KubeletConfiguration {
	return randomConfig(r, n.machine)
}

// Draw is what random sequences are drawn from.
type Draw struct {
	Machines map[string]*Machine
	Maker    *Maker // half of the sequences are on drawn machines; nil = none
	Devices  bool   // nodes may have some
	Failures bool   // only nodes whose settings are near those with which the kubelet's code hangs or panics; needs a maker
}

// Random draws a sequence.
func (d *Draw) Random(ctx context.Context, r *rand.Rand) Case {
	spec, machines := "", d.Machines
	near := d.Failures && chance(r, 50)
	if d.Maker != nil && (d.Failures || chance(r, 50)) {
		spec = RandomSpec(r, near || (!d.Failures && chance(r, 10)), d.Failures && !near)
		machine, _, err := d.Maker.Machine(ctx, spec)
		if err != nil {
			return Case{Machine: drawnName, Spec: spec} // who compares it gets the error too
		}
		machines = map[string]*Machine{drawnName: machine}
	}
	n := RandomNode(r, machines, d.Devices)
	switch {
	case near:
		preferClosest(r, n.Config)
	case d.Failures:
		reserveThreads(r, n.machine, n.Config)
	}
	c := Case{Machine: n.Machine, Spec: spec, Config: n.Config, Devices: n.Devices}
	var present []string
	pods := map[string]*v1.Pod{}
	resizes := c.Config.FeatureGates[string(features.InPlacePodVerticalScalingExclusiveCPUs)]
	for i := range 1 + r.IntN(8) {
		if resizes && len(present) > 0 && chance(r, 30) {
			c.Steps = append(c.Steps, Step{Resize: n.resize(r, pods[pick(r, present...)]), TidyCPUs: chance(r, 30)})
			continue
		}
		if len(present) > 0 && chance(r, 25) {
			gone := r.IntN(len(present))
			if chance(r, 35) {
				c.Steps = append(c.Steps, Step{Complete: present[gone], TidyCPUs: chance(r, 30)})
				continue
			}
			c.Steps = append(c.Steps, Step{Remove: present[gone], TidyCPUs: chance(r, 30)})
			present = slices.Delete(present, gone, gone+1)
			continue
		}
		pod := n.Pod(r, fmt.Sprintf("pod-%d", i))
		if d.Failures && !near && chance(r, 60) {
			n.requestAlmostAll(r, pod)
		}
		c.Steps = append(c.Steps, Step{Admit: pod})
		present = append(present, pod.Name)
		pods[pod.Name] = pod
	}
	return c
}

// cpuOptions are the sets of static-policy options that the kubelet accepts together. They have every
// released row of common/policy_options.h (test_settings_table).
var cpuOptions = [][]string{
	nil, nil,
	{"full-pcpus-only"},
	{"distribute-cpus-across-numa"},
	{"distribute-cpus-across-numa", "full-pcpus-only"},
	{"distribute-cpus-across-numa", "align-by-socket"},
	{"distribute-cpus-across-numa", "align-by-socket", "full-pcpus-only"},
	{"align-by-socket"},
	{"distribute-cpus-across-numa", "strict-cpu-reservation"},
	{"distribute-cpus-across-cores"},
	{"distribute-cpus-across-cores"},
	{"distribute-cpus-across-cores", "align-by-socket"},
	{"distribute-cpus-across-cores", "strict-cpu-reservation"},
	{"strict-cpu-reservation"},
	{"prefer-align-cpus-by-uncorecache"},
	{"prefer-align-cpus-by-uncorecache"},
	{"prefer-align-cpus-by-uncorecache", "align-by-socket"},
	{"prefer-align-cpus-by-uncorecache", "strict-cpu-reservation"},
	{"full-pcpus-only", "strict-cpu-reservation"},
	{"full-pcpus-only", "prefer-align-cpus-by-uncorecache"},
}

// podLevelManagers is a feature gate that is drawn where the API tells of what it does.
const podLevelManagers = "PodLevelResourceManagers"

func randomConfig(r *rand.Rand, m *Machine) *kubeletconfigv1beta1.KubeletConfiguration {
	c := &kubeletconfigv1beta1.KubeletConfiguration{
		TypeMeta:              metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		FeatureGates:          map[string]bool{"CPUManagerPolicyAlphaOptions": true},
		TopologyManagerPolicy: pick(r, "none", "best-effort", "restricted", "restricted", "single-numa-node", "single-numa-node"),
		TopologyManagerScope:  pick(r, "container", "pod"),
		CPUManagerPolicy:      "none",
		SystemReserved:        map[string]string{},
		EvictionHard:          map[string]string{"memory.available": "100Mi"},
	}
	if chance(r, 25) {
		c.FeatureGates[string(features.InPlacePodVerticalScalingExclusiveCPUs)] = true
		c.FeatureGates[string(features.InPlacePodVerticalScalingExclusiveMemory)] = chance(r, 50)
	}
	if managers.TellsOfPods && chance(r, 15) {
		c.FeatureGates[podLevelManagers] = true
	}
	c.TopologyManagerPolicyOptions = map[string]string{}
	if chance(r, 40) {
		c.TopologyManagerPolicyOptions[topologymanager.PreferClosestNUMANodes] = "true"
	}
	if m.nodes() > maxNUMANodes {
		c.TopologyManagerPolicy = "none" // the kubelet starts with no other
	}
	if chance(r, 88) {
		c.CPUManagerPolicy = "static"
		c.CPUManagerPolicyOptions = map[string]string{}
		for _, option := range pick(r, cpuOptions...) {
			c.CPUManagerPolicyOptions[option] = "true"
		}
		if m.nodes() > maxNUMANodes {
			delete(c.CPUManagerPolicyOptions, "distribute-cpus-across-numa")
		}
	}
	if c.CPUManagerPolicyOptions["distribute-cpus-across-numa"] != "" && chance(r, 20) {
		reserveThreads(r, m, c)
	} else {
		reserveCPUs(r, m, c)
	}
	var roomy []int
	for _, node := range m.Info.Topology {
		if node.Memory >= 1<<30 || !m.numa { // without NUMA there is nothing, and it goes below 0
			roomy = append(roomy, node.Id)
		}
	}
	if len(roomy) > 0 && m.nodes() <= maxNUMANodes && chance(r, 50) {
		c.MemoryManagerPolicy = "Static"
		c.SystemReserved["memory"] = "412Mi" // with the eviction threshold: 512Mi
		for _, size := range pick(r, []string{"512Mi"}, []string{"512Mi"}, []string{"200Mi", "312Mi"}) {
			i := r.IntN(len(roomy))
			c.ReservedMemory = append(c.ReservedMemory, kubeletconfigv1beta1.MemoryReservation{NumaNode: int32(roomy[i]),
				Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse(size)}})
			if roomy = slices.Delete(roomy, i, i+1); len(roomy) == 0 {
				c.ReservedMemory[0].Limits[v1.ResourceMemory] = resource.MustParse("512Mi")
				c.ReservedMemory = c.ReservedMemory[:1]
				break
			}
		}
	}
	return c
}

// preferClosest draws settings with which the kubelet reads distances wrongly where NUMA node ids have holes (K7 in
// scoring/DEFECTS.md).
func preferClosest(r *rand.Rand, c *kubeletconfigv1beta1.KubeletConfiguration) {
	c.TopologyManagerPolicy = pick(r, "best-effort", "restricted", "single-numa-node")
	c.TopologyManagerPolicyOptions = map[string]string{topologymanager.PreferClosestNUMANodes: "true"}
	delete(c.CPUManagerPolicyOptions, "align-by-socket") // not with single-numa-node
}

// reserveThreads draws settings with which the kubelet's distribution of CPUs over NUMA nodes can loop forever (K1): a part of
// the cores' threads is reserved on every NUMA node.
func reserveThreads(r *rand.Rand, m *Machine, c *kubeletconfigv1beta1.KubeletConfiguration) {
	c.TopologyManagerPolicy = pick(r, "none", "none", "best-effort", c.TopologyManagerPolicy)
	c.CPUManagerPolicy = "static"
	c.CPUManagerPolicyOptions = map[string]string{"distribute-cpus-across-numa": "true", "full-pcpus-only": "true"}
	var ids []int
	for _, node := range m.Info.Topology {
		for i, core := range node.Cores {
			if i == 0 || chance(r, 15) {
				ids = append(ids, core.Threads[0])
			}
		}
	}
	c.ReservedSystemCPUs = listOf(ids)
}

// requestAlmostAll lets the pod have one container, which requests as many CPUs as the node's whole cores have, or some fewer.
// Every core has two threads.
func (n *Node) requestAlmostAll(r *rand.Rand, pod *v1.Pod) {
	whole := n.CPUs()/2 - len(strings.Split(n.Config.ReservedSystemCPUs, ","))
	cpus := *resource.NewQuantity(int64(2*max(1, whole-r.IntN(4))), resource.DecimalSI)
	pod.Spec.InitContainers, pod.Spec.Containers = nil, pod.Spec.Containers[:1]
	first := pod.Spec.Containers[0].Resources
	for _, amounts := range []v1.ResourceList{first.Limits, first.Requests} {
		if amounts != nil { // else the pod has amounts as a whole
			amounts[v1.ResourceCPU] = cpus
		}
	}
	// The API server stores no pod whose containers ask for more than the pod as a whole.
	if whole := pod.Spec.Resources; whole != nil && whole.Requests.Cpu().Cmp(cpus) < 0 {
		whole.Requests[v1.ResourceCPU], whole.Limits[v1.ResourceCPU] = cpus, cpus
	}
}

// reserveCPUs draws which CPUs are reserved: by their ids, or as an amount, which the kubelet itself chooses CPUs for.
func reserveCPUs(r *rand.Rand, m *Machine, c *kubeletconfigv1beta1.KubeletConfiguration) {
	few := 1 + r.IntN(min(3, max(1, m.cpus()/4)))
	if chance(r, 25) {
		few = 1 + r.IntN(max(1, m.cpus()/2))
	}
	if chance(r, 50) {
		var ids []string
		for range few {
			ids = append(ids, fmt.Sprint(pick(r, m.cpuIDs()...)))
		}
		slices.Sort(ids)
		c.ReservedSystemCPUs = strings.Join(slices.Compact(ids), ",")
		if chance(r, 85) {
			return
		}
		// else the kubelet ignores the amounts
	}
	amount := func() string { return pick(r, fmt.Sprint(few), fmt.Sprintf("%dm", 500+250*r.IntN(4*few))) }
	if chance(r, 70) {
		c.SystemReserved["cpu"] = amount()
	}
	if c.SystemReserved["cpu"] == "" || chance(r, 20) {
		c.KubeReserved = map[string]string{"cpu": amount()}
	}
}

// maxNUMANodes is the kubelet's default limit for a Topology Manager policy. Without one it starts on larger machines,
// but its memory manager and its distribution of CPUs over nodes then take time exponential in their number.
const maxNUMANodes = 8

// maxHintBits bounds the number of NUMA nodes times the number of resources with hints.
const maxHintBits = 18

// randomDevices draws up to most resources with devices near one node, sometimes near two, sometimes near none.
func randomDevices(r *rand.Rand, m *Machine, most int) []managers.Devices {
	var all []managers.Devices
	for _, name := range []string{"vendor.com/nic", "vendor.com/gpu"}[:r.IntN(max(0, most)+1)] {
		d := managers.Devices{Resource: name}
		mode := r.IntN(4)
		for range 1 + r.IntN(6) {
			near := []int{pick(r, m.nodeIDs()...)}
			switch {
			case mode == 0, mode == 1 && chance(r, 20):
				near = nil
			case mode == 2 && chance(r, 25):
				near = append(near, pick(r, m.nodeIDs()...))
				slices.Sort(near)
				near = slices.Compact(near)
			}
			d.NUMA = append(d.NUMA, near)
		}
		all = append(all, d)
	}
	return all
}

func randomPod(r *rand.Rand, m *Machine, name string, hugepages bool, devices []managers.Devices) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	guaranteed := chance(r, 82)
	add := func(list *[]v1.Container, prefix string, count int) {
		for i := range count {
			*list = append(*list, randomContainer(r, m, fmt.Sprintf("%s-%d", prefix, i), guaranteed, hugepages, devices))
		}
	}
	add(&pod.Spec.Containers, "app", pick(r, 1, 1, 1, 2, 3))
	if chance(r, 25) {
		add(&pod.Spec.InitContainers, "init", pick(r, 1, 1, 2))
		if chance(r, 30) {
			withoutHugepages(pod.Spec.Containers) // only the init containers request some
		}
		for i := range pod.Spec.InitContainers {
			if chance(r, 35) {
				pod.Spec.InitContainers[i].RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
			}
		}
	}
	return pod
}

// shareAmounts gives the pod CPUs and memory as a whole, what its containers ask for or more. Some containers then ask for
// nothing and share what is left. None asks for hugepages: the kubelet lists those of a container as held, and as free on
// the NUMA node, and nrtd publishes the lower amount and a warning.
func shareAmounts(r *rand.Rand, pod *v1.Pod) {
	whole := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		var sum resource.Quantity
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			sum.Add(c.Resources.Requests[name])
		}
		if name == v1.ResourceCPU {
			sum = *resource.NewQuantity(sum.Value()+int64(r.IntN(3)), resource.DecimalSI)
		}
		whole[name] = sum
	}
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: whole, Limits: whole.DeepCopy()}
	withoutHugepages(pod.Spec.InitContainers)
	withoutHugepages(pod.Spec.Containers)
	for i := range pod.Spec.Containers {
		if chance(r, 40) {
			pod.Spec.Containers[i].Resources = v1.ResourceRequirements{}
		}
	}
}

func withoutHugepages(list []v1.Container) {
	for _, container := range list {
		for _, amounts := range []v1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
			maps.DeleteFunc(amounts, func(name v1.ResourceName, _ resource.Quantity) bool {
				return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
			})
		}
	}
}

func randomContainer(r *rand.Rand, m *Machine, name string, guaranteed, hugepages bool, devices []managers.Devices) v1.Container {
	perNode := max(1, m.cpus()/m.nodes())
	cpus := int64(pick(r, 1, 2, 2, 3, 4, perNode/2, perNode, perNode+1, 2*perNode, 1+r.IntN(m.cpus())))
	cpu := *resource.NewQuantity(max(cpus, 1), resource.DecimalSI)
	if chance(r, 8) {
		cpu = *resource.NewMilliQuantity(int64(100+r.IntN(3000)), resource.DecimalSI)
	}
	memory := *resource.NewQuantity(int64(1+r.IntN(64))<<24, resource.BinarySI)
	if chance(r, 30) {
		memory = *resource.NewQuantity(int64(m.Info.MemoryCapacity)/int64(m.nodes())*int64(1+r.IntN(12))/8, resource.BinarySI)
	}
	limits := v1.ResourceList{v1.ResourceCPU: cpu, v1.ResourceMemory: memory}
	for _, pool := range m.Info.HugePages {
		if hugepages && pool.NumPages > 0 && chance(r, 35) {
			size := resource.NewQuantity(int64(pool.PageSize)<<10, resource.BinarySI)
			pages := 1 + r.Int64N(int64(min(pool.NumPages, 64)))
			limits[v1.ResourceName(v1.ResourceHugePagesPrefix+size.String())] = *resource.NewQuantity(pages*int64(pool.PageSize)<<10, resource.BinarySI)
		}
	}
	for _, d := range devices {
		if chance(r, 50) {
			limits[v1.ResourceName(d.Resource)] = *resource.NewQuantity(int64(1+r.IntN(3)), resource.DecimalSI)
		}
	}
	requests := limits.DeepCopy()
	if !guaranteed {
		requests[v1.ResourceCPU] = resource.MustParse("100m")
	}
	return v1.Container{Name: name, Image: "none", Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
}

// askNoMore takes a resource out of every pod. No pod asks for a device that its node does not have: no scheduler binds
// it there, and the kubelet itself would leave the device out and admit the pod.
func (c *Case) askNoMore(name v1.ResourceName) {
	for _, step := range c.Steps {
		if step.Admit == nil {
			continue
		}
		for _, list := range [][]v1.Container{step.Admit.Spec.InitContainers, step.Admit.Spec.Containers} {
			for _, container := range list {
				delete(container.Resources.Limits, name)
				delete(container.Resources.Requests, name)
			}
		}
	}
}

// Smaller lists sequences with one thing less.
func Smaller(c Case) []Case {
	var out []Case
	edit := func(change func(*Case)) {
		copied := Case{Machine: c.Machine, Spec: c.Spec, Config: c.Config.DeepCopy(), Devices: slices.Clone(c.Devices)}
		for _, step := range c.Steps {
			copied.Steps = append(copied.Steps, Step{Admit: step.Admit.DeepCopy(), Remove: step.Remove, Complete: step.Complete, Resize: step.Resize, TidyCPUs: step.TidyCPUs})
		}
		change(&copied)
		out = append(out, copied)
	}
	for i := len(c.Steps) - 1; i >= 0 && len(c.Steps) > 1; i-- {
		edit(func(c *Case) { c.Steps = slices.Delete(c.Steps, i, i+1) })
	}
	for i, d := range c.Devices {
		edit(func(c *Case) {
			c.Devices = slices.Delete(c.Devices, i, i+1)
			c.askNoMore(v1.ResourceName(d.Resource))
		})
	}
	for i, step := range c.Steps {
		if step.Admit == nil {
			continue
		}
		for j := range step.Admit.Spec.InitContainers {
			edit(func(c *Case) {
				spec := &c.Steps[i].Admit.Spec
				spec.InitContainers = slices.Delete(spec.InitContainers, j, j+1)
			})
		}
		for j, container := range step.Admit.Spec.Containers {
			if len(step.Admit.Spec.Containers) > 1 {
				edit(func(c *Case) {
					spec := &c.Steps[i].Admit.Spec
					spec.Containers = slices.Delete(spec.Containers, j, j+1)
				})
			}
			for name := range container.Resources.Limits {
				if name != v1.ResourceCPU && name != v1.ResourceMemory {
					edit(func(c *Case) {
						delete(c.Steps[i].Admit.Spec.Containers[j].Resources.Limits, name)
						delete(c.Steps[i].Admit.Spec.Containers[j].Resources.Requests, name)
					})
				}
			}
		}
	}
	for name := range c.Config.CPUManagerPolicyOptions {
		edit(func(c *Case) { delete(c.Config.CPUManagerPolicyOptions, name) })
	}
	if c.Config.TopologyManagerPolicyOptions[topologymanager.PreferClosestNUMANodes] != "" {
		edit(func(c *Case) { delete(c.Config.TopologyManagerPolicyOptions, topologymanager.PreferClosestNUMANodes) })
	}
	if c.Config.MemoryManagerPolicy != "" {
		edit(func(c *Case) {
			c.Config.MemoryManagerPolicy, c.Config.ReservedMemory = "", nil
			delete(c.Config.SystemReserved, "memory")
		})
	}
	for _, spec := range simplerSpecs(c.Spec) {
		edit(func(c *Case) { c.Spec = spec })
	}
	return out
}
