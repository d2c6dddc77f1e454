// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"nrtd.dev/tests/upstream/internal/kubelet"
)

// settingsCase is a machine and a configuration.
type settingsCase struct {
	Machine string         `json:"machine,omitempty"` // its name below the folder of machines
	Spec    string         `json:"spec,omitempty"`    // of a drawn machine
	Config  map[string]any `json:"config"`
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// wideSpec is a machine with more NUMA nodes than a Topology Manager takes by default, or few without distances.
func wideSpec(r *rand.Rand) string {
	var spec []string
	nodes, distances := pick(r, 9, 10, 12), chance(r, 70)
	if chance(r, 40) {
		nodes, distances = pick(r, 1, 2, 3), false
	}
	for i := range nodes {
		spec = append(spec, fmt.Sprintf("core %d", i), fmt.Sprintf("node %d %d %d", i, 4<<20, i), fmt.Sprintf("socket %d %d", i, i))
	}
	if distances {
		spec = append(spec, "distance 10 20 20")
	}
	return strings.Join(spec, "\n") + "\n"
}

func (j *judge) random(r *rand.Rand) settingsCase {
	c := settingsCase{}
	switch {
	case chance(r, 30):
		c.Machine = pick(r, slices.Sorted(maps.Keys(j.machines))...)
	case chance(r, 20):
		c.Spec = wideSpec(r)
	default:
		c.Spec = kubelet.RandomSpec(r, chance(r, 30), chance(r, 50))
	}
	m, err := j.machine(c)
	if err != nil {
		panic(err) // differential.Main tells of it
	}
	c.Config = randomSettings(r, m)
	return c
}

func randomSettings(r *rand.Rand, m *kubelet.Machine) map[string]any {
	c := map[string]any{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"topologyManagerPolicy": pick(r, "none", "best-effort", "restricted", "single-numa-node"),
		"topologyManagerScope":  pick(r, "container", "pod"),
		"cpuManagerPolicy":      pick(r, "none", "static", "static", "static"),
		"memoryManagerPolicy":   pick(r, "None", "Static"),
		"featureGates":          randomGates(r),
	}
	if chance(r, 3) {
		c[pick(r, "topologyManagerPolicy", "topologyManagerScope", "cpuManagerPolicy", "memoryManagerPolicy")] = "other"
	}
	if chance(r, 35) {
		c["topologyManagerPolicyOptions"] = randomTopologyOptions(r)
	}
	if share := map[bool]int{true: 60, false: 15}[c["cpuManagerPolicy"] == "static"]; chance(r, share) {
		c["cpuManagerPolicyOptions"] = randomCPUOptions(r)
	}
	kube, system := map[string]string{}, map[string]string{}
	randomCPUs(r, m, c, system)
	randomMemory(r, m, c, kube, system)
	if chance(r, 15) {
		kube[pick(r, "ephemeral-storage", "pid")] = "1000"
	}
	if chance(r, 2) {
		pick(r, kube, system)[pick(r, "hugepages-2Mi", "vendor.com/gpu")] = "2"
	}
	c["kubeReserved"], c["systemReserved"] = kube, system
	return c
}

func randomGates(r *rand.Rand) map[string]bool {
	gates := map[string]bool{}
	if chance(r, 75) {
		gates["CPUManagerPolicyAlphaOptions"] = chance(r, 90)
	}
	for _, gate := range []string{"CPUManagerPolicyBetaOptions", "TopologyManagerPolicyBetaOptions", "TopologyManagerPolicyAlphaOptions"} {
		if chance(r, 10) {
			gates[gate] = chance(r, 40)
		}
	}
	if chance(r, 6) {
		gates["PodLevelResourceManagers"] = chance(r, 80)
		gates["PodLevelResources"] = chance(r, 60)
	}
	if chance(r, 3) {
		gates[pick(r, "CPUManagerPolicyOptions", "TopologyManagerPolicyOptions", "MemoryManager", "CPUManager")] = chance(r, 40)
	}
	return gates
}

func randomTopologyOptions(r *rand.Rand) map[string]string {
	options := map[string]string{}
	if chance(r, 50) {
		options["prefer-closest-numa-nodes"] = pick(r, "true", "true", "false")
	}
	if chance(r, 60) {
		options["max-allowable-numa-nodes"] = pick(r, "1", "7", "8", "9", "9", "10", "12", "64")
	}
	if chance(r, 5) {
		options[pick(r, "prefer-closest-numa-nodes", "max-allowable-numa-nodes", "later")] = pick(r, "many", "true")
	}
	return options
}

func randomCPUOptions(r *rand.Rand) map[string]string {
	names := []string{"full-pcpus-only", "distribute-cpus-across-numa", "align-by-socket", "distribute-cpus-across-cores",
		"strict-cpu-reservation", "prefer-align-cpus-by-uncorecache"}
	options := map[string]string{}
	for range pick(r, 1, 1, 1, 2, 2, 3) {
		options[pick(r, names...)] = pick(r, "true", "true", "true", "true", "false")
	}
	if chance(r, 3) {
		options["later"] = "true"
	}
	if chance(r, 2) {
		options[pick(r, names...)] = "perhaps"
	}
	return options
}

// randomCPUs draws which CPUs are reserved: by their ids, as an amount, both or none.
func randomCPUs(r *rand.Rand, m *kubelet.Machine, c map[string]any, system map[string]string) {
	var ids []int
	for _, node := range m.Info.Topology {
		for _, core := range node.Cores {
			ids = append(ids, core.Threads...)
		}
	}
	if chance(r, 45) {
		var list []string
		for range 1 + r.IntN(3) {
			list = append(list, fmt.Sprint(pick(r, ids...)))
		}
		if chance(r, 8) {
			list = append(list, fmt.Sprint(slices.Max(ids)+1+r.IntN(3)))
		}
		slices.Sort(list)
		c["reservedSystemCPUs"] = strings.Join(slices.Compact(list), ",")
		if chance(r, 80) {
			return
		}
	}
	options, _ := c["cpuManagerPolicyOptions"].(map[string]string)
	if options["full-pcpus-only"] == "true" && options["distribute-cpus-across-numa"] == "true" {
		c["reservedSystemCPUs"] = fmt.Sprint(ids[0]) // the kubelet might choose CPUs for ever (kubernetes #140730)
		return
	}
	if chance(r, 80) {
		system["cpu"] = pick(r, "1", "1", "2", "500m", "1500m", "0", fmt.Sprint(len(ids)), fmt.Sprint(len(ids)+1))
	}
}

// randomMemory draws reservations that add up, and others.
func randomMemory(r *rand.Rand, m *kubelet.Machine, c map[string]any, kube, system map[string]string) {
	sum := int64(0)
	if chance(r, 80) {
		mib := pick(r, int64(100), 412, 900)
		system["memory"] = fmt.Sprintf("%dMi", mib)
		sum += mib << 20
	}
	if chance(r, 30) {
		kube["memory"] = pick(r, "0", "50M")
		if kube["memory"] != "0" {
			sum += 50_000_000
		}
	}
	if chance(r, 2) {
		kube["memory"] = fmt.Sprint(m.Info.MemoryCapacity + 1)
	}
	switch pick(r, "", "", "amount", "percent", "nothing") {
	case "": // the kubelet's default
		sum += 100 << 20
	case "amount":
		c["evictionHard"] = map[string]string{"memory.available": "1Gi"}
		sum += 1 << 30
	case "percent":
		c["evictionHard"] = map[string]string{"memory.available": "5%"}
		sum += int64(float64(int64(m.Info.MemoryCapacity)) * float64(float32(5)/100))
	case "nothing":
		c["evictionHard"] = map[string]string{"imagefs.available": "15%"}
	}
	if c["memoryManagerPolicy"] != "Static" && chance(r, 80) || chance(r, 10) {
		return
	}
	c["reservedMemory"] = randomReservations(r, m, sum)
}

// randomReservations are those of NUMA nodes that add up to sum, or nearly.
func randomReservations(r *rand.Rand, m *kubelet.Machine, sum int64) []map[string]any {
	var all []map[string]any
	add := func(node int, kind string, bytes int64) {
		all = append(all, map[string]any{"numaNode": node, "limits": map[string]string{kind: fmt.Sprint(bytes)}})
	}
	node := func() int { return m.Info.Topology[r.IntN(len(m.Info.Topology))].Id }
	first, last := m.Info.Topology[0].Id, m.Info.Topology[len(m.Info.Topology)-1].Id
	half := sum / 2
	switch kind := r.IntN(100); {
	case kind < 40:
		add(node(), "memory", sum)
	case kind < 60 && first != last:
		add(first, "memory", half)
		add(last, "memory", sum-half)
	case kind < 66:
		add(node(), "memory", sum+1)
	case kind < 72:
		add(last+1+r.IntN(3), "memory", sum)
	case kind < 78:
		add(first, "memory", half)
		add(first, "memory", sum-half)
	case kind < 84:
		add(first, "memory", sum)
		add(last, pick(r, "memory", "hugepages-2Mi"), 0)
	case kind < 90:
		add(first, "memory", sum)
		add(last, "hugepages-2Mi", 2<<20)
	case kind < 93:
		add(first, "memory", sum)
		add(last, "cpu", 1)
	default:
		add(node(), "memory", sum)
	}
	return all
}

// smaller lists cases with a field, or an entry of a field, less.
func smaller(c settingsCase) []settingsCase {
	var out []settingsCase
	for field, value := range c.Config {
		if field == "apiVersion" || field == "kind" {
			continue
		}
		config := maps.Clone(c.Config)
		delete(config, field)
		out = append(out, settingsCase{c.Machine, c.Spec, config})
		if options, ok := value.(map[string]string); ok {
			for name := range options {
				fewer, config := maps.Clone(options), maps.Clone(c.Config)
				delete(fewer, name)
				config[field] = fewer
				out = append(out, settingsCase{c.Machine, c.Spec, config})
			}
		}
	}
	return out
}
