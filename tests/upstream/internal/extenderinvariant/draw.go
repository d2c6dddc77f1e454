// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"fmt"
	"slices"
)

// likely are the steps, each as often as it is drawn while it can be done.
var likely = []struct {
	do     string
	weight int
}{{create, 140}, {ask, 230}, {bind, 170}, {bindTo, 25}, {admit, 210}, {run, 80}, {failed, 20}, {end, 75}, {remove, 80}, {resize, 12}, {static, 10},
	{mirror, 20}, {hostile, 8}, {dump, 110}, {publish, 130}, {relabel, 15}, {hold, 22}, {flow, 90}, {cut, 6}, {finish, 8}, {relist, 6}, {retorn, 3}, {away, 1},
	{restart, 5}, {handOver, 2}, {rest, 40}, {echo, 2}}

// liveMax is how many pods there are at once.
const liveMax = 45

// otherReasons are those for which pods fail without the kubelet's managers.
var otherReasons = []string{"NodeAffinity", "Evicted", "OutOfpods", "DeadlineExceeded", "NodeShutdown", "Terminated", "Preempting"}

// draw draws a step that can be done as things are.
func (p *player) draw() Step {
	total := 0
	for _, l := range likely {
		total += l.weight
	}
	for {
		at := p.r.IntN(total)
		for _, l := range likely {
			if at -= l.weight; at < 0 {
				if step, ok := p.drawOne(l.do); ok && !slices.Contains(p.Without, l.do) {
					return step
				}
				break
			}
		}
	}
}

func (p *player) newID() string { return fmt.Sprintf("p%d", p.order+1) }

// drawOne draws what a step is about; ok is false when it cannot be done.
func (p *player) drawOne(do string) (s Step, ok bool) {
	s.Do = do
	switch do {
	case create, static, mirror, hostile:
		return p.drawNew(s)
	case ask, bind, bindTo, admit, run, failed, end, remove, resize:
		return p.drawOld(s)
	case dump, publish, relabel:
		n := pick(p.r, p.nodes...)
		s.Node = n.Name
		if do == publish {
			s.N = pick(p.r, 0, 0, 0, 1, 1, 2)
			return s, s.N == 2 || len(n.queue) > 0
		}
		s.N = p.r.IntN(100)
		if do == dump {
			s.N = 0
		}
		return s, true
	case rest:
		return s, true
	case echo:
		s.N = p.r.IntN(echoCount)
		// Where no object is another exporter's, a look at it now and then is enough.
		return s, slices.ContainsFunc(p.nodes, func(n *node) bool { return n.setup.Foreign }) || chance(p.r, 20)
	case restart:
		s.N = p.r.IntN(len(p.replicas))
		return s, true
	case handOver:
		return s, len(p.replicas) > 1
	case away:
		s.N = p.r.IntN(len(p.replicas))
		return s, true
	}
	r := pick(p.r, p.replicas...)
	k := pick(p.r, nrts, nodes, pods, pods, pods)
	s.N, s.Kind = r.number, kindNames[k]
	return s, do != hold && do != flow || p.held[heldName(r, k)] == (do == flow)
}

func (p *player) drawNew(s Step) (Step, bool) {
	s.Pod = p.newID()
	live := 0
	for _, q := range p.list {
		if q.alive() {
			live++
		}
	}
	s.N = pick(p.r, 0, 1, 2, p.r.IntN(len(p.seq.Pods)), p.r.IntN(len(p.seq.Pods)), p.r.IntN(len(p.seq.Pods)))
	switch s.Do {
	case create:
		if gone := p.among(func(q *pod) bool { return q.state == deleted }); gone != nil && chance(p.r, 25) {
			s.Of = gone.id
			s.N = pick(p.r, s.N, max(0, gone.shape))
		}
	case static:
		s.Node = pick(p.r, nodeNames...)
	case mirror:
		victim := p.among(func(q *pod) bool { return q.state >= admitted && q.state < ended })
		if victim == nil {
			return s, false
		}
		s.Of, s.N = victim.id, p.r.IntN(2)
	case hostile:
		s.N = p.r.IntN(len(hostilePods))
		s.Node = pick(p.r, append([]string{""}, nodeNames...)...)
	}
	return s, live < liveMax
}

// drawOld draws a pod that the step can be about.
func (p *player) drawOld(s Step) (Step, bool) {
	var suits func(q *pod) bool
	switch s.Do {
	case ask:
		s.N = pick(p.r, 0, 0, 0, 0, 0, 1, 2)
		late := chance(p.r, 3)
		again := chance(p.r, 15)
		suits = func(q *pod) bool {
			if late {
				return q.state == deleted && q.node == nil && !q.mirror
			}
			return q.state == pending && !q.mirror && aligns(q.object) && (again || q.chosen() == nil)
		}
	case bind:
		suits = func(q *pod) bool { return q.state == pending && q.chosen() != nil }
	case bindTo:
		s.Node = pick(p.r, nodeNames...)
		suits = func(q *pod) bool { return q.state == pending && !q.mirror && p.nodeNamed(s.Node).has(q.object) }
	case admit:
		suits = func(q *pod) bool { return q.state == bound && !q.mirror }
	case run:
		suits = func(q *pod) bool { return q.state == admitted }
	case failed:
		s.Kind = pick(p.r, otherReasons...)
		suits = func(q *pod) bool { return q.state >= bound && q.state < ended && !q.mirror }
	case end:
		s.N = p.r.IntN(2)
		suits = func(q *pod) bool { return q.state == running || q.state == admitted && chance(p.r, 20) }
	case remove:
		keen := chance(p.r, 60)
		suits = func(q *pod) bool { return q.state < deleted && (q.state == ended || q.mirror || !keen) }
	case resize:
		s.N = 1 + p.r.IntN(2)
		suits = func(q *pod) bool {
			return q.state == running && q.object.Status.QOSClass == "Guaranteed" && q.shape >= 0
		}
	}
	q := p.among(suits)
	if q == nil {
		return s, false
	}
	s.Pod = q.id
	return s, true
}

// among draws one of the pods that suit, the later ones more often; nil = none does.
func (p *player) among(suits func(q *pod) bool) *pod {
	var list []*pod
	for _, q := range p.list {
		if suits(q) {
			list = append(list, q)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[max(p.r.IntN(len(list)), p.r.IntN(len(list)))]
}
