// SPDX-License-Identifier: Apache-2.0

// Package volcano has nodes and pods for Volcano's plugin numaaware: what nrtd makes of a node on a made machine, and what
// `nrtd score --strategy Volcano` says of a pod on such nodes.
package volcano

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// PolicyAnnotation says which policy a pod wants of its node.
const PolicyAnnotation = "volcano.sh/numa-topology-policy"

// noNode is the exit status of `nrtd score` where no node takes the pod.
const noNode = 3

// Node is a node: a machine, its kubelet's policies, and what containers hold.
type Node struct {
	Name, Machine, CPUManager, Policy string
	Reserved                          string   `json:",omitempty"` // CPUs; "" = CPU 0
	Held                              []string // a CPU set for each container
	State                             string   `json:",omitempty"` // a file that is the kubelet's cpu_manager_state, instead of Held
	Unknown                           bool     `json:",omitempty"` // no file says what containers hold
}

// Pod is a pod as far as the plugin looks.
type Pod struct {
	Containers []string // what each asks for of CPUs
	Guaranteed bool
	Policy     string // its annotation; "" = it has none
}

// Verdict is the answer about one node.
type Verdict struct {
	Passes bool    `json:"passes"`
	Reason string  `json:"reason"`
	Score  float64 `json:"score"`
	NUMA   int     `json:"-"` // NUMA nodes that the pod would use
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
	reserved := one.Reserved
	if reserved == "" {
		reserved = "0"
	}
	node := &daemon.Node{Name: one.Name, Dir: filepath.Join(m.Dir, one.Machine), Nrtd: m.Nrtd}
	node.Settings = []string{"--cpu-manager-policy", one.CPUManager, "--reserved-cpus", reserved, "--memory-manager-policy", "None",
		"--topology-manager-policy", one.Policy, "--topology-manager-scope", "container"}
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
	var held []cpuset.CPUSet
	for _, text := range one.Held {
		cpus, err := cpuset.Parse(text)
		if err != nil {
			return nil, err
		}
		held = append(held, cpus)
	}
	_, err := node.Hold(daemon.All(zones), held...)
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

// Object is the pod as the API server has it.
func (p *Pod) Object() *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "pod", UID: "pod", Annotations: map[string]string{}}}
	if p.Policy != "" {
		pod.Annotations[PolicyAnnotation] = p.Policy
	}
	for i, cpus := range p.Containers {
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus), v1.ResourceMemory: resource.MustParse("1Mi")}
		container := v1.Container{Name: fmt.Sprintf("c%d", i), Image: "example.com/app", Resources: v1.ResourceRequirements{Requests: amounts}}
		if p.Guaranteed {
			container.Resources.Limits = amounts
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// Score is what nrtd says of each node.
func (m *Maker) Score(ctx context.Context, nrts []json.RawMessage, pod *v1.Pod, weight int) (map[string]Verdict, error) {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": nrts})
	if err != nil {
		return nil, err
	}
	asked, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(m.Dir, "pod.json")
	if err := os.WriteFile(path, asked, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, m.Nrtd, "score", "--nrt", "-", "-f", path, "--strategy", "Volcano", "--volcano-weight", fmt.Sprint(weight), "-o", "json")
	command.Stdin = bytes.NewReader(list)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil && command.ProcessState.ExitCode() != noNode {
		return nil, fmt.Errorf("nrtd score: %w: %s", err, stderr.String())
	}
	var answer struct {
		Nodes []struct {
			Name    string
			Scores  struct{ Volcano *float64 }
			Volcano struct {
				Admitted  bool
				Reason    string
				NUMANodes int
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	verdicts := map[string]Verdict{}
	for _, node := range answer.Nodes {
		one := Verdict{Passes: node.Volcano.Admitted, Reason: node.Volcano.Reason, NUMA: node.Volcano.NUMANodes}
		if node.Scores.Volcano != nil {
			one.Score = *node.Scores.Volcano
		}
		verdicts[node.Name] = one
	}
	return verdicts, nil
}
