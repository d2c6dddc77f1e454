// SPDX-License-Identifier: Apache-2.0

// Package vectors writes down what the kubelet's own code decides in random cases, in the format of the recorded
// vectors that the C tests replay.
package vectors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"
)

// cpuCase is one entry of cpu_manager.json's cases.
type cpuCase struct {
	ID            string             `json:"id"`
	Topology      string             `json:"topology"`
	Distances     [][]uint64         `json:"distances"`
	Options       []string           `json:"options"`
	Reserved      string             `json:"reserved"`
	DefaultCPUSet string             `json:"defaultCpuSet"`
	Request       int                `json:"request"`
	Available     string             `json:"available"`
	SMTError      string             `json:"smtError,omitempty"`
	Hints         []hint             `json:"hints"`
	Unaligned     verdict            `json:"allocateWithoutAffinity"`
	Policies      map[string]verdict `json:"policies"`
}

// CPUFile is the content of cpu_manager.json.
type CPUFile struct {
	Topologies map[string]map[string][]int `json:"topologies"`
	Cases      []cpuCase                   `json:"cases"`
}

// optionSets are the sets of static-policy options that the kubelet accepts together. They have every
// released row of common/policy_options.h (test_settings_table).
var optionSets = [][]string{
	{},
	{"full-pcpus-only"},
	{"distribute-cpus-across-numa"},
	{"distribute-cpus-across-numa", "full-pcpus-only"},
	{"align-by-socket"},
	{"align-by-socket", "full-pcpus-only"},
	{"align-by-socket", "distribute-cpus-across-numa"},
	{"distribute-cpus-across-cores"},
	{"strict-cpu-reservation"},
	{"prefer-align-cpus-by-uncorecache"},
	{"align-by-socket", "prefer-align-cpus-by-uncorecache"},
	{"full-pcpus-only", "prefer-align-cpus-by-uncorecache"},
}

// EnableAllOptions turns on the feature gates of the options that are not on by default.
func EnableAllOptions() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.CPUManagerPolicyAlphaOptions): true,
		string(features.CPUManagerPolicyBetaOptions):  true,
	})
}

// anyAffinity is a Topology Manager that has stored no hint.
type anyAffinity struct{ topologymanager.Manager }

func (anyAffinity) GetAffinity(string, string) topologymanager.TopologyHint {
	return topologymanager.TopologyHint{}
}

func (anyAffinity) GetPolicy() topologymanager.Policy { return topologymanager.NewNonePolicy() }

// CPUs makes cases for cpu_manager.json on random machines of the named shape.
func CPUs(logger klog.Logger, r *rand.Rand, shapeName string, id func(int) string, count int) (*CPUFile, error) {
	shape, known := shapes[shapeName]
	if !known {
		return nil, fmt.Errorf("no shape %q; there are %q", shapeName, ShapeNames())
	}
	file := &CPUFile{Topologies: map[string]map[string][]int{}}
	for endless := 0; len(file.Cases) < count; {
		m := randomMachine(r, shape)
		c, err := cpuCaseInTime(logger, rand.New(rand.NewPCG(r.Uint64(), r.Uint64())), m)
		if errors.Is(err, errEndless) && endless < maxEndless {
			endless++
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.name, err)
		}
		c.ID = id(len(file.Cases))
		file.Topologies[m.name] = m.arrays()
		file.Cases = append(file.Cases, *c)
	}
	return file, nil
}

// In some cases distribute-cpus-across-numa never returns (scoring/DEFECTS.md, K1 and K2). CPUs leaves such cases out.
const (
	caseLimit  = 3 * time.Second // a case takes milliseconds; one of 1000 does not return
	maxEndless = 20
)

var errEndless = errors.New("the kubelet's code did not return in time")

// cpuCaseInTime is cpuCaseOn with a time limit. A goroutine that exceeds the limit runs until the program exits.
func cpuCaseInTime(logger klog.Logger, r *rand.Rand, m *machine) (*cpuCase, error) {
	var c *cpuCase
	done := make(chan error, 1)
	go func() {
		var err error
		c, err = cpuCaseOn(logger, r, m)
		done <- err
	}()
	select {
	case err := <-done:
		return c, err
	case <-time.After(caseLimit):
		return nil, errEndless
	}
}

