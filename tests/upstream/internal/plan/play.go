// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
	"nrtd.dev/tests/upstream/internal/managers"
)

// Driver plays clusters, one after the other.
type Driver struct {
	Nrtd, Numa string // the programs nrtd and kubectl-numa
	Machines   map[string]*kubelet.Machine
	Work       string // folder for their files; a short path: sockets live below it
	Verbose    bool
	Tally      Tally
	Changed    ChangeTally
	Release    string // of the kubelet, that nrtd is told
	runs, made int
	trees      map[string][]*kubeletnode.Tree // that no node uses, by machine
}

// node is a node of the cluster, with its kubelet.
type node struct {
	*kubeletnode.Node
	setup   *Node
	machine *kubelet.Machine
	amounts v1.ResourceList // allocatable of the Node
	object  map[string]any  // NodeResourceTopology
	spoilt  bool            // its kubelet has rejected a pod that is bound to it
}

// pod is a pod of the API server that has not ended.
type pod struct {
	object *v1.Pod
	uid    types.UID // the kubelet's
	node   *node
	moved  bool
}

// player plays one cluster.
type player struct {
	*Driver
	ctx     context.Context
	cluster *Cluster
	dir     string
	nodes   []*node
	pods    map[string]*pod // that are bound to a node, by namespace/name
	ended   []*v1.Pod
	allowed map[string]int32 // disruptions, by budget
	wanted  map[string]*v1.Pod
}

const mirrorAnnotation = "kubernetes.io/config.mirror"

func keyOf(object *v1.Pod) string { return object.Namespace + "/" + object.Name }

// Play returns what was wrong about the plan, a line each. The cluster counts as right if the kubelet's code gives up.
func (d *Driver) Play(ctx context.Context, c *Cluster) ([]string, error) {
	p := d.newPlayer(ctx, c)
	begun := time.Now()
	defer func() { d.Tally.Played += time.Since(begun) }()
	defer os.RemoveAll(p.dir)
	d.Tally.Clusters++
	err := p.prepare()
	var plan *plan
	if err == nil && p.hasObjects() {
		plan, err = p.plan()
	}
	var wrong []string
	if err == nil && plan != nil {
		wrong, err = p.replay(plan)
	}
	p.close(err == nil)
	if errors.Is(err, kubeletnode.ErrKubelet) {
		d.Tally.GivenUp++
		if d.Verbose {
			fmt.Printf("  | %v\n", err)
		}
		return nil, nil
	}
	return wrong, err
}

func (d *Driver) newPlayer(ctx context.Context, c *Cluster) *player {
	d.runs++
	if d.trees == nil {
		d.trees = map[string][]*kubeletnode.Tree{}
	}
	return &player{Driver: d, ctx: ctx, cluster: c, dir: filepath.Join(d.Work, fmt.Sprint(d.runs)), pods: map[string]*pod{}, allowed: map[string]int32{},
		wanted: map[string]*v1.Pod{}}
}

// close ends the nodes. The folders of a kubelet whose code has given up are not used again.
func (p *player) close(again bool) {
	for _, n := range p.nodes {
		n.Close()
		if again {
			p.trees[n.setup.Machine] = append(p.trees[n.setup.Machine], n.Tree)
		}
	}
}

// takeTree returns a folder with the machine. Making one takes longer than all else that is done with a node.
func (p *player) takeTree(machine string) (*kubeletnode.Tree, error) {
	if free := p.trees[machine]; len(free) > 0 {
		p.trees[machine] = free[:len(free)-1]
		return free[len(free)-1], nil
	}
	p.made++
	return kubeletnode.NewTree(p.Work, fmt.Sprintf("tree-%d", p.made), p.Nrtd, p.Machines[machine])
}

