// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/google/cadvisor/utils/sysinfo"
)

// recorded is cadvisor's view of sysfs, redirected below a folder: the real one has its paths fixed.
type recorded struct {
	sysfs.SysFs
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
	return r.SysFs.GetCPUsPaths(path)
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
	for _, part := range strings.Split(strings.Trim(string(text), "\x00\n "), ",") {
		var first, last int
		switch n, _ := fmt.Sscanf(part, "%d-%d", &first, &last); n {
		case 1:
			last = first
		case 0:
			continue
		}
		if first <= id && id <= last {
			return true
		}
	}
	return false
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
func (r recorded) GetCacheInfo(cpu int, name string) (sysfs.CacheInfo, error) {
	info := sysfs.CacheInfo{}
	for file, value := range map[string]*int{"id": &info.Id, "level": &info.Level} {
		text, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/cache/%s/%s", r.cpus(), cpu, name, file))
		if err != nil {
			return sysfs.CacheInfo{}, err
		}
		if _, err := fmt.Sscanf(string(text), "%d", value); err != nil {
			return sysfs.CacheInfo{}, err
		}
	}
	text, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/cache/%s/type", r.cpus(), cpu, name))
	info.Type = strings.TrimSpace(string(text))
	if err != nil {
		return sysfs.CacheInfo{}, err
	}
	shared, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/cache/%s/shared_cpu_map", r.cpus(), cpu, name))
	if err != nil {
		return sysfs.CacheInfo{}, err
	}
	for _, digit := range string(shared) {
		var bits int
		if _, err := fmt.Sscanf(string(digit), "%x", &bits); err == nil {
			for ; bits != 0; bits &= bits - 1 {
				info.Cpus++
			}
		}
	}
	return info, nil
}

// MachineInfo is what the kubelet knows of the machine whose /sys is below root ("" is this machine), as its own
// library, cadvisor, reads it.
func MachineInfo(root string) (*cadvisorapi.MachineInfo, error) {
	nodes, cpus, err := sysinfo.GetNodesInfo(recorded{sysfs.NewRealSysFs(), root})
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
	for size, count := range pages {
		info.HugePages = append(info.HugePages, cadvisorapi.HugePagesInfo{PageSize: size, NumPages: count})
	}
	return info, nil
}