// cpuCaseOn draws one request on a machine whose CPUs are partly taken, and asks the real managers.
func cpuCaseOn(logger klog.Logger, r *rand.Rand, m *machine) (*cpuCase, error) {
	info := m.info()
	topo, err := topology.Discover(logger, info)
	if err != nil {
		return nil, err
	}
	options := pick(r, optionSets)
	reserved := randomReserved(r, m)
	settings := map[string]string{}
	for _, o := range options {
		settings[o] = "true"
	}
	policy, err := cpumanager.NewStaticPolicy(logger, topo, reserved.Size(), reserved, anyAffinity{}, settings)
	if err != nil {
		return nil, err
	}
	shared := randomShared(r, m, topo).Union(reserved)
	available := shared.Difference(reserved)
	c := &cpuCase{Topology: m.name, Distances: m.distances, Options: options, Reserved: reserved.String(),
		DefaultCPUSet: shared.String(), Available: available.String(), Policies: map[string]verdict{},
		Request: randomRequest(r, m, available.Size())}
	pod := guaranteedPod(c.Request)
	fresh := func() state.State {
		s := state.NewMemoryState(logger)
		s.SetDefaultCPUSet(shared)
		return s
	}
	hints := policy.GetTopologyHints(logger, fresh(), pod, &pod.Spec.Containers[0])
	c.Hints = fromHints(hints[string(v1.ResourceCPU)])
	c.Unaligned = allocate(logger, policy, fresh(), c.Request, topologymanager.TopologyHint{})
	if err := policy.Allocate(logger, fresh(), pod, &pod.Spec.Containers[0]); err != nil {
		if _, refused := err.(cpumanager.SMTAlignmentError); refused {
			c.SMTError = err.Error()
		}
	}
	names := []string{topologymanager.PolicyBestEffort, topologymanager.PolicyRestricted}
	if !slices.Contains(options, "align-by-socket") {
		// the kubelet refuses align-by-socket with this policy
		names = append(names, topologymanager.PolicySingleNumaNode)
	}
	all, err := policies(logger, info.Topology, names)
	if err != nil {
		return nil, err
	}
	for name, p := range all {
		merged, admit := p.Merge(logger, []map[string][]topologymanager.TopologyHint{hints})
		v := verdict{}
		if admit && c.SMTError == "" {
			v = allocate(logger, policy, fresh(), c.Request, merged)
		}
		v.hint, v.Admit = fromHint(merged), admit
		c.Policies[name] = v
	}
	return c, nil
}

// allocate assigns CPUs by the hint and says which, or why not.
func allocate(logger klog.Logger, policy cpumanager.Policy, s state.State, count int, by topologymanager.TopologyHint) verdict {
	cpus, err := allocateCPUs(policy, logger, s, count, by.NUMANodeAffinity)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{CPUs: cpus.String()}
}

// randomReserved draws the reserved CPUs: often none, else a few, together or scattered.
func randomReserved(r *rand.Rand, m *machine) cpuset.CPUSet {
	if chance(r, 35) || len(m.cpus) < 2 {
		return cpuset.New()
	}
	count := 1 + r.IntN(min(4, len(m.cpus)/2))
	var ids []int
	first := r.IntN(len(m.cpus))
	for i := range count {
		if chance(r, 50) {
			ids = append(ids, (first+i)%len(m.cpus))
		} else {
			ids = append(ids, r.IntN(len(m.cpus)))
		}
	}
	return cpuset.New(ids...)
}

// randomShared draws the CPUs nobody holds: everything, a random part, or whole cores and nodes taken away.
func randomShared(r *rand.Rand, m *machine, topo *topology.CPUTopology) cpuset.CPUSet {
	all := topo.CPUDetails.CPUs()
	mode := r.IntN(5)
	percent := pick(r, []int{10, 25, 50, 75, 90})
	gone := map[int]bool{}
	var ids []int
	for id, c := range m.cpus {
		key := id
		switch mode {
		case 0:
			return all
		case 1, 2: // whole cores are taken
			key = -1 - c.core
		case 3: // whole nodes have other numbers of free cores
			key = -1 - c.core
			if _, known := gone[-1000000-c.numa]; !known {
				gone[-1000000-c.numa] = chance(r, 20)
			}
			if gone[-1000000-c.numa] {
				continue
			}
		}
		taken, known := gone[key]
		if !known {
			taken = !chance(r, percent)
			gone[key] = taken
		}
		if !taken {
			ids = append(ids, id)
		}
	}
	return cpuset.New(ids...)
}

// randomRequest draws a number of CPUs: around what is free, what a node or a core has, or small.
func randomRequest(r *rand.Rand, m *machine, free int) int {
	perNode := max(1, len(m.cpus)/m.nodes)
	var n int
	switch r.IntN(5) {
	case 0:
		n = 1 + r.IntN(4)
	case 1:
		n = perNode + r.IntN(5) - 2
	case 2:
		n = free + r.IntN(3) - 1
	case 3:
		n = 2 * (1 + r.IntN(1+perNode))
	default:
		n = 1 + r.IntN(len(m.cpus))
	}
	return min(max(n, 1), len(m.cpus)+1)
}

// guaranteedPod is a pod of one container that gets count exclusive CPUs.
func guaranteedPod(count int) *v1.Pod {
	amounts := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(count), resource.DecimalSI),
		v1.ResourceMemory: resource.MustParse("1Gi"),
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "pod"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}}},
	}
}
