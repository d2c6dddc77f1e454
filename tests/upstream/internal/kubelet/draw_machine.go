// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nrtd.dev/tests/upstream/internal/managers"
)

// drawnName is the name of a machine that a case brings with it.
const drawnName = "drawn"

// Maker makes machines from specs, as tests/fixtures/machines/make.sh describes them. It keeps the last one.
type Maker struct {
	Program string // make.awk
	Dir     string
	Nrtd    *Nrtd
	spec    string
	machine *Machine
	differs []string
}

// Machine is the machine of a spec, and where nrtd and the kubelet see it differently.
func (k *Maker) Machine(ctx context.Context, spec string) (*Machine, []string, error) {
	if k.machine != nil && k.spec == spec {
		return k.machine, k.differs, nil
	}
	k.machine = nil
	dir := filepath.Join(k.Dir, drawnName)
	if err := os.RemoveAll(dir); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	path := dir + ".spec"
	if err := os.WriteFile(path, []byte(spec), 0o644); err != nil {
		return nil, nil, err
	}
	if said, err := exec.CommandContext(ctx, "awk", "-v", "out="+dir, "-f", k.Program, path).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %s", k.Program, err, said)
	}
	info, err := managers.MachineInfo(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("drawn machine: %w\n%s", err, spec)
	}
	machine := &Machine{Dir: dir, Info: info, numa: true}
	differs, err := CompareMachine(ctx, k.Nrtd, machine)
	if err != nil {
		return nil, nil, err
	}
	k.machine, k.spec, k.differs = machine, spec, differs
	return machine, differs, nil
}

// drawnCore is a core of a drawn machine.
type drawnCore struct {
	node int
	cpus []int
}

// numbered gives CPUs to cores of these numbers of threads: core by core, or the first threads of all cores first.
func numbered(r *rand.Rand, cores []drawnCore, threads []int) {
	next := 0
	if chance(r, 65) {
		for i := range cores {
			for range threads[i] {
				cores[i].cpus = append(cores[i].cpus, next)
				next++
			}
		}
		return
	}
	for thread := range slices.Max(threads) {
		for i := range cores {
			if thread < threads[i] {
				cores[i].cpus = append(cores[i].cpus, next)
				next++
			}
		}
	}
}

// RandomSpec draws a machine with up to 8 NUMA nodes and 64 CPUs: regular or hybrid cores, some CPUs offline, L3 caches of a
// NUMA node, of a part of one, of several, or of different sizes, any distances, and NUMA node ids with holes if the caller wants
// them. A regular machine has equal NUMA nodes of cores with two threads, all online.
func RandomSpec(r *rand.Rand, holes, regular bool) string {
	sockets := pick(r, 1, 1, 2, 2, 4)
	perSocket := pick(r, 1, 1, 2, 2, 3, 4)
	nodes := min(sockets*perSocket, 8)
	sockets = (nodes + perSocket - 1) / perSocket
	cores, threads := randomCores(r, nodes, regular)
	numbered(r, cores, threads)
	var spec []string
	add := func(format string, values ...any) { spec = append(spec, fmt.Sprintf(format, values...)) }
	ids := randomNodeIDs(r, nodes, holes)
	inNode, inSocket := make([][]int, nodes), make([][]int, sockets)
	for _, core := range cores {
		add("core %s", listOf(core.cpus))
		inNode[core.node] = append(inNode[core.node], core.cpus...)
		inSocket[core.node/perSocket] = append(inSocket[core.node/perSocket], core.cpus...)
	}
	for i, cpus := range inNode {
		add("node %d %d %s", ids[i], pick(r, 2, 4, 4, 8)<<20, listOf(cpus))
	}
	for i, cpus := range inSocket {
		add("socket %d %s", i, listOf(cpus))
	}
	for _, cache := range randomCaches(r, cores, perSocket) {
		add("cache %s", listOf(cache))
	}
	if chance(r, 50) {
		add("pool 2048 %d", pick(r, 64, 256, 512))
	}
	if chance(r, 15) {
		add("pool 1048576 1 %d", pick(r, ids...))
	}
	if chance(r, 75) {
		add("distance 10 %d %d", pick(r, 11, 12, 20), pick(r, 20, 21, 32))
	} else {
		for i := range nodes {
			row := make([]string, nodes)
			for j := range row {
				row[j] = fmt.Sprint(pick(r, 11, 12, 20, 21, 32))
			}
			row[i] = "10"
			add("row %d %s", ids[i], strings.Join(row, " "))
		}
	}
	if total := len(slices.Concat(inNode...)); !regular && chance(r, 30) && total > 2 {
		for range 1 + r.IntN(3) {
			add("offline %d", 1+r.IntN(total-1)) // CPU 0 stays
		}
	}
	return strings.Join(spec, "\n") + "\n"
}

// randomCores draws the cores of every NUMA node, and how many threads each has.
func randomCores(r *rand.Rand, nodes int, regular bool) (cores []drawnCore, threads []int) {
	most := max(2, 32/nodes)
	each := 1 + r.IntN(min(most, 8))
	same := pick(r, 1, 2, 2, 2)
	hybrid, uneven := chance(r, 40), chance(r, 20)
	if regular {
		same, hybrid, uneven = 2, false, false
	}
	for node := range nodes {
		if uneven {
			each = 1 + r.IntN(min(most, 8))
		}
		split := r.IntN(each + 1) // the first cores have two threads, the others one; or the other way round
		turned := chance(r, 30)
		for i := range each {
			n := same
			if hybrid {
				n = 1
				if (i < split) != turned {
					n = 2
				}
			}
			cores = append(cores, drawnCore{node: node})
			threads = append(threads, n)
		}
	}
	return cores, threads
}

// randomNodeIDs draws increasing ids.
func randomNodeIDs(r *rand.Rand, nodes int, holes bool) []int {
	var ids []int
	for id := 0; len(ids) < nodes; id++ {
		if holes && len(ids) > 0 && chance(r, 50) {
			id += pick(r, 1, 3, 7)
		}
		ids = append(ids, id)
	}
	return ids
}

// randomCaches draws which CPUs share an L3 cache: cores that follow each other, of one NUMA node or of one socket.
func randomCaches(r *rand.Rand, cores []drawnCore, perSocket int) (caches [][]int) {
	if chance(r, 15) {
		return nil
	}
	width := pick(r, 1, 1, perSocket) // how many NUMA nodes a cache may be of
	kind := pick(r, "whole", "equal", "uneven", "uneven")
	equal := 1 + r.IntN(4)
	left, last := 0, -1
	for _, core := range cores {
		if group := core.node / width; group != last || left == 0 {
			last = group
			caches = append(caches, nil)
			switch kind {
			case "whole":
				left = len(cores)
			case "equal":
				left = equal
			case "uneven":
				left = 1 + r.IntN(6)
			}
		}
		at := len(caches) - 1
		caches[at] = append(caches[at], core.cpus...)
		left--
	}
	return caches
}

func listOf(ids []int) string {
	var texts []string
	for _, id := range slices.Sorted(slices.Values(ids)) {
		texts = append(texts, fmt.Sprint(id))
	}
	return strings.Join(texts, ",")
}

// simplerSpecs lists specs with a line less of those that a machine can do without.
func simplerSpecs(spec string) (simpler []string) {
	lines := strings.Split(strings.TrimSuffix(spec, "\n"), "\n")
	for i, line := range lines {
		switch statement, _, _ := strings.Cut(line, " "); statement {
		case "core", "cache", "offline", "pool":
			simpler = append(simpler, strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\n")+"\n")
		}
	}
	return simpler
}
