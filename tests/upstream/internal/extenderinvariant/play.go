// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

// errWrong is what nrtd did wrong.
var errWrong = errors.New("wrong")

// wrongAs is an errWrong of a sort: a smaller sequence that fails in another way is another failure.
type wrongAs struct{ sort, text string }

func (w wrongAs) Error() string   { return w.sort + ": " + w.text }
func (w wrongAs) Is(e error) bool { return e == errWrong }

func wrong(sort, format string, args ...any) error {
	return wrongAs{sort, fmt.Sprintf(format, args...)}
}

// sortOf is the sort of an error that is errWrong.
func sortOf(err error) string {
	var w wrongAs
	if errors.As(err, &w) {
		return w.sort
	}
	return "answer"
}

// Driver plays sequences, one after the other.
type Driver struct {
	Nrtd     string
	Agents   []string // make the nodes' objects in turn; none: Nrtd makes them all
	Machines map[string]*kubelet.Machine
	Work     string   // folder for their files; a short path: sockets live below it
	Slack    int      // how many times longer nrtd may take, on a machine that does other things too
	Without  []string // steps that are not drawn
	Verbose  bool
	Tally    Tally
	runs     int
	sort     string // of the failure that is made smaller
}

// player plays one sequence.
type player struct {
	*Driver
	ctx       context.Context
	seq       *Sequence
	r         *rand.Rand
	server    *apiServer
	replicas  []*replica
	nodes     []*node
	pods      map[string]*pod
	list      []*pod // in the order of their coming
	order     int    // number of the step
	instances int
	probes    int
	held      map[string]bool // replica and kind
	bars      []bar
}

// bar is a node and a shape whose pod was rejected a moment ago although an extender's answer had sent it there.
type bar struct {
	node  *node
	shape int
	until time.Time
}

// barred is how long the extender assumes no pod of a shape on a node whose kubelet has rejected such a pod.
const barred = 30 * time.Second

// Play returns what nrtd did wrong, one line; nil when it did nothing wrong, or when the kubelet's code gave up.
func (d *Driver) Play(ctx context.Context, s *Sequence) (differences []string, err error) {
	d.runs++
	drawn := s.Wanted > 0
	if !drawn && d.sort == "" {
		d.sort = "any"
	} else if drawn {
		d.sort = ""
	}
	p := &player{Driver: d, ctx: ctx, seq: s, r: rand.New(rand.NewPCG(s.Draw, 1)), pods: map[string]*pod{}, held: map[string]bool{}}
	dir := filepath.Join(d.Work, fmt.Sprint(d.runs))
	begun := time.Now()
	err = os.MkdirAll(dir, 0o700)
	if err == nil {
		err = p.start(dir)
	}
	if err == nil {
		err = p.steps()
	}
	p.close()
	d.Tally.Steps += p.order
	d.Tally.Sequences++
	switch {
	case errors.Is(err, errWrong):
		sort := sortOf(err)
		if !drawn && d.sort != "any" && sort != d.sort {
			err = nil // another failure than the one that is made smaller
			break
		}
		if drawn {
			d.sort = sort
			fmt.Printf("  | after %d steps: %v\n", p.order, err)
		}
		differences, err = append([]string{err.Error()}, textOf(s)...), nil
	case errors.Is(err, kubeletnode.ErrKubelet) && p.order > 0:
		d.Tally.GivenUp++
		err = nil
	}
	s.Wanted = 0
	if d.Verbose {
		fmt.Printf("  | %d steps in %v\n", p.order, time.Since(begun).Round(time.Millisecond))
	}
	return differences, errors.Join(err, os.RemoveAll(dir))
}

