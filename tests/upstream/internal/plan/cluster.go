// SPDX-License-Identifier: Apache-2.0

// Package plan draws clusters whose kubelets are the real managers, has `kubectl numa plan` make plans for them, and carries the plans
// out on the managers step by step.
package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

// Cluster is a cluster, what happens in it before the plan is made, and what the plan is for.
type Cluster struct {
	Nodes    []*Node                         `json:"nodes"`
	Steps    []Step                          `json:"steps"`
	Budgets  []*policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
	Wanted   []*v1.Pod                       `json:"wanted"`   // more than one: pending pods of the cluster
	Replicas int                             `json:"replicas"` // 0: the wanted pods are pending pods
	Options  Options                         `json:"options"`
}

// Node is one node.
type Node struct {
	kubeletnode.Setup
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels,omitempty"`
	Cordoned bool              `json:"cordoned,omitempty"`
	Pods     int64             `json:"pods,omitempty"`    // allocatable "pods"; 0 = those that the kubelet reports
	Without  string            `json:"without,omitempty"` // what the API server does not have of the node
}

// What the API server may not have of a node. A plan leaves such a node alone.
const (
	withoutState  = "node state" // the object is another exporter's
	withoutObject = "NodeResourceTopology"
	withoutNode   = "Node"
)

// Step is a pod that comes or goes before the plan is made.
type Step struct {
	Admit    *v1.Pod `json:"admit,omitempty"` // as the API server has it; spec.nodeName is its node
	Late     bool    `json:"late,omitempty"`  // the object of the node does not report the pod yet
	Remove   string  `json:"remove,omitempty"`
	Complete string  `json:"complete,omitempty"` // ends and is not deleted
}

// Options are the flags of the command.
type Options struct {
	MaxMoves          int      `json:"maxMoves"`
	Evict             bool     `json:"evict,omitempty"`
	AllowBare         bool     `json:"allowBare,omitempty"`
	AllowLocalStorage bool     `json:"allowLocalStorage,omitempty"`
	BelowPriority     *int32   `json:"belowPriority,omitempty"`
	Keep              []string `json:"keep,omitempty"` // namespaces
}

func (o *Options) flags() []string {
	args := []string{"--max-moves", fmt.Sprint(o.MaxMoves)}
	for flag, set := range map[string]bool{"--evict": o.Evict, "--allow-bare": o.AllowBare, "--allow-local-storage": o.AllowLocalStorage} {
		if set {
			args = append(args, flag)
		}
	}
	if o.BelowPriority != nil {
		args = append(args, "--below-priority", fmt.Sprint(*o.BelowPriority))
	}
	for _, namespace := range o.Keep {
		args = append(args, "--keep", namespace)
	}
	return args
}

// Smaller lists clusters with one thing less.
func Smaller(c *Cluster) (out []*Cluster) {
	edit := func(change func(*Cluster)) {
		text, err := json.Marshal(c)
		if err != nil {
			panic(err) // a cluster is saved as JSON
		}
		smaller := &Cluster{}
		if err := json.Unmarshal(text, smaller); err != nil {
			panic(err)
		}
		change(smaller)
		out = append(out, smaller)
	}
	for i, n := range c.Nodes {
		if len(c.Nodes) > 1 {
			edit(func(c *Cluster) { c.removeNode(i) })
		}
		if n.Without != "" || n.Cordoned || n.Pods != 0 || n.Labels != nil {
			edit(func(c *Cluster) {
				c.Nodes[i].Without, c.Nodes[i].Cordoned, c.Nodes[i].Pods, c.Nodes[i].Labels = "", false, 0, nil
			})
		}
		for _, option := range slices.Sorted(maps.Keys(n.Config.CPUManagerPolicyOptions)) {
			edit(func(c *Cluster) { delete(c.Nodes[i].Config.CPUManagerPolicyOptions, option) })
		}
	}
	for i := len(c.Steps) - 1; i >= 0; i-- {
		edit(func(c *Cluster) { c.Steps = slices.Delete(c.Steps, i, i+1) })
	}
	for i := range c.Budgets {
		edit(func(c *Cluster) { c.Budgets = slices.Delete(c.Budgets, i, i+1) })
	}
	if len(c.Wanted) > 1 {
		edit(func(c *Cluster) { c.Wanted = c.Wanted[:len(c.Wanted)-1] })
	}
	if c.Replicas > 1 {
		edit(func(c *Cluster) { c.Replicas-- })
	}
	if c.Options.MaxMoves > 1 {
		edit(func(c *Cluster) { c.Options.MaxMoves-- })
	}
	for i, step := range c.Steps {
		if step.Admit != nil {
			for j := range step.Admit.Spec.InitContainers {
				edit(func(c *Cluster) {
					spec := &c.Steps[i].Admit.Spec
					spec.InitContainers = slices.Delete(spec.InitContainers, j, j+1)
				})
			}
			for j := range step.Admit.Spec.Containers[1:] {
				edit(func(c *Cluster) {
					spec := &c.Steps[i].Admit.Spec
					spec.Containers = slices.Delete(spec.Containers, j, j+1)
				})
			}
		}
	}
	return out
}

func (c *Cluster) removeNode(i int) {
	name := c.Nodes[i].Name
	c.Nodes = slices.Delete(c.Nodes, i, i+1)
	c.Steps = slices.DeleteFunc(c.Steps, func(s Step) bool { return s.Admit != nil && s.Admit.Spec.NodeName == name })
}
