// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/apply"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/made"
	"nrtd.dev/tests/upstream/internal/volcano"
)

const (
	sequenceLabel = "sequence"
	notByNUMA     = "cannot be assigned by numa"
)

// live is a node on which nrtd runs and publishes.
type live struct {
	made.Node
	agent *daemon.Node
	held  map[string]cpuset.CPUSet // by the pod's UID
}

// hold has the kubelet's files list what pods hold, and waits until the scheduler knows.
func (b *bench) hold(ctx context.Context, node *live) error {
	before := b.taken(node.Name)
	if _, err := node.agent.HoldAs(daemon.All(b.maker.Zones[node.Machine]), node.held); err != nil {
		return err
	}
	if err := b.follows(ctx, node.Name, before); err != nil {
		return fmt.Errorf("%s: the scheduler does not have the change: %w\n%s", node.Name, err, node.agent.Log())
	}
	return nil
}

// sequence gives the scheduler one pod after the other, all of policy restricted, on two nodes with 16 free CPUs on both
// NUMA nodes. After each pod the kubelet's files say what it holds: CPUs of the lowest NUMA node that has enough. `nrtd run`
// publishes that.
func (b *bench) sequence(ctx context.Context) error {
	rights, err := apply.Files([]string{"packaging/kubernetes/numatopology.yaml"})
	if err != nil {
		return err
	}
	for _, object := range rights {
		if _, err := b.apply.Apply(ctx, object); err != nil {
			return err
		}
	}
	var nodes []*live
	for _, name := range []string{"sequence-1", "sequence-2"} {
		node, err := b.start(ctx, name, sequenceLabel)
		if err != nil {
			return err
		}
		defer node.agent.Kill()
		nodes = append(nodes, node)
	}
	for i, cpus := range []int{10, 10, 10, 10, 10, 7, 6, 6} {
		if err := b.next(ctx, nodes, i, cpus); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if err := node.agent.Stop(); err != nil {
			return err
		}
	}
	if err := b.changes(ctx, &nodes[0].Node); err != nil {
		return err
	}
	return b.issue5500(ctx)
}

// start starts nrtd on a node, and waits until the scheduler has what it publishes.
func (b *bench) start(ctx context.Context, name, label string, flags ...string) (*live, error) {
	node := &live{Node: made.Node{Name: name, Machine: "2x20", Policy: "restricted", Reserved: "0-3,20-23"}, held: map[string]cpuset.CPUSet{}}
	if _, err := b.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+exampleLabel+`":"`+label+`"}}}`), metav1.PatchOptions{}); err != nil {
		return nil, err
	}
	var err error
	node.agent, err = daemon.New(filepath.Join(b.maker.Dir, "agents"), name, filepath.Join(b.machines, node.Machine), b.maker.Nrtd,
		filepath.Join(b.agents, "agent-"+name+".kubeconfig"), node.Reserved,
		append([]string{"--numatopology=on"}, flags...)...)
	if err != nil {
		return nil, err
	}
	node.agent.Settings = node.Settings()
	if _, err := node.agent.Hold(daemon.All(b.maker.Zones[node.Machine])); err != nil {
		return nil, err
	}
	if err := node.agent.Start(); err != nil {
		return nil, err
	}
	if err := b.follows(ctx, name, 0); err != nil {
		return nil, fmt.Errorf("%s: the scheduler does not have its object: %w\n%s", name, err, node.agent.Log())
	}
	return node, nil
}