// textOf is the sequence for people.
func textOf(s *Sequence) (lines []string) {
	for i, n := range s.Nodes {
		c := n.Config
		lines = append(lines, fmt.Sprintf("%s: %s, topology manager %s/%s %v, CPU manager %v, memory manager %q, devices %v, foreign %v", nodeNames[i], n.Machine,
			c.TopologyManagerPolicy, c.TopologyManagerScope, c.TopologyManagerPolicyOptions, c.CPUManagerPolicyOptions, c.MemoryManagerPolicy, n.Devices, n.Foreign))
	}
	shapes := map[int]bool{}
	for i, step := range s.Steps {
		lines = append(lines, fmt.Sprintf("%d: %v", i+1, step))
		if step.Do == create || step.Do == static {
			shapes[step.N] = true
		}
	}
	for i := range s.Pods {
		if shapes[i] {
			lines = append(lines, fmt.Sprintf("shape %d: %v", i, newPod("x", "default", "x", s.Pods[i])))
		}
	}
	return append(lines, fmt.Sprintf("replicas: %d", s.Replicas))
}

// agent is the program that makes the object of the i-th node, another one in each sequence.
func (p *player) agent(i int) string {
	if len(p.Agents) == 0 {
		return p.Nrtd
	}
	return p.Agents[(p.runs+i)%len(p.Agents)]
}

func (p *player) start(dir string) error {
	p.server = newAPIServer()
	for i, setup := range p.seq.Nodes {
		n, err := newNode(p.ctx, dir, p.agent(i), nodeNames[i], setup, p.Machines[setup.Machine])
		if err != nil {
			return err
		}
		p.nodes = append(p.nodes, n)
		p.server.put(nodes, n.Name, n.object())
		if err := n.dump(p.ctx, p.order); err != nil {
			return err
		}
		n.publishNext(p.server, true)
	}
	for i := range p.seq.Replicas {
		r, err := newReplica(p.server, p.Nrtd, dir, i, p.seq.Replicas)
		if err != nil {
			return err
		}
		p.replicas = append(p.replicas, r)
		if err := p.startReplica(r); err != nil {
			return err
		}
	}
	return p.sync()
}

func (p *player) startReplica(r *replica) error {
	p.instances++
	if err := r.start(p.instances); err != nil {
		return err
	}
	for k := range kindCount {
		r.hold(k, false)
		delete(p.held, heldName(r, k))
	}
	return r.ready(p.Slack)
}

func (p *player) close() {
	for _, r := range p.replicas {
		r.kill()
		r.close()
	}
	for _, n := range p.nodes {
		n.Close()
	}
}

// sync waits until each replica has read everything that may reach it.
func (p *player) sync() error {
	for _, r := range p.replicas {
		if err := r.sync(p.Slack); err != nil {
			return err
		}
	}
	return nil
}

// steps plays those that are written down, then those that are still wanted; in the end everything comes to rest.
func (p *player) steps() error {
	for _, step := range p.seq.Steps {
		if err := p.play(step); err != nil {
			return err
		}
	}
	for i := range p.seq.Wanted {
		step := p.draw()
		if i == p.seq.Wanted-1 {
			step = Step{Do: rest}
		}
		p.seq.Steps = append(p.seq.Steps, step)
		if err := p.play(step); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) play(step Step) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.order++
	if p.Verbose {
		fmt.Printf("  | %d: %v\n", p.order, step)
	}
	err := p.do(step)
	if err == nil {
		err = p.sync()
	}
	var w wrongAs
	if err != nil && errors.Is(err, errWrong) && !errors.As(err, &w) {
		err = wrong("answer", "%v", err)
	}
	return err
}

func (p *player) do(step Step) error {
	pod, node := p.pods[step.Pod], p.nodeNamed(step.Node)
	switch step.Do {
	case create:
		p.create(step)
	case static:
		return p.static(step, node)
	case mirror:
		p.mirror(step)
	case hostile:
		return p.hostile(step, node)
	case rest:
		return p.rest()
	case echo:
		return p.echo(step)
	case dump:
		return node.dump(p.ctx, p.order)
	case publish:
		return p.publish(node, step.N)
	case relabel:
		p.relabel(node, step.N)
	case hold, flow, cut, finish, relist, retorn, away, restart, handOver:
		return p.disturb(step)
	case ask, bind, bindTo, admit, run, failed, end, remove, resize:
		if pod != nil {
			return p.onPod(step, pod, node)
		}
	default:
		return fmt.Errorf("no step is called %q", step.Do)
	}
	return nil
}

