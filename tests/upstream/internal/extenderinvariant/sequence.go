// SPDX-License-Identifier: Apache-2.0

// Package extenderinvariant runs `nrtd-extender` in a cluster of three nodes with the kubelet's real managers through random steps, sends
// requests as a scheduler does, and compares each answer with the kubelets' decisions.
package extenderinvariant

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

// Sequence is what happens in one cluster. The steps of a sequence that was drawn are written down while it is played. A
// step that cannot be done as things are is left out.
type Sequence struct {
	Draw     uint64       `json:"draw"` // the seed of the steps that are not written down yet
	Wanted   int          `json:"wanted"`
	Replicas int          `json:"replicas"`
	Nodes    []*NodeSetup `json:"nodes"`
	Pods     []v1.PodSpec `json:"pods"` // what pods ask for
	Steps    []Step       `json:"steps"`

	part, at int // see Smaller
}

// NodeSetup is one node.
type NodeSetup struct {
	kubeletnode.Setup
	Foreign bool `json:"foreign,omitempty"` // another exporter writes its object: without the node's state
}

// Step is one thing that happens.
type Step struct {
	Do   string `json:"do"`
	Pod  string `json:"pod,omitempty"`
	Of   string `json:"of,omitempty"`   // another pod: whose name a new pod has, whose UID a mirror pod names
	Node string `json:"node,omitempty"` // its name
	Kind string `json:"kind,omitempty"` // of objects, or a reason
	N    int    `json:"n,omitempty"`    // which of several variants, as each step says
}

func (s Step) String() string {
	words := []string{s.Do}
	for _, word := range []string{s.Pod, s.Of, s.Node, s.Kind} {
		if word != "" {
			words = append(words, word)
		}
	}
	if s.N != 0 {
		words = append(words, fmt.Sprint(s.N))
	}
	return strings.Join(words, " ")
}

// What a step does.
const (
	create   = "create"   // a pod comes; N: its shape; Of: a pod that is gone and had the same name
	ask      = "ask"      // a scheduler sends a request for a pod; N: 1 = without the first node, 2 = to the other replica
	bind     = "bind"     // the pod is bound to the node on which it is assumed
	bindTo   = "bind-to"  // another scheduler, or a user, binds the pod to this node
	admit    = "admit"    // its kubelet decides about a pod that is bound
	run      = "run"      // its containers run
	failed   = "fail"     // it fails for another reason (Kind) than the managers'
	end      = "end"      // it ends by itself; N: 1 = Failed
	remove   = "delete"   // it is deleted
	resize   = "resize"   // a running pod asks for N CPUs more
	static   = "static"   // a static pod starts, and its mirror pod appears; N: its shape
	mirror   = "mirror"   // a user makes a pod that says it is the mirror of another one
	hostile  = "hostile"  // a user makes a pod at the limits of what the API server takes; N: which; Node: where
	dump     = "dump"     // nrtd makes the node's object
	publish  = "publish"  // it is published; N: 1 = the newest and no older one, 2 = the one that is there, again
	relabel  = "relabel"  // somebody edits the object's labels; N is the value
	hold     = "hold"     // events of this kind do not reach replica N
	flow     = "flow"     // they do again
	cut      = "cut"      // replica N loses its watch of this kind in the middle of an answer
	finish   = "finish"   // that watch ends cleanly
	relist   = "relist"   // the watch is too old (410); the replica lists again
	retorn   = "relist-2" // and that list is too old at its second page
	away     = "away"     // the API server answers replica N with 503 for a while, and its watches are cut
	restart  = "restart"  // replica N is killed and started again
	handOver = "lead"     // the replica that answers ends by SIGTERM; it is started again
	rest     = "rest"     // everything that is under way arrives; then all is compared
	echo     = "echo"     // everything arrives but new objects; then something that says nothing new happens. N: what
)

// nodeNames are those of the three nodes.
var nodeNames = []string{"node-a", "node-b", "node-c"}

// podShapes is how many different pods there are in a sequence.
const podShapes = 9

// On larger machines the kubelet's code takes long for a pod.
const (
	minCPUs, maxCPUs   = 8, 64
	minNodes, maxNodes = 2, 4
)

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// sorted lists the keys in their order.
func sorted[K ~string](keys iter.Seq[K]) (list []string) {
	for key := range keys {
		list = append(list, string(key))
	}
	slices.Sort(list)
	return list
}

// Suits tells whether a machine is one that sequences are drawn for. Without distances a kubelet does not start with every
// policy option. Where cores have different numbers of CPUs it may give one CPU to two pods (K29 in scoring/DEFECTS.md), and
// a pod that is only tried changes what the next one gets.
func Suits(m *kubelet.Machine) bool {
	return kubeletnode.IsRegular(m) && m.Info.NumCores >= minCPUs && m.Info.NumCores <= maxCPUs && len(m.Info.Topology) >= minNodes &&
		len(m.Info.Topology) <= maxNodes
}

