// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"nrtd.dev/tests/upstream/internal/managers"
)

// chosen is the answer that the scheduler follows, nil = none.
func (p *pod) chosen() *answer {
	if a := p.last(); a != nil && a.forgot == never {
		return a
	}
	return nil
}

func (p *player) inTime(what string, a *reply) error {
	if limit := answerLimit * time.Duration(p.Slack); a.cpu > limit {
		return wrong("time", "%s took %v of CPU time, %v in all", what, a.cpu, a.took.Round(time.Millisecond))
	}
	return nil
}

// ---- requests

// ask sends a filter request as a scheduler does: with the nodes that could hold the pod alone.
func (p *player) ask(pod *pod, how int) error {
	if pod.state != pending && pod.state != deleted || pod.node != nil || pod.mirror {
		return nil
	}
	var names []string
	for i, n := range p.nodes {
		if n.has(pod.object) && (how != 1 || i > 0) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	r := p.replicas[0]
	if how == 2 {
		r = p.replicas[len(p.replicas)-1]
	}
	a, err := r.ask("filter", pod.object, names)
	if err != nil {
		return err
	}
	p.Tally.ask(a.took)
	if a.code != http.StatusOK || a.Error != "" {
		return wrong("answer", "/filter for %v returned %d %q", pod, a.code, a.Error)
	}
	if err := p.inTime("/filter for "+pod.id, a); err != nil {
		return err
	}
	by := p.instanceAt(a.by)
	p.Tally.Asked++
	for _, before := range pod.answers {
		if before.instance == by.instance {
			before.forgot = min(before.forgot, p.order)
		}
	}
	if p.Verbose {
		fmt.Printf("  |    %v of %v: %v %v\n", pod, names, a.NodeNames, a.FailedNodes)
	}
	if len(a.NodeNames) != 1 || !aligns(pod.object) {
		return nil
	}
	p.Tally.Yes++
	n := p.nodeNamed(a.NodeNames[0])
	seen, objects := by.knows(pods), by.knows(nrts)
	if pod.state == deleted {
		p.Tally.Late++
	}
	pod.answers = append(pod.answers, &answer{node: n, instance: by.instance, order: p.order, pods: seen, nrts: objects, forgot: never, exact: !n.setup.Foreign})
	if !slices.Contains(n.assigned, pod) {
		n.assigned = append(n.assigned, pod)
	}
	return nil
}

// ---- whether an assumed pod was right

// happened is what the extender process did not know about the node when it assumed the pod.
type happened struct {
	admitted bool // the kubelet has admitted a pod that the process did not know
	ended    bool // a pod has ended, or was bound to another node, and the process did not know it
}

// knew tells whether the process that gave the answer counted pod q on the node. A pod that the process assumed on the node later was
// judged in addition to this answer's pod.
func (a *answer) knew(q *pod) bool {
	if q.static {
		return q.shownAt <= a.nrts
	}
	if q.node == a.node && q.boundAt <= a.pods {
		return true
	}
	for _, other := range q.answers {
		if other.instance == a.instance && other.node == a.node && (other.forgot == never || other.forgot > a.order) {
			return true
		}
	}
	return false
}

// unknown returns what had happened on the answer's node without the knowledge of the process.
func (p *player) unknown(of *pod, a *answer) (h happened) {
	for _, q := range a.node.assigned {
		if q == of {
			continue
		}
		knew := a.knew(q)
		if q.node == a.node && q.admitOrder != never && !knew && q.endAt > a.pods {
			h.admitted = true
		}
		if !knew {
			continue
		}
		gone := q.endOrder != never || (q.node != nil && q.node != a.node) || q.chosen() == nil && q.node == nil
		if gone && q.endAt > a.pods && !q.mirror {
			h.ended = true
		}
	}
	return h
}

// judged counts a pod that was admitted on the node on which the extender had assumed it.
func (p *player) judged(pod *pod) {
	if a := pod.chosen(); a != nil && a.node == pod.node {
		p.Tally.judge(p.unknown(pod, a), a.exact, false)
	}
}

// judgeRejection decides whether the extender could have avoided the rejection.
func (p *player) judgeRejection(pod *pod, verdict *managers.Verdict) error {
	a := pod.chosen()
	if a == nil || a.node != pod.node {
		return nil
	}
	p.bars = append(p.bars, bar{pod.node, pod.shape, time.Now().Add(barred)})
	h := p.unknown(pod, a)
	p.Tally.judge(h, a.exact, true)
	if h.admitted || h.ended || !a.exact {
		return nil
	}
	return wrong("yes", "%v was sent to %s at step %d; its kubelet rejects it: %s: %s", pod, pod.node.Name, a.order, verdict.Reason, verdict.Message)
}

// ---- at rest

// rest delivers all events and binds and admits all pods, then compares.
func (p *player) rest() error {
	if err := p.arrive(); err != nil {
		return err
	}
	for _, n := range p.nodes {
		if err := n.dump(p.ctx, p.order); err != nil {
			return err
		}
		n.publishNext(p.server, true)
	}
	if err := p.sync(); err != nil {
		return err
	}
	if err := p.unassumed(); err != nil {
		return err
	}
	for _, r := range p.replicas {
		size, err := r.rss()
		if err != nil {
			return err
		}
		p.Tally.RSS = max(p.Tally.RSS, size)
		if size > rssLimit {
			return wrong("memory", "replica %d has %d MiB", r.number, size>>20)
		}
	}
	p.Tally.Rests++
	_, err := p.compare()
	return err
}

// arrive delivers all events, binds the assumed pods and lets the kubelets decide about the bound pods. It publishes no objects.
func (p *player) arrive() error {
	if err := p.letFlow(); err != nil {
		return err
	}
	for _, pod := range p.list {
		if pod.mirror && pod.state != deleted {
			if err := p.remove(pod); err != nil {
				return err
			}
		}
		if pod.state == pending && pod.chosen() != nil {
			p.place(pod, pod.chosen().node)
		}
	}
	if err := p.sync(); err != nil {
		return err
	}
	for _, pod := range p.list {
		if err := p.admit(pod); err != nil {
			return err
		}
	}
	return p.sync()
}

// goneLimit is how long a pod may stay assumed after its deletion.
const goneLimit = 2 * time.Second

// unassumed waits until no pod is assumed.
func (p *player) unassumed() error {
	r, err := p.leader()
	if err != nil {
		return err
	}
	for end := time.Now().Add(goneLimit * time.Duration(p.Slack)); ; time.Sleep(20 * time.Millisecond) {
		samples, err := r.metrics()
		if err != nil {
			return err
		}
		n, known := samples["nrtd_extender_assumed_pods"]
		if !known {
			return fmt.Errorf("/metrics has no nrtd_extender_assumed_pods: %s", r.said())
		}
		if n == 0 {
			return nil
		}
		if time.Now().After(end) {
			return wrong("assumed", "%v after the last change %d pods are still assumed that are bound, ended or deleted", goneLimit*time.Duration(p.Slack), int(n))
		}
	}
}

// verdict is the extender's answer about a pod shape and a node.
type verdict struct {
	shape  int
	node   *node
	yes    bool
	reason string
}

// probe asks about a pod of each shape and each node that has what the pod requests. The pods are never bound.
func (p *player) probe(ask func(probe *pod, shape int, n *node) (verdict, error)) (all []verdict, err error) {
	for shape := range p.seq.Pods {
		p.probes++
		probe := newPod(fmt.Sprintf("probe-%d", p.probes), "probes", fmt.Sprintf("probe-%d", p.probes), p.seq.Pods[shape])
		if !aligns(probe.object) {
			continue
		}
		p.put(probe)
		for _, n := range p.nodes {
			if !n.has(probe.object) {
				continue
			}
			v, err := ask(probe, shape, n)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		p.server.remove(pods, probe.key())
		if err := p.sync(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// compare compares the answers of the extender and of the managers.
func (p *player) compare() ([]verdict, error) {
	p.bars = slices.DeleteFunc(p.bars, func(b bar) bool { return time.Now().After(b.until) })
	all, err := p.probe(p.compareOn)
	if err != nil {
		return nil, err
	}
	return all, p.unassumed()
}

func (p *player) compareOn(probe *pod, shape int, n *node) (verdict, error) {
	v := verdict{shape: shape, node: n}
	a, err := p.replicas[p.probes%len(p.replicas)].ask("filter", probe.object, []string{n.Name})
	if err != nil {
		return v, err
	}
	p.Tally.ask(a.took)
	if a.code != http.StatusOK {
		return v, wrong("answer", "/filter for %v returned %d %q", probe, a.code, a.Error)
	}
	if err := p.inTime("/filter about "+probe.id, a); err != nil {
		return v, err
	}
	v.yes, v.reason = len(a.NodeNames) == 1, a.reason(n.Name)
	p.probes++
	want, err := n.Try(probe.object, types.UID(fmt.Sprintf("tried-%d", p.probes)))
	if err != nil {
		return v, err
	}
	p.Tally.Compared++
	if p.Verbose && v.yes != want.Admitted {
		cpus, twice := n.Managers.Exclusive()
		fmt.Printf("  |    %s publishes %s; its pods hold CPUs %v (some twice: %v), this one would get %v\n", n.Name, content(n.published), cpus, twice, want.Containers)
	}
	switch {
	case v.yes == want.Admitted:
	case n.setup.Foreign:
		p.Tally.Estimates++
	case want.Admitted && slices.ContainsFunc(p.bars, func(b bar) bool { return b.node == n && b.shape == shape }):
		p.Tally.Barred++
	case v.yes:
		return v, wrong("at rest", "%v on %s (shape %d): the extender says yes, the managers reject it: %s: %s", probe, n.Name, shape, want.Reason, want.Message)
	default:
		return v, wrong("at rest", "%v on %s (shape %d): the managers admit it, the extender says %q", probe, n.Name, shape, v.reason)
	}
	return v, nil
}

// What an echo does: events without new information.
const (
	echoLabel = iota
	echoRelist
	echoRestart
	echoCount
)

// echoWait is longer than the time for which the extender treats another exporter's object as older than a binding.
const echoWait = 3200 * time.Millisecond

// echo sends requests for every shape and node before and after an event without new information. No node may pass that did not pass
// before.
func (p *player) echo(step Step) error {
	if err := p.arrive(); err != nil {
		return err
	}
	if err := p.unassumed(); err != nil {
		return err
	}
	before, err := p.askAll()
	if err != nil {
		return err
	}
	time.Sleep(echoWait)
	switch step.N % echoCount {
	case echoLabel:
		for _, n := range p.nodes {
			p.relabel(n, p.order)
		}
	case echoRelist:
		for _, r := range p.replicas {
			r.tooOld(nrts, false)
			r.tooOld(pods, false)
		}
	case echoRestart:
		for _, r := range p.replicas {
			r.kill()
			if err := p.startReplica(r); err != nil {
				return err
			}
		}
	}
	if err := p.letFlow(); err != nil {
		return err
	}
	after, err := p.askAll()
	if err != nil {
		return err
	}
	p.Tally.Echoes++
	for i, v := range before {
		barred := slices.ContainsFunc(p.bars, func(b bar) bool { return b.node == v.node && b.shape == v.shape })
		if v.yes || !after[i].yes || barred {
			continue
		}
		if step.N%echoCount == echoRestart {
			// A new process does not know the order in which pods started and ended, so a rejection for that reason may disappear.
			// On a node of another exporter the new answer may be wrong: the object does not report the pods' placement.
			if v.node.setup.Foreign && strings.Contains(v.reason, "depends on the start order") {
				continue
			}
			p.probes++
			want, err := v.node.Try(newPod("x", "probes", "x", p.seq.Pods[v.shape]).object, types.UID(fmt.Sprintf("tried-%d", p.probes)))
			if err != nil {
				return err
			}
			if want.Admitted {
				continue
			}
		}
		return wrong("echo", "shape %d on %s: no (%s), and yes once %s, which says nothing new", v.shape, v.node.Name, v.reason,
			[]string{"the objects have another label", "the watches are too old", "the extender is started again"}[step.N%echoCount])
	}
	return nil
}

// askAll sends requests to the extender only.
func (p *player) askAll() ([]verdict, error) {
	return p.probe(func(probe *pod, shape int, n *node) (verdict, error) {
		a, err := p.replicas[0].ask("filter", probe.object, []string{n.Name})
		if err != nil {
			return verdict{}, err
		}
		return verdict{shape, n, len(a.NodeNames) == 1, a.reason(n.Name)}, nil
	})
}
