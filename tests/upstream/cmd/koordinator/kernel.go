// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// groups has for each CPU the CPUs that are in one core or socket with it.
type groups map[int]string

// group puts the CPUs with the same key together.
func group(keys map[int]string) groups {
	sets, out := map[string]cpuset.CPUSet{}, groups{}
	for cpu, key := range keys {
		sets[key] = sets[key].Union(cpuset.New(cpu))
	}
	for cpu, key := range keys {
		out[cpu] = sets[key].String()
	}
	return out
}

// kernel is what the kernel says of the CPUs that are in NUMA nodes: cores by their names, which is what the kubelet goes by,
// and by thread siblings, which is what lscpu goes by.
type kernel struct{ names, siblings, packages groups }

func readKernel(root string, zones []daemon.Zone) (*kernel, error) {
	names, siblings, packages := map[int]string{}, map[int]string{}, map[int]string{}
	for _, cpu := range daemon.All(zones).List() {
		texts := map[string]string{}
		for _, file := range []string{"physical_package_id", "core_id", "thread_siblings"} {
			read, err := os.ReadFile(filepath.Join(root, "sys/devices/system/cpu", fmt.Sprintf("cpu%d", cpu), "topology", file))
			if err != nil {
				return nil, fmt.Errorf("cpu%d has no %s", cpu, file)
			}
			texts[file] = strings.Trim(string(read), " \n\x00") // recorded files may end with a NUL
		}
		mask, ok := new(big.Int).SetString(strings.ReplaceAll(texts["thread_siblings"], ",", ""), 16)
		if !ok {
			return nil, fmt.Errorf("cpu%d: thread_siblings is '%s'", cpu, texts["thread_siblings"])
		}
		packages[cpu] = texts["physical_package_id"]
		names[cpu] = packages[cpu] + " " + texts["core_id"]
		siblings[cpu] = mask.String()
	}
	return &kernel{group(names), group(siblings), group(packages)}, nil
}

// unlike says why koordlet's CPUs are not the machine's.
func (k *kernel) unlike(annotation string) (string, error) {
	var topology struct {
		Detail []struct{ ID, Core, Socket int }
	}
	if err := json.Unmarshal([]byte(annotation), &topology); err != nil {
		return "", err
	}
	cores, sockets := map[int]string{}, map[int]string{}
	for _, cpu := range topology.Detail {
		sockets[cpu.ID] = fmt.Sprint(cpu.Socket)
		cores[cpu.ID] = fmt.Sprint(cpu.Socket, cpu.Core)
	}
	switch {
	case len(cores) != len(k.names):
		return "koordlet counts CPUs that are in no NUMA node, and for the kubelet there are none", nil
	case !maps.Equal(group(sockets), k.packages):
		return "lscpu has other sockets, because the kernel's core_siblings contradict its physical_package_id", nil
	case !maps.Equal(group(cores), k.siblings):
		return "koordlet takes CPUs of several types for one core, because lscpu counts the cores of each type from 0", nil
	}
	return "", nil
}