// prepare starts the nodes and has everything happen that happens before the plan is made.
func (p *player) prepare() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	for _, setup := range p.cluster.Nodes {
		if err := p.startNode(setup); err != nil {
			return err
		}
	}
	for _, b := range p.cluster.Budgets {
		p.allowed[b.Namespace+"/"+b.Name] = b.Status.DisruptionsAllowed
	}
	late := slices.IndexFunc(p.cluster.Steps, func(s Step) bool { return s.Late })
	if late < 0 {
		late = len(p.cluster.Steps)
	}
	for _, step := range p.cluster.Steps[:late] {
		if err := p.take(step); err != nil {
			return err
		}
	}
	for _, n := range p.nodes {
		if err := n.dump(p.ctx); err != nil {
			return err
		}
		if p.Verbose {
			fmt.Printf("  | %s (%s, %s, %s): %v\n", n.Name, n.setup.Machine, n.setup.Config.TopologyManagerPolicy, n.setup.Without, n.Managers.CPUs(n.machine.Info.Topology))
		}
	}
	for _, step := range p.cluster.Steps[late:] {
		if err := p.take(step); err != nil {
			return err
		}
	}
	return nil
}

// startNode leaves out a node whose kubelet does not start with the drawn settings.
func (p *player) startNode(setup *Node) error {
	machine := p.Machines[setup.Machine]
	if machine == nil {
		return fmt.Errorf("no machine %q here", setup.Machine)
	}
	tree, err := p.takeTree(setup.Machine)
	if err != nil {
		return err
	}
	started, err := tree.Start(p.ctx, setup.Name, &setup.Setup)
	if errors.Is(err, kubeletnode.ErrKubelet) {
		p.Tally.Refused++
		return nil
	}
	if err != nil {
		return err
	}
	if p.Release != "" {
		started.Settings = append(started.Settings, "--kubelet-version", p.Release)
	}
	n := &node{Node: started, setup: setup, machine: machine, amounts: started.Managers.NodeStatus().Allocatable}
	if setup.Pods > 0 {
		n.amounts[v1.ResourcePods] = *resource.NewQuantity(setup.Pods, resource.DecimalSI)
	}
	p.nodes = append(p.nodes, n)
	p.Tally.Nodes++
	return nil
}