func (p *player) onPod(step Step, pod *pod, node *node) error {
	switch step.Do {
	case ask:
		return p.ask(pod, step.N)
	case bind:
		if pod.state == pending && pod.chosen() != nil {
			p.place(pod, pod.chosen().node)
		}
	case bindTo:
		if pod.state == pending && node.has(pod.object) {
			p.place(pod, node)
		}
	case admit:
		return p.admit(pod)
	case run:
		if pod.state == admitted {
			pod.setRunning()
			pod.state = running
			p.put(pod)
		}
	case failed, end:
		return p.end(pod, step)
	case remove:
		return p.remove(pod)
	case resize:
		return p.resize(pod, int64(step.N))
	}
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

// put writes the pod; from then on it has the resourceVersion of that, as whoever asks about it has read it.
func (p *player) put(pod *pod) int64 {
	rv := p.server.put(pods, pod.key(), asMap(pod.object))
	pod.object.ResourceVersion = fmt.Sprint(rv)
	return rv
}

func (p *player) add(pod *pod) {
	p.pods[pod.id] = pod
	p.list = append(p.list, pod)
	p.put(pod)
}

// create makes a pod. It may have the name of one that is gone.
func (p *player) create(step Step) {
	if p.pods[step.Pod] != nil || step.N >= len(p.seq.Pods) {
		return
	}
	name := step.Pod
	if before := p.pods[step.Of]; before != nil && before.state == deleted && before.object.Namespace == v1.NamespaceDefault {
		name = before.object.Name
	}
	if slices.ContainsFunc(p.list, func(q *pod) bool { return q.object.Name == name && q.state != deleted }) {
		name = step.Pod
	}
	pod := newPod(step.Pod, v1.NamespaceDefault, name, p.seq.Pods[step.N])
	pod.shape = step.N
	p.add(pod)
}

// place binds a pod.
func (p *player) place(pod *pod, n *node) {
	pod.object.Spec.NodeName = n.Name
	pod.object.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	pod.node, pod.state, pod.boundOrder = n, bound, p.order
	pod.boundAt = p.put(pod)
	n.assigned = append(n.assigned, pod)
}

func (p *player) admit(pod *pod) error {
	if pod.state != bound || pod.mirror {
		return nil
	}
	verdict, err := pod.node.Admit(pod.object, pod.uid)
	if err != nil {
		return err
	}
	if verdict.Admitted {
		pod.setAdmitted()
		pod.state, pod.admitOrder = admitted, p.order
		p.put(pod)
		p.judged(pod)
		return nil
	}
	pod.setRejected(verdict)
	pod.state, pod.endOrder = ended, p.order
	pod.endAt = p.put(pod)
	return p.judgeRejection(pod, verdict)
}

// end ends a pod by itself, or for a reason that the managers have nothing to do with.
func (p *player) end(pod *pod, step Step) error {
	if pod.state < bound || pod.state >= ended || pod.mirror || (step.Do == end && pod.state < admitted) {
		return nil
	}
	if pod.state >= admitted {
		if err := pod.node.Complete(pod.uid); err != nil {
			return err
		}
	}
	switch {
	case step.Do == failed:
		pod.setFailed(step.Kind)
	case step.N == 1:
		pod.setTerminated(v1.PodFailed)
	default:
		pod.setTerminated(v1.PodSucceeded)
	}
	pod.state, pod.endOrder = ended, p.order
	pod.endAt = p.put(pod)
	return nil
}

// remove deletes a pod. Its kubelet ends one that it has before the API server forgets it.
func (p *player) remove(pod *pod) error {
	if pod.state == deleted {
		return nil
	}
	if pod.node != nil && pod.node.Has(pod.uid) && !pod.mirror {
		now := metav1.Now()
		pod.object.DeletionTimestamp = &now
		p.put(pod)
		if err := pod.node.Drop(pod.uid); err != nil {
			return err
		}
	}
	if pod.endOrder == never {
		pod.endOrder = p.order
	}
	gone := p.server.remove(pods, pod.key())
	pod.endAt = min(pod.endAt, gone)
	pod.state = deleted
	return nil
}

// static starts a static pod; when its kubelet has admitted it, the mirror pod appears.
func (p *player) static(step Step, n *node) error {
	if p.pods[step.Pod] != nil || step.N >= len(p.seq.Pods) || !n.has(&v1.Pod{Spec: p.seq.Pods[step.N]}) {
		return nil
	}
	pod := newPod(step.Pod, v1.NamespaceDefault, step.Pod+"-"+n.Name, p.seq.Pods[step.N])
	pod.shape, pod.uid, pod.static = step.N, types.UID("file-"+step.Pod), true
	own := pod.object.DeepCopy()
	own.UID = pod.uid
	verdict, err := n.Admit(own, pod.uid)
	if err != nil || !verdict.Admitted {
		return err
	}
	pod.object.Annotations = map[string]string{"kubernetes.io/config.mirror": string(pod.uid), "kubernetes.io/config.hash": string(pod.uid),
		"kubernetes.io/config.source": "file"}
	controller := true
	pod.object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: types.UID("node-" + n.Name), Controller: &controller}}
	pod.object.Spec.NodeName = n.Name
	pod.setAdmitted()
	pod.node, pod.state, pod.boundOrder, pod.admitOrder = n, admitted, p.order, p.order
	p.add(pod)
	pod.boundAt = p.server.rv
	n.assigned = append(n.assigned, pod)
	return nil
}

