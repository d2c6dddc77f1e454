// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
	"nrtd.dev/tests/upstream/internal/managers"
)

// Machine is a folder with a machine's /sys, and what the kubelet's code reads there.
type Machine struct {
	Dir  string
	Info *cadvisorapi.MachineInfo
	numa bool // its kernel knows of NUMA
}

func (m *Machine) nodes() int { return len(m.Info.Topology) }
func (m *Machine) cpus() int  { return m.Info.NumCores }

func (m *Machine) nodeIDs() []int {
	var ids []int
	for _, node := range m.Info.Topology {
		ids = append(ids, node.Id)
	}
	return ids
}

func (m *Machine) cpuIDs() []int {
	var ids []int
	for _, node := range m.Info.Topology {
		for _, core := range node.Cores {
			ids = append(ids, core.Threads...)
		}
	}
	return ids
}

// Machines reads every machine below folder. Those that the kubelet cannot make out (old records lack files that every
// kernel of today has) are returned with the reason.
func Machines(folder string) (map[string]*Machine, map[string]error, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "sys"))
	if err != nil {
		return nil, nil, err
	}
	machines, refused := map[string]*Machine{}, map[string]error{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		info, err := managers.MachineInfo(dir)
		if err == nil && (info.NumCores == 0 || len(info.Topology) == 0 || info.MemoryCapacity == 0) {
			err = fmt.Errorf("the record has no CPU, no NUMA node or no memory")
		}
		if err != nil {
			refused[filepath.Base(dir)] = err
			continue
		}
		machines[filepath.Base(dir)] = &Machine{Dir: dir, Info: info, numa: hasNUMA(dir)}
	}
	if len(machines) == 0 {
		return nil, refused, fmt.Errorf("no machine in %s", folder)
	}
	return machines, refused, nil
}

func hasNUMA(dir string) bool {
	nodes, err := filepath.Glob(filepath.Join(dir, "sys/devices/system/node/node[0-9]*"))
	return err == nil && len(nodes) > 0
}

// Known reads the list of machines that are known to differ: name, tab, reason.
func Known(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, reason, found := strings.Cut(line, "\t"); found && !strings.HasPrefix(line, "#") {
			known[name] = reason
		}
	}
	return known, nil
}

// EqualMachines returns those machines that suit a test and that nrtd and the kubelet see alike.
func EqualMachines(ctx context.Context, nrtd *Nrtd, machines map[string]*Machine, suits func(*Machine) bool) (map[string]*Machine, error) {
	equal := map[string]*Machine{}
	for name, machine := range machines {
		if !suits(machine) {
			continue
		}
		differences, err := CompareMachine(ctx, nrtd, machine)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", name, err)
		}
		if len(differences) == 0 {
			equal[name] = machine
		}
	}
	if len(equal) == 0 {
		return nil, fmt.Errorf("none of %d machines suits", len(machines))
	}
	return equal, nil
}

// nrtdMachine is what `nrtd dump --what machine -o json` prints, as far as the kubelet knows the same.
type nrtdMachine struct {
	CPUs []struct {
		ID, Core                      int
		Socket, NUMANode, UncoreCache *int // null: none
	}
	NUMANodes []struct {
		ID          int
		MemoryBytes *uint64
		Hugepages   []struct {
			PageBytes, Pages uint64
		}
	}
	Distances [][]*uint64
}

// CompareMachine returns where nrtd and the kubelet see a machine differently.
func CompareMachine(ctx context.Context, nrtd *Nrtd, m *Machine) ([]string, error) {
	text, err := nrtd.run(ctx, "dump", "--sysroot", m.Dir, "--what", "machine", "-o", "json")
	if err != nil {
		return nil, err
	}
	var got nrtdMachine
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("nrtd dump printed %.100q: %w", text, err)
	}
	want, err := managers.Discover(m.Info)
	if err != nil {
		return nil, err
	}
	var differences []string
	differ := func(format string, values ...any) { differences = append(differences, fmt.Sprintf(format, values...)) }
	id := func(told *int) int {
		if told == nil {
			return -1
		}
		return *told
	}
	counted := 0
	for _, cpu := range got.CPUs {
		real, known := want.CPUDetails[cpu.ID]
		if cpu.NUMANode == nil && !known {
			continue // nrtd shows it, and neither counts it
		}
		counted++
		if seen := (topology.CPUInfo{NUMANodeID: id(cpu.NUMANode), SocketID: id(cpu.Socket), CoreID: cpu.Core, UncoreCacheID: id(cpu.UncoreCache)}); !known || seen != real {
			differ("CPU %d: kubelet %+v (known %t), nrtd %+v", cpu.ID, real, known, seen)
		}
	}
	if counted != want.NumCPUs {
		differ("the kubelet counts %d CPUs, nrtd %d", want.NumCPUs, counted)
	}
	if len(got.NUMANodes) != len(m.Info.Topology) {
		differ("%d NUMA nodes for the kubelet, %d for nrtd", len(m.Info.Topology), len(got.NUMANodes))
		return differences, nil
	}
	byID := map[int]cadvisorapi.Node{}
	for _, node := range m.Info.Topology {
		byID[node.Id] = node
	}
	for i, node := range got.NUMANodes {
		real, known := byID[node.ID]
		if !known {
			differ("NUMA node %d: only nrtd sees it", node.ID)
			continue
		}
		if !m.numa {
			continue // without NUMA in the kernel the kubelet knows no node's memory; nrtd gives the machine's
		}
		if node.MemoryBytes != nil && *node.MemoryBytes != real.Memory {
			differ("NUMA node %d: memory %d for the kubelet, %d for nrtd", node.ID, real.Memory, *node.MemoryBytes)
		}
		pools := map[uint64]uint64{}
		for _, pool := range real.HugePages {
			pools[pool.PageSize<<10] = pool.NumPages
		}
		for _, pool := range node.Hugepages {
			if pools[pool.PageBytes] != pool.Pages {
				differ("NUMA node %d: %d pages of %d for the kubelet, %d for nrtd", node.ID, pools[pool.PageBytes], pool.PageBytes, pool.Pages)
			}
		}
		for j := range real.Distances {
			if len(got.Distances) != len(got.NUMANodes) || len(real.Distances) != len(got.NUMANodes) {
				break // nothing that could be compared one by one
			}
			if distance := got.Distances[i][j]; distance != nil && real.Distances[j] != *distance {
				differ("distance %d-%d: %d for the kubelet, %d for nrtd", i, j, real.Distances[j], *distance)
			}
		}
	}
	return differences, nil
}