// next gives the scheduler pod i, and has it hold CPUs of the node where it lands.
func (b *bench) next(ctx context.Context, nodes []*live, i, cpus int) error {
	pod := volcano.Pod{Containers: []string{fmt.Sprint(cpus)}, Guaranteed: true, Policy: "restricted"}
	nrts, _, err := b.maker.Objects(ctx, []made.Node{nodes[0].Node, nodes[1].Node})
	if err != nil {
		return err
	}
	verdicts, err := volcano.Score(ctx, b.maker, nrts, pod.Object(), 10)
	if err != nil {
		return err
	}
	var reasons []string
	if !verdicts[nodes[0].Name].Passes && !verdicts[nodes[1].Name].Passes {
		reasons = []string{notByNUMA}
	}
	name := fmt.Sprintf("%s-pod-%d", sequenceLabel, i)
	if err := b.create(ctx, pod.Object(), name, sequenceLabel); err != nil {
		return err
	}
	landed, said := b.landed(ctx, name, reasons)
	b.check(isBest(verdicts, landed), fmt.Sprintf("sequence: pod %d, %d CPUs, goes where kubectl numa score says", i, cpus),
		"it is on %q, nrtd says %+v, the scheduler says %q", landed, verdicts, said)
	for _, node := range nodes {
		if node.Name != landed {
			continue
		}
		cpus := b.given(&node.Node, cpus)
		node.Held = append(node.Held, cpus.String())
		node.held[b.uid(ctx, name)] = cpus
		return b.hold(ctx, node)
	}
	return b.remove(ctx, name)
}

// uid is the pod's UID.
func (b *bench) uid(ctx context.Context, name string) string {
	pod, err := b.client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return name
	}
	return string(pod.UID)
}

// remove deletes the pod, which then waits no longer.
func (b *bench) remove(ctx context.Context, name string) error {
	return b.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
}

// end removes the pods of the node.
func (b *bench) end(ctx context.Context, node string) error {
	list, err := b.client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := b.remove(ctx, list.Items[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// given are the CPUs that the kubelet would give: those of the lowest NUMA node that has enough.
func (b *bench) given(node *made.Node, cpus int) cpuset.CPUSet {
	taken, _ := cpuset.Parse(node.Reserved)
	for _, held := range node.Held {
		set, _ := cpuset.Parse(held)
		taken = taken.Union(set)
	}
	for _, zone := range b.maker.Zones[node.Machine] {
		if free := zone.CPUs.Difference(taken).List(); len(free) >= cpus {
			return cpuset.New(free[:cpus]...)
		}
	}
	free := daemon.All(b.maker.Zones[node.Machine]).Difference(taken).List()
	return cpuset.New(free[:cpus]...)
}

// update writes what nrtd dump prints of the node, and waits until the scheduler has it.
func (b *bench) update(ctx context.Context, node *made.Node) error {
	_, topologies, err := b.maker.Objects(ctx, []made.Node{*node})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(topologies[0], &object.Object); err != nil {
		return err
	}
	before := b.taken(node.Name)
	if _, err := b.apply.Apply(ctx, object); err != nil {
		return err
	}
	return b.follows(ctx, node.Name, before)
}

// follows waits until the scheduler has taken in the node's object more often than before.
func (b *bench) follows(ctx context.Context, name string, before int) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return b.taken(name) > before, nil
	})
}

// taken is how often the scheduler has logged that it has taken in the node's object.
func (b *bench) taken(node string) int {
	log, _ := os.ReadFile(b.log)
	return bytes.Count(log, []byte("on node["+node+"] into cache"))
}

// changes shows that the scheduler follows an object: a pod that waits goes to the node whose pods end, one that wants a
// policy stays away from a node whose free CPUs are not known, and goes there when they are.
func (b *bench) changes(ctx context.Context, node *made.Node) error {
	pod := volcano.Pod{Containers: []string{"16"}, Guaranteed: true, Policy: "restricted"}
	for i, step := range []struct {
		name   string
		change func(node *made.Node)
		lands  bool
	}{
		{"pods have ended", func(node *made.Node) { node.Held = nil }, true},
		{"what is free is not known", func(node *made.Node) { node.Unknown = true }, false},
		{"it is known again", func(node *made.Node) { node.Unknown = false }, true},
	} {
		if err := b.end(ctx, node.Name); err != nil {
			return err
		}
		step.change(node)
		if err := b.update(ctx, node); err != nil {
			return err
		}
		name := fmt.Sprintf("%s-change-%d", sequenceLabel, i)
		if err := b.create(ctx, pod.Object(), name, sequenceLabel); err != nil {
			return err
		}
		var reasons []string
		if !step.lands {
			reasons = []string{"cpu allocatable map is empty"}
		}
		landed, said := b.landed(ctx, name, reasons)
		b.check((landed == node.Name) == step.lands, "sequence: "+step.name, "the pod is on %q, the scheduler says %q", landed, said)
		if landed == "" {
			if err := b.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
