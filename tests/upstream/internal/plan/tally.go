// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"
)

// Tally is what happened in a run.
type Tally struct {
	Clusters, Nodes, Refused, GivenUp int
	Full, Partial, None               int
	Moves, Evictions, Starts          int // steps
	WithMoves                         int // plans with at least one move
	SameNode                          int // moves to the same node
	Bounded                           int // plans whose search reached its limit
	Admitted, Rejected                int // by the managers
	Asked, Missed                     int // verdicts on pods that have no place, or none without moves, and those that admit
	Slow                              int // plans that took more than a second
	Slowest                           time.Duration
	Played                            time.Duration // in all
}

func (t *Tally) time(took time.Duration) {
	t.Slowest = max(t.Slowest, took)
	if took > time.Second {
		t.Slow++
	}
}

func (t *Tally) count(plan *plan) {
	switch plan.Outcome {
	case "full":
		t.Full++
	case "partial":
		t.Partial++
	default:
		t.None++
	}
	if !plan.SearchComplete {
		t.Bounded++
	}
	if plan.Moves > 0 {
		t.WithMoves++
	}
	for _, s := range plan.Steps {
		switch {
		case s.Action == "start":
			t.Starts++
		case s.Action == "evict":
			t.Evictions++
		default:
			t.Moves++
			if text(s.From) == text(s.To) {
				t.SameNode++
			}
		}
	}
}

func (t Tally) String() string {
	return fmt.Sprintf("%d clusters of %d nodes (%d more refused by the kubelet; %d clusters given up by its code); plans: %d full, %d partial, %d none, %d with moves, "+
		"%d whose search reached its limit; steps: %d moves (%d to the same node), %d evictions, %d wanted pods; the kubelets admitted %d and rejected %d pods; "+
		"of %d verdicts on pods that have no place, or none without moves, %d admit; %d plans took more than a second, "+
		"the slowest %v; %d s in all", t.Clusters, t.Nodes, t.Refused, t.GivenUp, t.Full, t.Partial, t.None, t.WithMoves, t.Bounded, t.Moves, t.SameNode,
		t.Evictions, t.Starts, t.Admitted, t.Rejected, t.Asked, t.Missed, t.Slow, t.Slowest.Round(time.Millisecond), int(t.Played.Seconds()))
}
