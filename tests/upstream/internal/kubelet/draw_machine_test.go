// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"

	"nrtd.dev/tests/upstream/internal/managers"
)

// made makes the machine of a spec.
func made(t *testing.T, spec string) *Machine {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "spec")
	if err := os.WriteFile(path, []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("awk", "-v", "out="+dir, "-f", "../../../fixtures/machines/make.awk", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, said, spec)
	}
	info, err := managers.MachineInfo(dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, spec)
	}
	return &Machine{Dir: dir, Info: info, numa: true}
}

// kinds are the properties of a machine on which releases of the kubelet decide differently.
func kinds(machine *Machine, cpus *topology.CPUTopology) (found []string) {
	threads, caches := map[int]bool{}, map[int]bool{}
	for _, core := range cpus.CPUDetails.Cores().UnsortedList() {
		threads[cpus.CPUDetails.CPUsInCores(core).Size()] = true
	}
	if len(threads) > 1 {
		found = append(found, "hybrid")
	}
	for _, cache := range cpus.CPUDetails.UncoreCaches().UnsortedList() {
		in := cpus.CPUDetails.CPUsInUncoreCaches(cache)
		caches[in.Size()] = true
		if cpus.CPUDetails.KeepOnly(in).NUMANodes().Size() > 1 {
			found = append(found, "cache of several NUMA nodes")
		}
	}
	if len(caches) > 1 {
		found = append(found, "uneven caches")
	}
	for i, node := range machine.Info.Topology {
		if node.Id != i {
			found = append(found, "ids with holes")
		}
	}
	return found
}

// TestDrawnMachines: the kubelet reads every drawn machine, and each kind of machine is drawn.
func TestDrawnMachines(t *testing.T) {
	drawn := map[string]int{}
	for i := range 60 {
		spec := RandomSpec(rand.New(rand.NewPCG(1, uint64(i))), i%6 == 0, false)
		machine := made(t, spec)
		cpus, err := managers.Discover(machine.Info)
		if err != nil {
			t.Fatalf("%v\n%s", err, spec)
		}
		if machine.cpus() > 64 || machine.nodes() > 8 {
			t.Errorf("%d CPUs and %d NUMA nodes\n%s", machine.cpus(), machine.nodes(), spec)
		}
		for _, kind := range append(kinds(machine, cpus), "machine") {
			drawn[kind]++
		}
		if strings.Contains(spec, "offline") {
			drawn["offline"]++
		}
	}
	for _, kind := range []string{"hybrid", "cache of several NUMA nodes", "uneven caches", "ids with holes", "offline"} {
		if drawn[kind] < 2 {
			t.Errorf("%d of %d drawn machines: %s", drawn[kind], drawn["machine"], kind)
		}
	}
}

// TestDrawnSequences: the settings and pods are drawn on which releases of the kubelet decide differently.
func TestDrawnSequences(t *testing.T) {
	machine := made(t, "nodes 0-1 8388608 8\nsockets 0-1 8\nsmt 2 adjacent\npool 2048 512\ndistance 10 20 20\n")
	drawn := map[string]int{}
	draw := Draw{Machines: map[string]*Machine{"m": machine}}
	for i := range 400 {
		c := draw.Random(t.Context(), rand.New(rand.NewPCG(1, uint64(i))))
		if c.Config.ReservedSystemCPUs == "" {
			for name := range c.Config.CPUManagerPolicyOptions {
				drawn["count with "+name]++
			}
			if c.Config.SystemReserved["cpu"] != "" && c.Config.KubeReserved["cpu"] != "" {
				drawn["sum of counts"]++
			}
		}
		for _, step := range c.Steps {
			if step.Admit != nil && hugepagesOf(step.Admit.Spec.InitContainers) && !hugepagesOf(step.Admit.Spec.Containers) {
				drawn["init hugepages in scope "+c.Config.TopologyManagerScope]++
			}
		}
	}
	for _, kind := range []string{"count with " + cpumanager.DistributeCPUsAcrossCoresOption, "count with " + cpumanager.DistributeCPUsAcrossNUMAOption,
		"count with " + cpumanager.PreferAlignByUnCoreCacheOption, "sum of counts", "init hugepages in scope pod", "init hugepages in scope container"} {
		if drawn[kind] < 3 {
			t.Errorf("%d sequences with %s", drawn[kind], kind)
		}
	}
}

func hugepagesOf(list []v1.Container) bool {
	for _, container := range list {
		for name := range container.Resources.Limits {
			if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
				return true
			}
		}
	}
	return false
}