// mirror makes a pod that says it is the mirror of another one. No kubelet admits it; the node's kubelet deletes it later.
func (p *player) mirror(step Step) {
	victim := p.pods[step.Of]
	if p.pods[step.Pod] != nil || victim == nil || victim.node == nil {
		return
	}
	spec := victim.object.Spec
	if step.N == 1 {
		spec = p.seq.Pods[0]
	}
	pod := newPod(step.Pod, "tenant", step.Pod, spec)
	pod.shape, pod.mirror = -1, true
	pod.object.Annotations = map[string]string{"kubernetes.io/config.mirror": string(victim.uid)}
	p.addBound(pod, victim.node)
}

// addBound is a pod that is made with a node.
func (p *player) addBound(pod *pod, n *node) {
	pod.object.Spec.NodeName = n.Name
	pod.node, pod.state, pod.boundOrder = n, bound, p.order
	p.add(pod)
	pod.boundAt = p.server.rv
	n.assigned = append(n.assigned, pod)
}

// resize asks for more CPUs in the first container of a Guaranteed pod, which a kubelet with the static CPU manager does
// not grant.
func (p *player) resize(pod *pod, more int64) error {
	if pod.state != running || pod.object.Spec.Resources != nil || pod.object.Status.QOSClass != v1.PodQOSGuaranteed ||
		pod.object.Annotations != nil {
		return nil
	}
	c := pod.object.Spec.Containers[0]
	cpus := c.Resources.Requests[v1.ResourceCPU]
	cpus.SetMilli(cpus.MilliValue() + 1000*more)
	amounts := v1.ResourceList{v1.ResourceCPU: cpus}
	granted, err := pod.node.Resize(pod.key(), c.Name, amounts)
	if err != nil {
		return err
	}
	if granted {
		return fmt.Errorf("%s: a kubelet without the feature gate granted other exclusive CPUs", pod.id)
	}
	pod.setResize(amounts, true)
	p.put(pod)
	return nil
}

func (p *player) publish(n *node, how int) error {
	if n.setup.Foreign && how != 2 {
		// An exporter writes what it has just read: what is taken to be in its object depends on the time.
		if err := n.dump(p.ctx, p.order); err != nil {
			return err
		}
		how = 1
	}
	switch {
	case how == 2 && n.published != nil:
		n.publish(p.server, n.published)
	case how != 2 && len(n.queue) > 0:
		n.publishNext(p.server, how == 1)
	}
	return nil
}

func (p *player) relabel(n *node, value int) {
	if n.published != nil {
		n.published["metadata"].(map[string]any)["labels"] = map[string]any{"edited": fmt.Sprint(value)}
		n.publish(p.server, n.published)
	}
}
