// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"fmt"
	"math/rand/v2"

	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// cpu says where one CPU is; all are indexes that are unique on the whole machine.
type cpu struct{ core, l3, numa, socket int }

// machine is a random machine: CPUs by id, distances between its NUMA nodes.
type machine struct {
	name      string
	cpus      []cpu
	nodes     int
	sockets   int
	distances [][]uint64
}

// shape is what machines are drawn from.
type shape struct {
	name                              string
	sockets, numa, l3, cores, threads []int // per machine, socket, NUMA node, L3 cache, core
	maxCPUs                           int
	uneven                            bool // some cores lack threads, some L3 caches lack cores
}

var shapes = map[string]shape{
	"regular": {name: "regular", sockets: []int{1, 2, 4}, numa: []int{1, 2, 4}, l3: []int{1, 2, 4},
		cores: []int{1, 2, 3, 4}, threads: []int{1, 2, 4}, maxCPUs: 256},
	"large": {name: "large", sockets: []int{1, 2, 2, 4, 8}, numa: []int{1, 2, 4, 8}, l3: []int{1, 2, 4, 8, 12},
		cores: []int{4, 7, 8, 16, 24}, threads: []int{1, 2, 2}, maxCPUs: 1024},
	"uneven": {name: "uneven", sockets: []int{1, 2, 4}, numa: []int{1, 2, 4}, l3: []int{1, 2, 3},
		cores: []int{2, 3, 4, 6}, threads: []int{1, 2, 2, 4}, maxCPUs: 192, uneven: true},
}

// ShapeNames lists the shapes a generator takes.
func ShapeNames() []string { return []string{"regular", "large", "uneven"} }

func pick[T any](r *rand.Rand, list []T) T  { return list[r.IntN(len(list))] }
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// distanceValues are the SLIT values machines report.
var distanceValues = []uint64{11, 12, 16, 20, 21, 32}

// randomMachine draws a machine with at most eight NUMA nodes, the most the kubelet starts with by default.
func randomMachine(r *rand.Rand, s shape) *machine {
	for {
		sockets, numa, l3 := pick(r, s.sockets), pick(r, s.numa), pick(r, s.l3)
		cores, threads := pick(r, s.cores), pick(r, s.threads)
		if sockets*numa > 8 || sockets*numa*l3*cores*threads > s.maxCPUs {
			continue
		}
		adjacent, roundRobin := chance(r, 50), chance(r, 50)
		m := &machine{nodes: sockets * numa, sockets: sockets}
		m.name = fmt.Sprintf("%ds%dn%dl%dc%dt-adj%t-rr%t", sockets, numa, l3, cores, threads, adjacent, roundRobin)
		kept := placeCores(r, s, m.nodes*l3, cores, threads)
		m.cpus = number(kept, numa, l3, adjacent, roundRobin)
		if s.uneven {
			m.name = fmt.Sprintf("%s-uneven%08x", m.name, r.Uint32())
		}
		m.distances = randomDistances(r, m.nodes)
		return m
	}
}

// placeCores says how many threads each core of each L3 cache has. Uneven machines have lost threads (switched off)
// and cores (sold with fewer), but every L3 cache keeps a core.
func placeCores(r *rand.Rand, s shape, caches, cores, threads int) [][]int {
	kept := make([][]int, caches)
	hybrid := s.uneven && chance(r, 30) // whole caches of single-thread cores
	for i := range kept {
		small := hybrid && chance(r, 50)
		for c := range cores {
			t := threads
			switch {
			case small:
				t = 1
			case s.uneven && chance(r, 15):
				t = 1 + r.IntN(threads)
			case s.uneven && c > 0 && chance(r, 10):
				continue
			}
			kept[i] = append(kept[i], t)
		}
	}
	return kept
}

// number gives the CPUs their ids: threads of a core side by side or all first threads before all second ones, cores
// node by node or dealt round robin over the nodes, as firmware does.
func number(kept [][]int, numa, l3 int, adjacent, roundRobin bool) []cpu {
	type core struct {
		cpu, threads int
		at           cpu
	}
	var cores []core
	perNode := make([][]core, len(kept)/l3)
	for cache, threads := range kept {
		node := cache / l3
		for _, t := range threads {
			perNode[node] = append(perNode[node], core{threads: t, at: cpu{l3: cache, numa: node, socket: node / numa}})
		}
	}
	for i := 0; ; i++ {
		before := len(cores)
		for _, list := range perNode {
			if !roundRobin && i == 0 {
				cores = append(cores, list...)
			} else if roundRobin && i < len(list) {
				cores = append(cores, list[i])
			}
		}
		if len(cores) == before {
			break
		}
	}
	var cpus []cpu
	add := func(index int) {
		at := cores[index].at
		at.core = index
		cpus = append(cpus, at)
	}
	if adjacent {
		for i, c := range cores {
			for range c.threads {
				add(i)
			}
		}
		return cpus
	}
	for t := 0; ; t++ {
		before := len(cpus)
		for i, c := range cores {
			if t < c.threads {
				add(i)
			}
		}
		if len(cpus) == before {
			return cpus
		}
	}
}

// randomDistances draws a symmetric matrix, now and then an asymmetric one.
func randomDistances(r *rand.Rand, n int) [][]uint64 {
	d := make([][]uint64, n)
	for i := range d {
		d[i] = make([]uint64, n)
		d[i][i] = 10
	}
	asymmetric := chance(r, 10)
	for i := range d {
		for j := range i {
			d[i][j] = pick(r, distanceValues)
			d[j][i] = d[i][j]
			if asymmetric {
				d[j][i] = pick(r, distanceValues)
			}
		}
	}
	return d
}

// info is the machine as cadvisor would tell the kubelet.
func (m *machine) info() *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{NumCores: len(m.cpus), NumSockets: m.sockets}
	for n := range m.nodes {
		node := cadvisorapi.Node{Id: n, Distances: m.distances[n]}
		index := map[int]int{}
		for id, c := range m.cpus {
			if c.numa != n {
				continue
			}
			i, known := index[c.core]
			if !known {
				i = len(node.Cores)
				index[c.core] = i
				node.Cores = append(node.Cores, cadvisorapi.Core{Id: c.core, SocketID: c.socket,
					UncoreCaches: []cadvisorapi.Cache{{Id: c.l3, Level: 3}}})
			}
			node.Cores[i].Threads = append(node.Cores[i].Threads, id)
		}
		info.Topology = append(info.Topology, node)
	}
	return info
}

// arrays is the machine in the vectors' format: for each property, its value by CPU id.
func (m *machine) arrays() map[string][]int {
	a := map[string][]int{}
	for _, c := range m.cpus {
		a["core"] = append(a["core"], c.core)
		a["l3"] = append(a["l3"], c.l3)
		a["numa"] = append(a["numa"], c.numa)
		a["socket"] = append(a["socket"], c.socket)
	}
	return a
}
