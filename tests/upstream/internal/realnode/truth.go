// SPDX-License-Identifier: Apache-2.0

// Package realnode holds the object that nrtd publishes for a machine with a real kubelet against the cgroups of the
// containers that run there. It runs on that machine, and nothing that it compares comes from nrtd or from the kubelet's
// state files.
package realnode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"
)

// Container is one container of a pod: what its cgroup has, and what its own environment says that it asked for.
type Container struct {
	Pod, Name string
	slice     string        // the pod's cgroup
	CPUs      cpuset.CPUSet // its exclusive CPUs, none where it has the shared pool
	Memory    cpuset.CPUSet // the NUMA nodes that its memory is bound to
	Bytes     map[string]int64
	Devices   []string
	Init      bool // one that ends before the next container starts
	exclusive bool
	running   bool
}

// Variables of a container's environment: its names and what of its request is exclusive.
const (
	envPod     = "NODE_TEST_POD"
	envName    = "NODE_TEST_CONTAINER"
	envCPUs    = "NODE_TEST_EXCLUSIVE_CPUS"
	envBytes   = "NODE_TEST_BYTES_" // and memory or hugepages-2Mi
	envInit    = "NODE_TEST_INIT"
	envDevices = "NODE_TEST_DEVICES" // the device plugin's, not the pod's
)

// Cgroups reads the containers that run, and remembers those that have ended in pods that are still there.
type Cgroups struct {
	root  string
	known map[string]*Container // by the container's cgroup
}

// NewCgroups reads below the folder where version 2 of cgroups is mounted.
func NewCgroups(root string) *Cgroups {
	return &Cgroups{root: root, known: map[string]*Container{}}
}

// Read returns the containers whose processes run, and with them those that have ended in pods whose cgroup is still there:
// what one of these had is its pod's until the pod ends.
func (c *Cgroups) Read() (running, held []Container) {
	pods := map[string]bool{}
	last := map[string]*Container{}
	for _, class := range []string{"", "kubepods-burstable.slice", "kubepods-besteffort.slice"} {
		slices, _ := filepath.Glob(filepath.Join(c.root, "kubepods.slice", class, "kubepods*-pod*.slice"))
		for _, slice := range slices {
			pods[slice] = true
			scopes, _ := filepath.Glob(filepath.Join(slice, "cri-containerd-*.scope"))
			for _, scope := range scopes {
				c.look(slice, scope)
			}
		}
	}
	for scope, container := range c.known {
		if !pods[container.slice] {
			delete(c.known, scope)
			continue
		}
		container.running = processOf(scope) != ""
		if container.running {
			running = append(running, *container)
		}
		// A container that was started again has a cgroup of its own; the one that runs counts.
		key := container.slice + " " + container.Name
		if last[key] == nil || container.running {
			last[key] = container
		}
	}
	for _, container := range last {
		one := *container
		// The memory manager takes an init container's memory back when the next container starts; the CPU manager does not.
		if one.Init && !one.running {
			one.Bytes = nil
		}
		held = append(held, one)
	}
	return running, held
}

// look reads one cgroup, unless it is the one of a pod's sandbox.
func (c *Cgroups) look(slice, scope string) {
	process := processOf(scope)
	if process == "" {
		return
	}
	container := c.known[scope]
	if container == nil {
		environment := environmentOf(process, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(scope), "cri-containerd-"), ".scope"))
		if environment[envPod] == "" {
			return
		}
		container = &Container{Pod: environment[envPod], Name: environment[envName], slice: slice, Bytes: map[string]int64{}}
		for _, kind := range []string{"memory", "hugepages-2Mi"} {
			container.Bytes[kind], _ = strconv.ParseInt(environment[envBytes+kind], 10, 64)
		}
		if environment[envDevices] != "" {
			container.Devices = strings.Split(environment[envDevices], ",")
		}
		container.exclusive = environment[envCPUs] != "0"
		container.Init = environment[envInit] != ""
		c.known[scope] = container
	}
	// A cgroup that is just made, or goes, has none.
	if cpus := readSet(filepath.Join(scope, "cpuset.cpus")); container.exclusive && !cpus.IsEmpty() {
		container.CPUs = cpus
	}
	if mems := readSet(filepath.Join(scope, "cpuset.mems")); !mems.IsEmpty() {
		container.Memory = mems
	}
}

// processOf is a process of the cgroup, "" when it has none or is gone.
func processOf(scope string) string {
	text, _ := os.ReadFile(filepath.Join(scope, "cgroup.procs"))
	process, _, _ := strings.Cut(string(text), "\n")
	return process
}

// environmentOf is the environment of the process; before the runtime has turned into the container's program what it will
// start that with.
func environmentOf(process, id string) map[string]string {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "environ"))
	variables := strings.Split(string(text), "\x00")
	if !strings.Contains(string(text), envPod+"=") {
		text, _ := os.ReadFile(filepath.Join("/run/containerd/io.containerd.runtime.v2.task/k8s.io", id, "config.json"))
		var bundle struct {
			Process struct {
				Env []string `json:"env"`
			} `json:"process"`
		}
		if json.Unmarshal(text, &bundle) != nil {
			return nil
		}
		variables = bundle.Process.Env
	}
	environment := map[string]string{}
	for _, variable := range variables {
		if name, value, ok := strings.Cut(variable, "="); ok {
			environment[name] = value
		}
	}
	return environment
}

func readSet(path string) cpuset.CPUSet {
	text, _ := os.ReadFile(path)
	set, _ := cpuset.Parse(strings.TrimSpace(string(text)))
	return set
}

// Machine is what /sys says of a NUMA node.
type Machine struct {
	Node      int
	CPUs      cpuset.CPUSet // those online
	Bytes     int64
	HugePages int64 // bytes
}

// ReadMachine reads every NUMA node.
func ReadMachine() (nodes []Machine, err error) {
	for _, id := range readSet("/sys/devices/system/node/online").List() {
		folder := fmt.Sprintf("/sys/devices/system/node/node%d", id)
		node := Machine{Node: id}
		text, err := os.ReadFile(folder + "/meminfo")
		if err != nil {
			return nil, err
		}
		var number int
		if _, err := fmt.Sscanf(strings.TrimSpace(string(text)), "Node %d MemTotal: %d kB", &number, &node.Bytes); err != nil {
			return nil, err
		}
		node.Bytes *= 1024
		if err := node.Reread(); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// Reread takes what can change while the machine runs.
func (m *Machine) Reread() error {
	folder := fmt.Sprintf("/sys/devices/system/node/node%d", m.Node)
	text, err := os.ReadFile(folder + "/hugepages/hugepages-2048kB/nr_hugepages")
	if err != nil {
		return err
	}
	pages, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	m.CPUs, m.HugePages = readSet(folder+"/cpulist"), pages*2<<20
	return err
}
