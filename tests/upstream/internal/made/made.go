// SPDX-License-Identifier: Apache-2.0

// Package made has nodes that nobody has: a made machine, the files that its kubelet would have written, and the objects that
// nrtd makes of them.
package made

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// Node is a node: a machine, its kubelet's policies, and what containers hold.
type Node struct {
	Name, Machine, CPUManager, Policy string   // CPUManager "" = static
	Scope                             string   `json:",omitempty"` // of the Topology Manager; "" = container
	Reserved                          string   `json:",omitempty"` // CPUs; "" = CPU 0
	Held                              []string // a CPU set for each container
	State                             string   `json:",omitempty"` // a file that is the kubelet's cpu_manager_state, instead of Held
	Unknown                           bool     `json:",omitempty"` // no file says what containers hold
}

// or is what is set, or else the default.
func or(set, fallback string) string {
	if set == "" {
		return fallback
	}
	return set
}

// Settings are the flags of nrtd for the node's kubelet.
func (n *Node) Settings() []string {
	return []string{"--cpu-manager-policy", or(n.CPUManager, "static"), "--reserved-cpus", or(n.Reserved, "0"),
		"--memory-manager-policy", "None", "--topology-manager-policy", n.Policy, "--topology-manager-scope", or(n.Scope, "container")}
}

// Sets are the CPUs that each container holds.
func (n *Node) Sets() (held []cpuset.CPUSet, err error) {
	for _, text := range n.Held {
		cpus, err := cpuset.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		held = append(held, cpus)
	}
	return held, nil
}

// Maker makes nodes.
type Maker struct {
	Nrtd     string
	Dir      string
	Machines []string
	Zones    map[string][]daemon.Zone // by machine
}

// NewMaker makes a folder for each machine, and learns which CPUs it has. A NUMA node without CPUs, or an id above 63, is
// none for the plugin.
func NewMaker(ctx context.Context, nrtd, dir, machines string) (*Maker, error) {
	m := &Maker{Nrtd: nrtd, Dir: dir, Zones: map[string][]daemon.Zone{}}
	paths, err := filepath.Glob(filepath.Join(machines, "*", "sys"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		machine := filepath.Dir(path)
		name := filepath.Base(machine)
		node, err := daemon.New(dir, name, machine, nrtd, "", "0")
		if err != nil {
			return nil, err
		}
		node.Name = "node"
		object, err := node.Dump(ctx)
		if err != nil {
			return nil, err
		}
		zones, err := daemon.ZonesOf(object, cpuset.New(0))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(zones, func(z daemon.Zone) bool { return z.CPUs.IsEmpty() }) || !daemon.All(zones).Contains(0) || len(zones) > 8 {
			continue
		}
		m.Zones[name] = zones
		m.Machines = append(m.Machines, name)
	}
	if len(m.Machines) == 0 {
		return nil, fmt.Errorf("no machine in %s", machines)
	}
	return m, nil
}

// files writes what the kubelet of the node has written.
func (m *Maker) files(one *Node) (*daemon.Node, error) {
	zones, known := m.Zones[one.Machine]
	if !known {
		return nil, fmt.Errorf("%s: there is no machine %q", one.Name, one.Machine)
	}
	node := &daemon.Node{Name: one.Name, Dir: filepath.Join(m.Dir, one.Machine), Nrtd: m.Nrtd}
	node.Settings = one.Settings()
	if one.Unknown {
		return node, os.RemoveAll(node.Kubelet())
	}
	if one.State != "" {
		text, err := os.ReadFile(one.State)
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(node.Kubelet(), 0o755); err != nil {
			return nil, err
		}
		return node, os.WriteFile(filepath.Join(node.Kubelet(), "cpu_manager_state"), text, 0o600)
	}
	held, err := one.Sets()
	if err != nil {
		return nil, err
	}
	_, err = node.Hold(daemon.All(zones), held...)
	return node, err
}

// Objects are what nrtd makes of the nodes: its own object and Volcano's of each.
func (m *Maker) Objects(ctx context.Context, nodes []Node) (nrts, topologies []json.RawMessage, err error) {
	for i := range nodes {
		node, err := m.files(&nodes[i])
		if err != nil {
			return nil, nil, err
		}
		nrt, err := node.DumpText(ctx)
		if err != nil {
			return nil, nil, err
		}
		topology, err := node.DumpText(ctx, "--what", "numatopology")
		if err != nil {
			return nil, nil, err
		}
		nrts, topologies = append(nrts, nrt), append(topologies, topology)
	}
	return nrts, topologies, nil
}
