// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nrtd.dev/tests/upstream/internal/managers"
)

// Times of a cluster under load. Binding and admission take as long as with a real scheduler and kubelet, and now and then much longer.
const (
	arriveEvery  = 8 * time.Millisecond
	waitingMax   = 12                      // pods without a node; more do not come
	askAgain     = 50 * time.Millisecond   // after a failed request
	unfit        = 200 * time.Millisecond  // after a request that no node passed
	waitMax      = 3 * time.Second         // then the pod is deleted
	dumpEvery    = 250 * time.Millisecond  // per node
	answering    = 1100 * time.Millisecond // from one change until the next at least, beside the time of the change
	replaceAfter = 2500 * time.Millisecond // a replica that has ended is started again
)

// slow is a duration up to `most`, and in one of 20 cases up to half a second.
func slow(r *rand.Rand, most time.Duration) time.Duration {
	if chance(r, 5) {
		most = 500 * time.Millisecond
	}
	return time.Duration(r.Int64N(int64(most)))
}

// ChangeTally is what happened while the extender changed.
type ChangeTally struct {
	Kills, HandOvers int
	Asked, Failed    int // requests, and requests without an answer
	Bound, Rejected  int
	Left             int // pods of several containers that were rejected because a pod had ended after the answer; not in Rejected
	Orphans          int // pods that were bound after the process that had assumed them had ended
	away             []time.Duration
}

func (t *ChangeTally) String() string {
	var longest time.Duration
	for _, one := range t.away {
		longest = max(longest, one)
	}
	return fmt.Sprintf("%d kills, %d leases handed over; %d requests, %d failed; %d pods bound, %d of them assumed by a process that had ended; %d rejected, and %d of several containers on whose node a pod had ended after the answer; longest time without an answer %v",
		t.Kills, t.HandOvers, t.Asked, t.Failed, t.Bound, t.Orphans, t.Rejected, t.Left, longest.Round(time.Millisecond))
}

// load is a cluster whose pods come, run and end while the extender changes.
type load struct {
	*player
	tally    *ChangeTally
	due      []action
	waiting  []*waitingPod
	left     int // changes
	arrives  time.Time
	dumps    time.Time
	changes  time.Time // the next change
	silent   time.Time // since when no request was answered; zero = the last one was answered
	dirty    map[*node]bool
	ended    map[*node]time.Time // the last end of a pod
	returned chan error          // of the replica that is being replaced; nil = none is
	replaced *replica
	rejected []string
	history  []occurrence
}

// occurrence is something that happened on a node, or to the extender (no node).
type occurrence struct {
	at   time.Time
	node *node
	text string
}

// remembered is how long events are told beside a rejected pod.
const remembered = 2500 * time.Millisecond

func (l *load) happened(n *node, format string, args ...any) {
	l.history = append(l.history, occurrence{time.Now(), n, fmt.Sprintf(format, args...)})
	for time.Since(l.history[0].at) > remembered {
		l.history = l.history[1:]
	}
}

// story is what happened on the node lately, and to the extender.
func (l *load) story(n *node) string {
	var b strings.Builder
	for _, e := range l.history {
		if e.node == n || e.node == nil {
			fmt.Fprintf(&b, "\n    %d ms ago: %s", time.Since(e.at).Milliseconds(), e.text)
		}
	}
	return b.String()
}

type action struct {
	at time.Time
	do func() error
}

type waitingPod struct {
	*pod
	since, next time.Time
}

// PlayChanges plays the nodes and pods of a sequence under load, and kills the extender or has it hand over its Lease so many times. It
// returns a line for each pod that a kubelet rejected.
func (d *Driver) PlayChanges(ctx context.Context, s *Sequence, changes int, tally *ChangeTally) (rejected []string, err error) {
	d.runs++
	for _, n := range s.Nodes {
		n.Foreign = false
	}
	p := &player{Driver: d, ctx: ctx, seq: s, r: rand.New(rand.NewPCG(s.Draw, 2)), pods: map[string]*pod{}, held: map[string]bool{}}
	l := &load{player: p, tally: tally, left: changes, dirty: map[*node]bool{}, ended: map[*node]time.Time{}}
	dir := filepath.Join(d.Work, fmt.Sprint(d.runs))
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = p.start(dir)
	}
	if err == nil {
		err = l.run()
	}
	if l.returned != nil {
		err = errors.Join(err, <-l.returned)
	}
	p.close()
	return l.rejected, errors.Join(err, os.RemoveAll(dir))
}

