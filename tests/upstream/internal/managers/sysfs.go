// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// recorded is cadvisor's view of sysfs, redirected below a folder: the real one has its paths fixed.
type recorded struct {
	cadvisorapi.SysFs
	root string
}

func (r recorded) cpus() string { return r.root + "/sys/devices/system/cpu" }

func (r recorded) GetNodesPaths() ([]string, error) {
	return filepath.Glob(r.root + "/sys/devices/system/node/node*[0-9]")
}

func (r recorded) GetCPUsPaths(path string) ([]string, error) {
	if !strings.HasPrefix(path, r.root) {
		path = r.root + path
	}
	paths, err := r.SysFs.GetCPUsPaths(path)
	if err != nil || len(paths) > 0 || path == r.cpus() {
		return paths, err
	}
	return r.linked(path), nil
}

// linked makes up the links nodeN/cpuM, which every kernel has and records of a machine often lack.
func (r recorded) linked(node string) []string {
	var ids []int
	if text, err := os.ReadFile(node + "/cpulist"); err == nil {
		list, err := cpuset.Parse(strings.Trim(string(text), "\x00\n "))
		if err != nil {
			return nil
		}
		ids = list.List()
	} else if text, err := os.ReadFile(node + "/cpumap"); err == nil {
		ids = maskBits(string(text))
	}
	var paths []string
	for _, id := range ids {
		path := fmt.Sprintf("%s/cpu%d", r.cpus(), id)
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// maskBits are the bits of a mask as the kernel prints it: hexadecimal, the highest first, with commas.
func maskBits(text string) []int {
	digits := strings.ReplaceAll(strings.Trim(text, "\x00\n "), ",", "")
	mask, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		return nil
	}
	var bits []int
	for i := range mask.BitLen() {
		if mask.Bit(i) == 1 {
			bits = append(bits, i)
		}
	}
	return bits
}

func (r recorded) IsCPUOnline(path string) bool {
	text, err := os.ReadFile(r.cpus() + "/online")
	if err != nil {
		return true // without hot-plug every CPU is online
	}
	var id int
	if _, err := fmt.Sscanf(filepath.Base(path), "cpu%d", &id); err != nil {
		return false
	}
	online, err := cpuset.Parse(strings.Trim(string(text), "\x00\n "))
	return err == nil && online.Contains(id)
}

func (r recorded) GetCaches(cpu int) ([]os.FileInfo, error) {
	entries, err := os.ReadDir(fmt.Sprintf("%s/cpu%d/cache", r.cpus(), cpu))
	if err != nil {
		return nil, err
	}
	var infos []os.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// GetCacheInfo reads what the kubelet uses of a cache; like the real one it fails where the cache has no id.
func (r recorded) GetCacheInfo(cpu int, name string) (cadvisorapi.CacheInfo, error) {
	info := cadvisorapi.CacheInfo{}
	for file, value := range map[string]*int{"id": &info.Id, "level": &info.Level} {
		text, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/cache/%s/%s", r.cpus(), cpu, name, file))
		if err != nil {
			return cadvisorapi.CacheInfo{}, err
		}
		if _, err := fmt.Sscanf(string(text), "%d", value); err != nil {
			return cadvisorapi.CacheInfo{}, err
		}
	}
	text, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/cache/%s/type", r.cpus(), cpu, name))
	info.Type = strings.TrimSpace(string(text))
	if err != nil {
		return cadvisorapi.CacheInfo{}, err
	}
	shared, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/cache/%s/shared_cpu_map", r.cpus(), cpu, name))
	if err != nil {
		return cadvisorapi.CacheInfo{}, err
	}
	info.Cpus = len(maskBits(string(shared)))
	return info, nil
}

// MachineInfo is what the kubelet knows of the machine whose /sys is below root ("" is this machine), as its own
// library, cadvisor, reads it.
func MachineInfo(root string) (*cadvisorapi.MachineInfo, error) {
	fs := recorded{cadvisorapi.NewRealSysFs(), root}
	nodes, cpus, err := cadvisorapi.GetNodesInfo(fs)
	if err != nil {
		return nil, fmt.Errorf("%s/sys: %w", root, err)
	}
	info := &cadvisorapi.MachineInfo{NumCores: cpus, Topology: nodes}
	sockets, pages := map[int]bool{}, map[uint64]uint64{}
	for _, node := range nodes {
		info.NumPhysicalCores += len(node.Cores)
		info.MemoryCapacity += node.Memory
		for _, core := range node.Cores {
			sockets[core.SocketID] = true
		}
		for _, pool := range node.HugePages {
			pages[pool.PageSize] += pool.NumPages
		}
	}
	info.NumSockets = len(sockets)
	if total, err := totalMemory(root); err == nil {
		info.MemoryCapacity = total
	}
	if numa, err := fs.GetNodesPaths(); err == nil && len(numa) == 0 { // else records of machines seldom have the sum
		if info.HugePages, err = cadvisorapi.GetHugePagesInfo(fs, root+"/sys/kernel/mm/hugepages/"); err != nil {
			return nil, fmt.Errorf("%s/sys: %w", root, err)
		}
	}
	for size, count := range pages {
		info.HugePages = append(info.HugePages, cadvisorapi.HugePagesInfo{PageSize: size, NumPages: count})
	}
	return info, nil
}

// totalMemory is MemTotal of the machine's /proc/meminfo; a record of /sys alone has none, and the sum of the NUMA
// nodes then stands for it.
func totalMemory(root string) (uint64, error) {
	text, err := os.ReadFile(root + "/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var kilobytes uint64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kilobytes)
	return kilobytes << 10, err
}