func (p *player) nodeNamed(name string) *node {
	for _, n := range p.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// take does what the step says. A pod of a node that has not started does not come, and one that has been rejected cannot go.
func (p *player) take(step Step) error {
	if step.Admit != nil {
		n := p.nodeNamed(step.Admit.Spec.NodeName)
		if n == nil {
			return nil
		}
		return p.come(step.Admit, n, step.Late)
	}
	gone := p.pods[step.Remove+step.Complete]
	if gone == nil {
		return nil
	}
	delete(p.pods, keyOf(gone.object))
	if step.Remove != "" {
		return gone.node.Drop(gone.uid)
	}
	gone.object.Status.Phase = v1.PodSucceeded
	p.ended = append(p.ended, gone.object)
	return gone.node.Complete(gone.uid)
}

// come has the kubelet decide about a pod that is bound to the node.
func (p *player) come(object *v1.Pod, n *node, late bool) error {
	object = object.DeepCopy()
	uid := object.UID
	if mirrored := object.Annotations[mirrorAnnotation]; mirrored != "" {
		uid = types.UID(mirrored)
	}
	object.Status = v1.PodStatus{Phase: v1.PodRunning, QOSClass: v1qos.GetPodQOS(object)}
	if late {
		object.Status.Phase = v1.PodPending
	}
	verdict, err := n.admit(object, uid)
	if err != nil {
		return err
	}
	if verdict.Admitted || late {
		p.pods[keyOf(object)] = &pod{object: object, uid: uid, node: n}
		n.spoilt = n.spoilt || !verdict.Admitted
		return nil
	}
	object.Status.Phase, object.Status.Reason = v1.PodFailed, verdict.Reason
	p.ended = append(p.ended, object)
	return nil
}

// admit asks the managers. Scheduling constraints are not theirs, and their node has no labels.
func (n *node) admit(object *v1.Pod, uid types.UID) (*managers.Verdict, error) {
	asked := object.DeepCopy()
	asked.Spec.NodeSelector, asked.Spec.Affinity, asked.DeletionTimestamp = nil, nil, nil
	verdict, err := n.Admit(asked, uid)
	if err != nil {
		return nil, fmt.Errorf("machine %s: %w", n.setup.Machine, err)
	}
	return verdict, nil
}

// dump has nrtd make the node's object.
func (n *node) dump(ctx context.Context) (err error) {
	if n.object, err = n.Object(ctx); err != nil || n.setup.Without != withoutState {
		return err
	}
	n.object["attributes"] = slices.DeleteFunc(n.object["attributes"].([]any), func(a any) bool {
		return a.(map[string]any)["name"] == "nrtd.dev/node-state"
	})
	return nil
}

// ---- the command

// step is a step of the plan as printed.
type step struct {
	Action, Namespace, Pod string
	UID, From, To, Verdict *string
	Owner                  *string
	Priority               *int32
	NUMANodes, CPUs        string
	Cost                   *int64
}

func (s *step) String() string {
	return fmt.Sprintf("%s %s/%s from %s to %s (NUMA nodes %q, CPUs %q)", s.Action, s.Namespace, s.Pod, text(s.From), text(s.To), s.NUMANodes, s.CPUs)
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// plan is what the command prints.
type plan struct {
	Outcome               string
	Wanted, Placed, Moves int
	Cost                  int64
	SearchComplete        bool
	Steps                 []*step
	Unplaced              []struct{ Namespace, Pod string }
	LeftAlone             []struct{ Node, Reason string }
	exit                  int
}

// write writes objects for the command.
func (p *player) write(name string, object any) (string, error) {
	path := filepath.Join(p.dir, name)
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o644)
}

// hasObjects tells whether there is a NodeResourceTopology object; without one the command fails.
func (p *player) hasObjects() bool {
	return slices.ContainsFunc(p.nodes, func(n *node) bool { return n.setup.Without != withoutObject })
}

// objects are the objects of the API server.
func (p *player) objects() map[string]any {
	items := []any{}
	for _, n := range p.nodes {
		if n.setup.Without != withoutObject {
			items = append(items, n.object)
		}
		if n.setup.Without != withoutNode {
			items = append(items, &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.setup.Labels},
				Spec: v1.NodeSpec{Unschedulable: n.setup.Cordoned}, Status: v1.NodeStatus{Capacity: n.amounts, Allocatable: n.amounts}})
		}
	}
	for _, q := range p.pods {
		items = append(items, asObject(q.object))
	}
	for _, object := range p.ended {
		items = append(items, asObject(object))
	}
	for _, b := range p.cluster.Budgets {
		items = append(items, b)
	}
	if p.cluster.Replicas == 0 {
		for _, object := range p.cluster.Wanted {
			items = append(items, asObject(object))
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// asObject is the pod as the API server has it: its UID is not the kubelet's if it mirrors a static pod.
func asObject(object *v1.Pod) *v1.Pod {
	object = object.DeepCopy()
	object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return object
}

// plan runs `kubectl numa plan`.
func (p *player) plan() (*plan, error) {
	objects, err := p.write("objects.json", p.objects())
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"plan", "--from", objects, "-o", "json"}, p.cluster.Options.flags())
	for i, object := range p.cluster.Wanted {
		p.wanted[keyOf(object)] = object
		if p.cluster.Replicas > 0 && i == 0 {
			file, err := p.write("wanted.json", asObject(object))
			if err != nil {
				return nil, err
			}
			args = append(args, "-f", file, "--replicas", fmt.Sprint(p.cluster.Replicas))
		}
	}
	for i := 1; i <= p.cluster.Replicas && p.cluster.Replicas > 1; i++ {
		p.wanted[fmt.Sprintf("%s-%d", keyOf(p.cluster.Wanted[0]), i)] = p.cluster.Wanted[0]
	}
	if p.cluster.Replicas == 0 {
		args = append(args, "--pending")
	}
	if p.Verbose {
		fmt.Printf("  | %v\n", args[4:])
		for _, object := range p.wanted {
			fmt.Printf("  | %s: %d exclusive CPUs, %v\n", object.Name, exclusiveCPUs(object), object.Spec.Containers[0].Resources.Requests)
		}
	}
	return p.run(args)
}

func (p *player) run(args []string) (*plan, error) {
	var said bytes.Buffer
	command := exec.CommandContext(p.ctx, p.Numa, args...)
	command.Stderr = &said
	begun := time.Now()
	text, err := command.Output()
	p.Tally.time(time.Since(begun))
	plan := &plan{}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(text) > 0 {
		plan.exit, err = exit.ExitCode(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("kubectl-numa %v: %w: %s", args, err, said.String())
	}
	return plan, json.Unmarshal(text, plan)
}
