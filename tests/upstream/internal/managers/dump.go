// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// dumped is what `nrtd dump --what machine -o json` prints.
type dumped struct {
	CPUs []struct {
		ID          int  `json:"id"`
		Core        int  `json:"core"`
		Socket      *int `json:"socket"`
		NUMANode    *int `json:"numaNode"`
		UncoreCache int  `json:"uncoreCache"`
	} `json:"cpus"`
	MemoryBytes uint64 `json:"memoryBytes"`
	NUMANodes   []struct {
		ID          int    `json:"id"`
		MemoryBytes uint64 `json:"memoryBytes"`
		Hugepages   []struct {
			PageBytes uint64 `json:"pageBytes"`
			Pages     uint64 `json:"pages"`
		} `json:"hugepages"`
	} `json:"numaNodes"`
	Distances [][]uint64 `json:"distances"`
}

// MachineInfoFromDump is the machine that nrtd described, as the kubelet would know it.
func MachineInfoFromDump(path string) (*cadvisorapi.MachineInfo, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d dumped
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	info := &cadvisorapi.MachineInfo{NumCores: len(d.CPUs), MemoryCapacity: d.MemoryBytes}
	pages := map[uint64]uint64{}
	for i, n := range d.NUMANodes {
		node := cadvisorapi.Node{Id: n.ID, Memory: n.MemoryBytes}
		if i < len(d.Distances) {
			node.Distances = d.Distances[i]
		}
		for _, pool := range n.Hugepages {
			node.HugePages = append(node.HugePages, cadvisorapi.HugePagesInfo{PageSize: pool.PageBytes >> 10, NumPages: pool.Pages})
			pages[pool.PageBytes>>10] += pool.Pages
		}
		info.Topology = append(info.Topology, node)
	}
	sockets := map[int]bool{}
	for _, cpu := range d.CPUs {
		if cpu.Socket == nil || cpu.NUMANode == nil {
			return nil, fmt.Errorf("%s: CPU %d is in no socket or no NUMA node", path, cpu.ID)
		}
		at := slices.IndexFunc(info.Topology, func(n cadvisorapi.Node) bool { return n.Id == *cpu.NUMANode })
		if at < 0 {
			return nil, fmt.Errorf("%s: CPU %d is in NUMA node %d, which is not there", path, cpu.ID, *cpu.NUMANode)
		}
		node := &info.Topology[at]
		core := slices.IndexFunc(node.Cores, func(c cadvisorapi.Core) bool { return c.Id == cpu.Core })
		if core < 0 {
			core = len(node.Cores)
			node.Cores = append(node.Cores, cadvisorapi.Core{Id: cpu.Core, SocketID: *cpu.Socket,
				UncoreCaches: []cadvisorapi.Cache{{Id: cpu.UncoreCache, Type: "Unified", Level: 3}}})
			info.NumPhysicalCores++
		}
		node.Cores[core].Threads = append(node.Cores[core].Threads, cpu.ID)
		sockets[*cpu.Socket] = true
	}
	info.NumSockets = len(sockets)
	for size, count := range pages {
		info.HugePages = append(info.HugePages, cadvisorapi.HugePagesInfo{PageSize: size, NumPages: count})
	}
	return info, nil
}
