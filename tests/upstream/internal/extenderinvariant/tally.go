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
	Asked, Yes                int // filter requests, and requests that assumed the pod on a node
	Rests, Compared, Echoes   int
	Estimates                 int // differences on nodes whose object has no node state, of the compared verdicts
	Barred                    int // compared verdicts of shapes that the node has recently rejected
	Hostile                   int
	Late                      int // deleted pods that were assumed on a node, for at most goneLimit
	RSS                       int64
	times                     []time.Duration
	// Pods that a kubelet decided about on the node on which the extender had assumed them, by what the extender knew: everything;
	// not a pod that was admitted before; not a pod that had ended or was bound elsewhere; the object is another exporter's.
	known, raced, left, foreign rate
}

func (t *Tally) ask(took time.Duration) { t.times = append(t.times, took) }

func (t *Tally) judge(h happened, exact, rejected bool) {
	r := &t.known
	switch {
	case !exact:
		r = &t.foreign
	case h.admitted:
		r = &t.raced
	case h.ended:
		r = &t.left
	}
	r.all++
	if rejected {
		r.rejected++
	}
}

func (t Tally) String() string {
	text := fmt.Sprintf("%d sequences, %d steps, %d given up by the kubelet's code; %d of %d requests assumed a pod; rejected with complete knowledge %v, after an unknown pod was admitted %v, "+
		"where a pod ended or did not come that it had not heard of %v, on nodes of another exporter %v; at rest %d times, %d verdicts compared, %d skipped because the node had just "+
		"rejected such a pod, %d estimates wrong; %d echoes; %d hostile pods; %d deleted pods assumed",
		t.Sequences, t.Steps, t.GivenUp, t.Yes, t.Asked, t.known, t.raced, t.left, t.foreign, t.Rests, t.Compared, t.Barred, t.Estimates, t.Echoes, t.Hostile, t.Late)
	if len(t.times) > 0 {
		text += fmt.Sprintf("; %d answers, p50 %v, p99 %v, max %v; memory %d MiB", len(t.times), timing.Quantile(t.times, 0.5).Round(time.Microsecond),
			timing.Quantile(t.times, 0.99).Round(time.Microsecond), timing.Quantile(t.times, 1).Round(time.Microsecond), t.RSS>>20)
	}
	return text
}
