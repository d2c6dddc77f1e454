// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// A machine that nrtd describes is the machine the kubelet reads in its /sys: the same CPU topology, memory and
// distances. NRTD and MACHINES name the program and a folder of machines.
func TestMachineFromDump(t *testing.T) {
	nrtd, machines := os.Getenv("NRTD"), os.Getenv("MACHINES")
	if nrtd == "" || machines == "" {
		t.Skip("NRTD and MACHINES are not set")
	}
	for _, name := range []string{"2s-smt2-split", "2s-snc4", "ccx", "asymmetric", "hugepages"} {
		dir := filepath.Join(machines, name)
		want, err := MachineInfo(dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command(nrtd, "dump", "--sysroot", dir, "--node-name", "x", "--what", "machine", "-o", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "machine.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := MachineInfoFromDump(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.MemoryCapacity != want.MemoryCapacity || got.NumCores != want.NumCores {
			t.Errorf("%s: %d CPUs and %d bytes, want %d and %d", name, got.NumCores, got.MemoryCapacity, want.NumCores, want.MemoryCapacity)
		}
		for _, info := range []*cadvisorapi.MachineInfo{got, want} {
			if info.NumSockets == 0 || len(info.Topology) == 0 {
				t.Errorf("%s: nothing read", name)
			}
		}
		a, err := topology.Discover(klog.Background(), got)
		if err != nil {
			t.Fatal(err)
		}
		b, err := topology.Discover(klog.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the CPU manager's topology is %v, want %v", name, a, b)
		}
		for i := range want.Topology {
			g, w := got.Topology[i], want.Topology[i]
			if g.Id != w.Id || g.Memory != w.Memory || !reflect.DeepEqual(g.Distances, w.Distances) {
				t.Errorf("%s: node %d differs", name, w.Id)
			}
		}
	}
}
