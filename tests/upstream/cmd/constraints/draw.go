// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// cluster is a pod that no scheduler has placed, nodes, and the pods on them.
type cluster struct {
	random *rand.Rand
	pod    *v1.Pod
	nodes  []*v1.Node
	pods   []*v1.Pod
}

func list[T any](items []T) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// objects are NodeResourceTopology objects whose kubelets admit several such pods.
func (c *cluster) objects() map[string]any {
	items := []any{}
	for _, node := range c.nodes {
		cpu := map[string]any{"name": "cpu", "capacity": "8", "allocatable": "8", "available": "8"}
		items = append(items, map[string]any{
			"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
			"metadata":   map[string]any{"name": node.Name},
			"attributes": []any{map[string]any{"name": "topologyManagerPolicy", "value": "none"}, map[string]any{"name": "topologyManagerScope", "value": "container"}},
			"zones":      []any{map[string]any{"name": "node-0", "type": "Node", "resources": []any{cpu}}},
		})
	}
	return list(items)
}

func draw(random *rand.Rand) *cluster {
	c := &cluster{random: random}
	c.nodes = make([]*v1.Node, 2+random.IntN(6))
	for i := range c.nodes {
		c.nodes[i] = c.node(fmt.Sprintf("n%d", i))
	}
	for i := range random.IntN(8) {
		pod := c.newPod(fmt.Sprintf("p%d", i))
		pod.Spec.NodeName = c.nodes[random.IntN(len(c.nodes))].Name
		if c.one(2) {
			pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: c.terms()}}
		}
		pod.Spec.Containers[0].Ports = c.ports(4)
		if c.one(8) {
			pod.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		}
		c.pods = append(c.pods, pod)
	}
	if len(c.pods) == 0 {
		// Without Pod objects nrtd says that it does not know of any.
		pod := c.newPod("alone")
		pod.Labels, pod.Spec.NodeName = nil, c.nodes[0].Name
		c.pods = append(c.pods, pod)
	}
	c.pod = c.asked()
	return c
}

func (c *cluster) one(of int) bool { return c.random.IntN(of) == 0 }

func (c *cluster) pick(words ...string) string { return words[c.random.IntN(len(words))] }

func (c *cluster) labels() map[string]string {
	labels := map[string]string{}
	for _, key := range []string{"app", "tier"} {
		if !c.one(4) {
			labels[key] = c.pick("a", "b", "c")
		}
	}
	return labels
}

func (c *cluster) node(name string) *v1.Node {
	node := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	node.Name = name
	node.Labels = map[string]string{v1.LabelHostname: name, "disk": c.pick("ssd", "hdd"), "size": c.pick("1", "5", "9", "x")}
	if !c.one(6) {
		node.Labels["zone"] = c.pick("1", "2", "3")
	}
	if !c.one(6) {
		node.Labels["rack"] = c.pick("1", "2", "3", "4")
	}
	node.Spec.Unschedulable = c.one(12)
	if c.one(4) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: c.pick("gpu", "slow"), Value: c.pick("", "5", "10"),
			Effect: []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule}[c.random.IntN(3)]})
	}
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	return node
}

func (c *cluster) newPod(name string) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Name, pod.Namespace, pod.Labels = name, c.pick("default", "default", "other"), c.labels()
	pod.Spec.Containers = []v1.Container{{Name: "c"}}
	return pod
}

func (c *cluster) ports(of int) []v1.ContainerPort {
	if !c.one(of) {
		return nil
	}
	return []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(8080 + c.random.IntN(2)), HostIP: c.pick("", "", "10.0.0.1", "10.0.0.2"),
		Protocol: []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}[c.random.IntN(2)]}}
}