func (l *load) run() error {
	l.changes = time.Now().Add(answering)
	for ended := (time.Time{}); ended.IsZero() || time.Now().Before(ended); {
		if err := errors.Join(l.ctx.Err(), l.turn()); err != nil {
			return err
		}
		if ended.IsZero() && l.left == 0 && l.returned == nil {
			ended = time.Now().Add(2 * answering) // the pods of the last change
		}
	}
	return nil
}

// turn does what is due.
func (l *load) turn() error {
	now := time.Now()
	var due []action
	l.due = slices.DeleteFunc(l.due, func(a action) bool {
		if a.at.After(now) {
			return false
		}
		due = append(due, a)
		return true
	})
	slices.SortStableFunc(due, func(a, b action) int { return a.at.Compare(b.at) })
	for _, a := range due {
		if err := a.do(); err != nil {
			return err
		}
	}
	if now.After(l.arrives) && len(l.waiting) < waitingMax {
		l.arrive()
		l.arrives = now.Add(arriveEvery)
	}
	if err := l.schedule(now); err != nil {
		return err
	}
	if now.After(l.dumps) {
		l.dumps = now.Add(dumpEvery)
		if err := l.dumpAll(); err != nil {
			return err
		}
	}
	if err := l.change(now); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return nil
}

func (l *load) after(d time.Duration, do func() error) {
	l.due = append(l.due, action{time.Now().Add(d), do})
}

func (l *load) arrive() {
	l.order++
	shape := l.r.IntN(len(l.seq.Pods))
	if chance(l.r, 50) {
		shape = l.r.IntN(2)
	}
	l.create(Step{Do: create, Pod: fmt.Sprintf("p%d", l.order), N: shape})
	pod := l.list[len(l.list)-1]
	if aligns(pod.object) {
		l.waiting = append(l.waiting, &waitingPod{pod, time.Now(), time.Now()})
	}
}

// schedule asks about the first pod that is due, as a scheduler asks about one pod after the other.
func (l *load) schedule(now time.Time) error {
	i := slices.IndexFunc(l.waiting, func(w *waitingPod) bool { return !w.next.After(now) })
	if i < 0 {
		return nil
	}
	w := l.waiting[i]
	l.waiting = append(slices.Delete(l.waiting, i, i+1), w)
	if now.After(w.since.Add(waitMax)) {
		l.waiting = l.waiting[:len(l.waiting)-1]
		return l.remove(w.pod)
	}
	var names []string
	for _, n := range l.nodes {
		if n.has(w.object) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		l.waiting = l.waiting[:len(l.waiting)-1]
		return l.remove(w.pod)
	}
	a, r, err := l.request(w.pod, names)
	if err != nil || a == nil {
		w.next = now.Add(askAgain)
		return err
	}
	if len(a.NodeNames) != 1 {
		w.next = now.Add(unfit)
		return nil
	}
	l.waiting = l.waiting[:len(l.waiting)-1]
	n, by, answered := l.nodeNamed(a.NodeNames[0]), r.instance, time.Now()
	l.happened(n, "process %d assumed %v", by, w.pod)
	l.after(2*time.Millisecond+slow(l.r, 60*time.Millisecond), func() error {
		l.tally.Bound++
		if r == l.replaced || r.instance != by {
			l.tally.Orphans++
		}
		l.place(w.pod, n)
		l.happened(n, "%s is bound", w.id)
		l.after(5*time.Millisecond+slow(l.r, 50*time.Millisecond), func() error { return l.decide(w.pod, by, answered) })
		return nil
	})
	return nil
}

