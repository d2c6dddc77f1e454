// SPDX-License-Identifier: Apache-2.0

// Package outcome plays one workload against one way to schedule it: a real control plane, nodes whose kubelets' own
// managers judge every pod that is bound to them, `nrtd run` on each node, and a replacement for each pod refused.
package outcome

import (
	"fmt"
	"strings"

	"k8s.io/utils/cpuset"
)

const (
	cpusOfNode   = 64
	memoryOfNode = 256 << 30
)

// Kind is a kind of machine with its kubelet's settings; Machine names the folder.
type Kind struct {
	Machine string
	Policy  string // of the Topology Manager
	Scope   string
	nodes   int     // NUMA nodes; the CPUs are numbered node by node
	nics    [][]int // the NUMA node of each
}

// Kinds of machines in the experiment. A kubelet with 8 NUMA nodes needs seconds for a pod whose CPUs, memory and
// devices it is to align, so there are no devices on that kind.
var Kinds = []*Kind{
	{Machine: "q4x16", Policy: "restricted", Scope: "container", nodes: 4, nics: [][]int{{0}, {0}, {1}, {1}, {2}, {2}, {3}, {3}}},
	{Machine: "d2x32", Policy: "single-numa-node", Scope: "container", nodes: 2, nics: [][]int{{0}, {0}, {0}, {0}, {1}, {1}, {1}, {1}}},
	{Machine: "o8x8", Policy: "restricted", Scope: "pod", nodes: 8},
}

// NodesOf is `each` nodes of every kind, in turn.
func NodesOf(each int) (nodes []*Kind) {
	for range each {
		nodes = append(nodes, Kinds...)
	}
	return nodes
}

// NodeNames names them.
func NodeNames(nodes []*Kind) (names []string) {
	count := map[string]int{}
	for _, kind := range nodes {
		names = append(names, fmt.Sprintf("%s-%d", kind.Machine, count[kind.Machine]))
		count[kind.Machine]++
	}
	return names
}

// numaNodes is on how many NUMA nodes CPUs are.
func (k *Kind) numaNodes(cpus cpuset.CPUSet) int {
	nodes := map[int]bool{}
	for _, cpu := range cpus.UnsortedList() {
		nodes[cpu/(cpusOfNode/k.nodes)] = true
	}
	return len(nodes)
}

// config is the kubelet's configuration file.
func (k *Kind) config(w *Workload) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
systemReserved: {memory: 1Gi}
topologyManagerPolicy: %s
topologyManagerScope: %s
`, k.Policy, k.Scope)
	if w.Memory {
		b.WriteString("memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n")
	}
	return b.String()
}
