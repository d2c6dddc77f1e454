// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"maps"
	"nrtd.dev/tests/upstream/internal/timing"
	"slices"
	"strings"
	"time"
)

// Result is what one way did with one workload.
type Result struct {
	Way, Workload string
	Seed          uint64
	Slots         int
	Bound         int            // pods that the scheduler bound
	Refused       map[string]int // of these, by the kubelet's reason
	Placed, Never int            // slots
	Exclusive     int            // pods with exclusive CPUs that run or ran
	OneNUMA       int            // of these, on one NUMA node
	Waits         []time.Duration
	Searches      Searches
	ExtenderRSS   int64
	NodeWrites    float64       // of annotations and labels, by all of nrtd
	NodeTime      time.Duration // in which they were made, of all nodes together
	Stories       []string      // of each refusal
	Trace         string        // the file with all events of a run with refusals, if it was kept
	// With kubectl numa plan --apply: evicted pods, of these pods with a PodDisruptionBudget that allows no disruption, slots whose
	// evicted pod was not running again at the end, and runs of the program by exit status.
	Moves, Violations, Lost int
	Other                   Group           // the pods of the other scheduler, which are not in Bound and Refused
	Heals                   []time.Duration // of the pods in Refused, as of Group
	Restarts, Drains        int             // of kubelets, and of nodes whose kubelet returned with another policy
	Raced                   int             // of the pods in Refused, those that raced with a pod of the other scheduler
	Excused                 int             // pods that kubelets refused for a reason that no extender can know; not in Refused
	Ghosts                  int             // pods that the extender still assumes at the end
	Plans                   map[int]int
	// Of urgent slots: how long they waited, and those whose pod never ran. Pods that the scheduler evicted for urgent pods, and those
	// whose eviction did not help.
	UrgentWaits   []time.Duration
	UrgentNever   int
	Evicted, Vain int
	// Preemptions whose victims could be compared with the fewest possible, and those with no more than these.
	Preemptions, Fewest int
}

// RefusedInAll is the number of pods that kubelets refused.
func (r *Result) RefusedInAll() (n int) {
	for _, count := range r.Refused {
		n += count
	}
	return n
}

// PerThousand is refusals per 1000 pods bound.
func (r *Result) PerThousand() float64 { return 1000 * ratio(r.RefusedInAll(), r.Bound) }

// OneNUMAShare is the share of the pods with exclusive CPUs that got them on one NUMA node.
func (r *Result) OneNUMAShare() float64 { return ratio(r.OneNUMA, r.Exclusive) }

// Wait is a quantile of the time from a slot's begin until its pod ran, or until it ended without.
func (r *Result) Wait(quantile float64) time.Duration { return timing.Quantile(r.Waits, quantile) }

// PodsPerSecond is how many pods the scheduler finds a node for in a second in which it does nothing else.
func (r *Result) PodsPerSecond() float64 {
	if r.Searches.SearchedSeconds == 0 {
		return 0
	}
	return float64(r.Searches.Attempts) / r.Searches.SearchedSeconds
}

// NodeWritesPerMinute is how often one nrtd wrote to its Node.
func (r *Result) NodeWritesPerMinute() float64 {
	if r.NodeTime == 0 {
		return 0
	}
	return r.NodeWrites / r.NodeTime.Minutes()
}

// Reasons lists why pods were refused.
func (r *Result) Reasons() string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(r.Refused)) {
		list = append(list, fmt.Sprintf("%s %d", reason, r.Refused[reason]))
	}
	return strings.Join(list, ", ")
}

// add adds a run with another seed.
func (r *Result) add(o *Result) {
	r.Slots += o.Slots
	r.Bound += o.Bound
	r.Placed += o.Placed
	r.Never += o.Never
	r.Exclusive += o.Exclusive
	r.OneNUMA += o.OneNUMA
	r.Waits = append(r.Waits, o.Waits...)
	r.Searches.Attempts += o.Searches.Attempts
	r.Searches.SearchedSeconds += o.Searches.SearchedSeconds
	r.NodeWrites += o.NodeWrites
	r.NodeTime += o.NodeTime
	r.ExtenderRSS = max(r.ExtenderRSS, o.ExtenderRSS)
	r.Moves += o.Moves
	r.Violations += o.Violations
	r.Lost += o.Lost
	r.Ghosts += o.Ghosts
	r.Other.add(&o.Other)
	r.Heals = append(r.Heals, o.Heals...)
	r.Restarts += o.Restarts
	r.Drains += o.Drains
	r.Raced += o.Raced
	r.Excused += o.Excused
	r.UrgentWaits = append(r.UrgentWaits, o.UrgentWaits...)
	r.UrgentNever += o.UrgentNever
	r.Evicted += o.Evicted
	r.Vain += o.Vain
	r.Preemptions += o.Preemptions
	r.Fewest += o.Fewest
	for reason, count := range o.Refused {
		r.Refused[reason] += count
	}
}