func (c *cluster) selector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if c.one(12) {
		return s
	}
	if !c.one(3) {
		s.MatchLabels = map[string]string{c.pick("app", "tier"): c.pick("a", "b", "c")}
	}
	if c.one(3) {
		r := metav1.LabelSelectorRequirement{Key: c.pick("app", "tier"), Operator: []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[c.random.IntN(4)]}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = []string{c.pick("a", "b"), c.pick("b", "c")}
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

func (c *cluster) key() string { return c.pick(v1.LabelHostname, "zone", "zone", "rack") }

func (c *cluster) terms() []v1.PodAffinityTerm {
	terms := make([]v1.PodAffinityTerm, 1+c.random.IntN(2))
	for i := range terms {
		terms[i] = v1.PodAffinityTerm{LabelSelector: c.selector(), TopologyKey: c.key()}
		switch c.random.IntN(6) {
		case 0:
			terms[i].Namespaces = []string{c.pick("default", "other")}
		case 1:
			terms[i].NamespaceSelector = &metav1.LabelSelector{}
		}
	}
	return terms
}

func (c *cluster) requirement() v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{Key: c.pick("disk", "size", "zone"), Operator: []v1.NodeSelectorOperator{v1.NodeSelectorOpIn,
		v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt}[c.random.IntN(6)]}
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		r.Values = []string{c.pick("ssd", "1", "5"), c.pick("hdd", "2", "9")}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		r.Values = []string{c.pick("1", "2", "5")}
	}
	return r
}

func (c *cluster) nodeAffinity() *v1.NodeAffinity {
	required := &v1.NodeSelector{}
	for range 1 + c.random.IntN(2) {
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{c.requirement()}}
		if c.one(4) {
			term.MatchExpressions = append(term.MatchExpressions, c.requirement())
		}
		if c.one(6) {
			term.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Values: []string{c.pick("n0", "n1", "n2")},
				Operator: []v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn}[c.random.IntN(2)]}}
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
	}
	return &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
}

func (c *cluster) spread() v1.TopologySpreadConstraint {
	s := v1.TopologySpreadConstraint{MaxSkew: 1 + int32(c.random.IntN(2)), TopologyKey: c.key(), LabelSelector: c.selector(),
		WhenUnsatisfiable: v1.DoNotSchedule}
	if c.one(8) {
		s.WhenUnsatisfiable = v1.ScheduleAnyway
	}
	if c.one(4) && s.WhenUnsatisfiable == v1.DoNotSchedule {
		s.MinDomains = ptr.To(1 + int32(c.random.IntN(4)))
	}
	policies := []v1.NodeInclusionPolicy{v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore}
	if c.one(3) {
		s.NodeAffinityPolicy = ptr.To(policies[c.random.IntN(2)])
	}
	if c.one(3) {
		s.NodeTaintsPolicy = ptr.To(policies[c.random.IntN(2)])
	}
	if c.one(4) {
		s.MatchLabelKeys = []string{c.pick("app", "tier")}
	}
	return s
}

// asked is the pod, with one to three of all the constraints there are.
func (c *cluster) asked() *v1.Pod {
	pod := c.newPod("asked")
	pod.Status.Phase = v1.PodPending
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("1")}
	pod.Spec.Affinity = &v1.Affinity{}
	for range 1 + c.random.IntN(3) {
		switch c.random.IntN(7) {
		case 0:
			pod.Spec.NodeSelector = map[string]string{"disk": c.pick("ssd", "hdd")}
		case 1:
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: c.pick("", "gpu", "slow"), Operator: v1.TolerationOpExists,
				Effect: []v1.TaintEffect{"", v1.TaintEffectNoSchedule}[c.random.IntN(2)]})
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: c.pick("gpu", "slow"), Value: c.pick("5", "7", "10"),
				Operator: []v1.TolerationOperator{"", v1.TolerationOpEqual, v1.TolerationOpGt, v1.TolerationOpLt}[c.random.IntN(4)]})
		case 2:
			pod.Spec.Affinity.NodeAffinity = c.nodeAffinity()
		case 3:
			pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: c.terms()}
		case 4:
			pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: c.terms()}
		case 5:
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c.spread())
		case 6:
			pod.Spec.Containers[0].Ports = c.ports(1)
		}
	}
	return pod
}
