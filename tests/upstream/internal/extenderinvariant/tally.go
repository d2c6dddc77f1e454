// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"fmt"
	"time"

	"nrtd.dev/tests/upstream/internal/timing"
)

// rate is how many of some pods were rejected.
type rate struct{ rejected, all int }

func (r rate) String() string {
	if r.all == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%.2f %%)", r.rejected, r.all, 100*float64(r.rejected)/float64(r.all))
}

// Tally is what happened in a run.
type Tally struct {
	Sequences, Steps, GivenUp int
	Asked, Yes                int // questions of a scheduler, and those that one node was the answer to
	Rests, Compared, Echoes   int
	Estimates                 int // of those compared, differences of nodes whose object has no node state
	Barred                    int // and of shapes that the node has just rejected
	Hostile                   int
	Late                      int // pods that were gone and were assumed on a node, for at most goneLimit
	RSS                       int64
	times                     []time.Duration
	// Pods that a kubelet decided about where the extender had sent them: the extender knew what happened on the node; it had
	// not heard of a pod that was there first; of one that had ended or did not come; the node's object is another exporter's.
	known, raced, left, foreign rate
}

func (t *Tally) ask(took time.Duration) { t.times = append(t.times, took) }

func (t *Tally) judge(h happened, exact, rejected bool) {
	r := &t.known
	switch {
	case !exact:
		r = &t.foreign
	case h.arrived:
		r = &t.raced
	case h.left:
		r = &t.left
	}
	r.all++
	if rejected {
		r.rejected++
	}
}

func (t Tally) String() string {
	text := fmt.Sprintf("%d sequences, %d steps, %d given up by the kubelet's code; %d of %d questions answered with a node; rejected where the extender knew all %v, where a pod that it had not heard of came first %v, "+
		"where a pod ended or did not come that it had not heard of %v, on nodes of another exporter %v; at rest %d times, %d verdicts compared, %d skipped because the node had just "+
		"rejected such a pod, %d estimates wrong; %d times nothing new was said; %d hostile pods; %d pods assumed that were gone",
		t.Sequences, t.Steps, t.GivenUp, t.Yes, t.Asked, t.known, t.raced, t.left, t.foreign, t.Rests, t.Compared, t.Barred, t.Estimates, t.Echoes, t.Hostile, t.Late)
	if len(t.times) > 0 {
		text += fmt.Sprintf("; %d answers, p50 %v, p99 %v, max %v; memory %d MiB", len(t.times), timing.Quantile(t.times, 0.5).Round(time.Microsecond),
			timing.Quantile(t.times, 0.99).Round(time.Microsecond), timing.Quantile(t.times, 1).Round(time.Microsecond), t.RSS>>20)
	}
	return text
}