// Random draws a sequence whose steps are drawn when it is played.
func Random(r *rand.Rand, machines map[string]*kubelet.Machine, steps int) *Sequence {
	s := &Sequence{Draw: r.Uint64(), Wanted: steps, Replicas: 1}
	if chance(r, 40) {
		s.Replicas = 2
	}
	foreign := -1
	if chance(r, 30) {
		foreign = r.IntN(len(nodeNames))
	}
	var drawn []kubelet.Node
	for i := range nodeNames {
		n := kubelet.RandomNode(r, machines, true)
		drawn = append(drawn, n)
		s.Nodes = append(s.Nodes, setupOf(r, i, n, i == foreign))
	}
	for i := range podShapes {
		s.Pods = append(s.Pods, shapeFor(r, &drawn[i%len(drawn)], i))
	}
	return s
}

// setupOf gives the i-th node its policy.
func setupOf(r *rand.Rand, i int, n kubelet.Node, foreign bool) *NodeSetup {
	c := n.Config
	// The gates are the process's: all its kubelets have the same.
	c.FeatureGates = map[string]bool{"CPUManagerPolicyAlphaOptions": true}
	c.CPUManagerPolicy = "static"
	// With this option the kubelet may hunt for CPUs for ever (K1 in scoring/DEFECTS.md).
	delete(c.CPUManagerPolicyOptions, cpumanager.DistributeCPUsAcrossNUMAOption)
	c.TopologyManagerPolicy, c.TopologyManagerScope = []string{"restricted", "single-numa-node", pick(r, "restricted", "single-numa-node", "best-effort")}[i],
		[]string{"container", "container", "pod"}[i]
	if c.TopologyManagerPolicy == "single-numa-node" {
		delete(c.CPUManagerPolicyOptions, cpumanager.AlignBySocketOption) // the kubelet does not start with both
	}
	return &NodeSetup{kubeletnode.Setup{Machine: n.Machine, Config: c, Devices: kubeletnode.NearOneNode(n.Devices)}, foreign}
}

// shapeFor draws what the i-th kind of pod asks for.
func shapeFor(r *rand.Rand, n *kubelet.Node, i int) v1.PodSpec {
	pod := n.Pod(r, "x")
	spec := pod.Spec
	kubeletnode.ShareNoDevice(&spec, n.Devices)
	switch i {
	case 0, 1: // what most pods ask for
		spec = v1.PodSpec{Containers: containers(1, func(int) v1.ResourceList { return amountsOf(fmt.Sprint(1+r.IntN(3)+3*i), "64Mi") })}
	case 2: // the Node has the resource, and no manager does
		spec = v1.PodSpec{Containers: containers(1, func(int) v1.ResourceList {
			amounts := amountsOf(fmt.Sprint(1+r.IntN(4)), "64Mi")
			amounts[noPlugin] = resource.MustParse("1")
			return amounts
		})}
	case 3: // amounts of the pod as a whole
		shareAmounts(r, &spec)
	}
	return spec
}

// shareAmounts has the pod as a whole ask for CPUs and memory, and its containers for nothing but devices.
func shareAmounts(r *rand.Rand, spec *v1.PodSpec) {
	spec.InitContainers = nil
	for i := range spec.Containers {
		c := &spec.Containers[i].Resources
		devices := v1.ResourceList{}
		for name, amount := range c.Limits {
			if strings.Contains(string(name), "/") {
				devices[name] = amount
			}
		}
		c.Requests, c.Limits = devices, devices.DeepCopy()
	}
	whole := amountsOf(fmt.Sprint(1+r.IntN(6)), "256Mi")
	spec.Resources = &v1.ResourceRequirements{Requests: whole, Limits: whole.DeepCopy()}
}

// Smaller lists sequences without some of the steps: half of them, then a quarter, and in the end one. It goes on where the
// list that the sequence comes from was left.
func Smaller(s *Sequence) (out []*Sequence) {
	n := len(s.Steps)
	part, at := s.part, s.at
	if part == 0 {
		part, at = max(1, n/2), n
	}
	for ; part >= 1; part, at = part/2, n {
		for to := min(at, n); to >= part; to -= part {
			smaller := *s
			smaller.Wanted, smaller.part, smaller.at = 0, part, to-part
			smaller.Steps = slices.Delete(slices.Clone(s.Steps), to-part, to)
			out = append(out, &smaller)
		}
	}
	if s.Replicas > 1 {
		smaller := *s
		smaller.Wanted, smaller.Replicas, smaller.part = 0, 1, 1
		out = append(out, &smaller)
	}
	return out
}