// Sum is the runs of one way and workload together; nil of none.
func Sum(results []*Result, way, workload string) (sum *Result) {
	for _, r := range results {
		if r.Way != way || r.Workload != workload {
			continue
		}
		if sum == nil {
			sum = &Result{Way: way, Workload: workload, Refused: map[string]int{}}
		}
		sum.add(r)
	}
	return sum
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// mostRefused is the maximum number of rejected pods per 1000 bound with nrtd-extender. With another scheduler beside it, which binds pods
// to the same CPUs at the same time, it is mostBesideOther.
const mostRefused, mostBesideOther = 1.0, 5.0

// mostVain is the maximum share of evictions that did not help, beside a single one.
const mostVain = 0.05

// mostNotFewest is the maximum share of preemptions that evict more pods than the fewest possible.
const mostNotFewest = 0.05

// longestUrgent is the maximum p99 of the time that an urgent pod waits for room.
const longestUrgent = 10 * time.Second

// Judge checks the extender's goals: almost no rejected pods, and at least as many placed pods as without the extender. With moves:
// no evicted pod is lost, and no PodDisruptionBudget violated.
func Judge(results []*Result) (wrong []string) {
	for _, workload := range Workloads {
		theirs := Sum(results, "stock", workload.Name)
		for _, way := range Ways {
			ours := Sum(results, way.Name, workload.Name)
			if ours == nil || !way.Extender {
				continue
			}
			limit := mostRefused
			if workload.Other {
				limit = max(mostBesideOther, 1000*ratio(1, ours.Bound)) // one pod of a short run is no rate
			}
			if refused := ours.PerThousand(); refused > limit {
				wrong = append(wrong, fmt.Sprintf("%s: kubelets refused %.1f of 1000 pods that nrtd-extender had chosen a node for (%s), at most %.0f are right",
					workload.Name, refused, ours.Reasons(), limit))
			}
			if known := ours.RefusedInAll() - ours.Raced; workload.Other && known > 0 {
				wrong = append(wrong, fmt.Sprintf("%s: kubelets refused %d pods that raced with no pod of the other scheduler", workload.Name, known))
			}
			if theirs != nil && ours.Placed < theirs.Placed {
				wrong = append(wrong, fmt.Sprintf("%s: %d pods placed with %s, %d without", workload.Name, ours.Placed, way.Title, theirs.Placed))
			}
			if ours.Ghosts > 0 {
				wrong = append(wrong, fmt.Sprintf("%s: nrtd-extender still assumes %d pods 2 s after its last answer", workload.Name, ours.Ghosts))
			}
			if wait := ours.UrgentWait(0.99); wait > longestUrgent {
				wrong = append(wrong, fmt.Sprintf("%s: p99 of urgent pods waited %s, at most %s is right", workload.Name, seconds(wait), seconds(longestUrgent)))
			}
			if ours.Vain > 1 && ratio(ours.Vain, ours.Evicted) > mostVain {
				wrong = append(wrong, fmt.Sprintf("%s: %d of %d evictions did not help", workload.Name, ours.Vain, ours.Evicted))
			}
			if more := ours.Preemptions - ours.Fewest; more > 1 && ratio(more, ours.Preemptions) > mostNotFewest {
				wrong = append(wrong, fmt.Sprintf("%s: %d of %d preemptions evicted more pods than necessary", workload.Name, more, ours.Preemptions))
			}
			if ours.Violations > 0 || ours.Lost > 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %d of %d moves violated a PodDisruptionBudget, %d pods were lost", workload.Name, ours.Violations, ours.Moves,
					ours.Lost))
			}
		}
	}
	return wrong
}