// request sends a request to a replica, as through a Service. It returns nil if no replica answers.
func (l *load) request(pod *pod, nodes []string) (*reply, *replica, error) {
	var ready []*replica
	for _, r := range l.replicas {
		if r != l.replaced {
			ready = append(ready, r)
		}
	}
	l.tally.Asked++
	a, err := pick(l.r, ready...).ask("filter", pod.object, nodes)
	if err != nil || a.code != http.StatusOK || a.Error != "" {
		l.tally.Failed++
		if l.silent.IsZero() {
			l.silent = time.Now()
		}
		if limit := readyLimit * time.Duration(l.Slack); time.Since(l.silent) > limit {
			return nil, nil, wrong("answer", "no request has been answered for %v: %v %v", limit, a, err)
		}
		return nil, nil, nil
	}
	if !l.silent.IsZero() {
		l.tally.away = append(l.tally.away, time.Since(l.silent))
		l.silent = time.Time{}
	}
	return a, l.instanceAt(a.by), nil
}

// decide has the kubelet admit or reject a pod that is bound. An admitted pod ends later.
func (l *load) decide(pod *pod, by int, answered time.Time) error {
	verdict, err := pod.node.Admit(pod.object, pod.uid)
	if err != nil {
		return err
	}
	l.dirty[pod.node] = true
	if !verdict.Admitted {
		l.reject(pod, by, answered, verdict)
		return l.remove(pod)
	}
	l.happened(pod.node, "the kubelet admitted %s: %v", pod.id, verdict.Containers)
	pod.setAdmitted()
	pod.setRunning()
	pod.state = running
	l.put(pod)
	node := pod.node
	l.after(300*time.Millisecond+time.Duration(l.r.Int64N(int64(3*time.Second))), func() error {
		l.dirty[node], l.ended[node] = true, time.Now()
		l.happened(node, "%s is deleted", pod.id)
		return l.remove(pod)
	})
	return nil
}

func (l *load) reject(pod *pod, by int, answered time.Time, verdict *managers.Verdict) {
	pod.setRejected(verdict)
	pod.state = ended
	l.put(pod)
	// With more free CPUs a kubelet may place the first container on another NUMA node, where the next one has no room.
	if spec := pod.object.Spec; len(spec.InitContainers)+len(spec.Containers) > 1 && l.ended[pod.node].After(answered) {
		l.tally.Left++
		return
	}
	l.tally.Rejected++
	l.rejected = append(l.rejected, fmt.Sprintf("%v on %s: answered %v ago by process %d of %d: %s: %s%s", pod, pod.node.Name,
		time.Since(answered).Round(time.Millisecond), by, l.instances, verdict.Reason, verdict.Message, l.story(pod.node)))
}

// dumpAll makes the objects of nodes that have changed, which are published a little later.
func (l *load) dumpAll() error {
	for _, n := range l.nodes {
		if !l.dirty[n] {
			continue
		}
		delete(l.dirty, n)
		if err := n.dump(l.ctx, l.order); err != nil {
			return err
		}
		l.after(time.Duration(l.r.Int64N(int64(dumpEvery))), func() error {
			if len(n.queue) > 0 {
				n.publishNext(l.server, false)
				l.happened(n, "an object is published: %s", content(n.published))
			}
			return nil
		})
	}
	return nil
}

// change kills a replica, or ends the one that holds the Lease. A Lease is handed over in the background, as the cluster goes on meanwhile.
func (l *load) change(now time.Time) error {
	if l.returned != nil {
		select {
		case err := <-l.returned:
			l.returned, l.replaced = nil, nil
			l.changes = time.Now().Add(answering + time.Duration(l.r.Int64N(int64(answering))))
			return err
		default:
			return nil
		}
	}
	if l.left == 0 || now.Before(l.changes) || !l.silent.IsZero() {
		return nil
	}
	l.left--
	r := l.replicas[0]
	if len(l.replicas) > 1 {
		var err error
		if r, err = l.leader(); err != nil {
			return err
		}
	}
	l.instances++
	instance := l.instances
	if len(l.replicas) == 1 || chance(l.r, 30) {
		l.tally.Kills++
		l.happened(nil, "process %d is killed, process %d starts", r.instance, instance)
		r.kill()
		l.changes = time.Now().Add(answering + time.Duration(l.r.Int64N(int64(answering))))
		return r.start(instance)
	}
	l.tally.HandOvers++
	l.happened(nil, "process %d gets SIGTERM", r.instance)
	l.returned, l.replaced = make(chan error, 1), r
	go func() {
		err := r.terminate()
		time.Sleep(replaceAfter)
		l.returned <- errors.Join(err, r.start(instance))
	}()
	return nil
}
