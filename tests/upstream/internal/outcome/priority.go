// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"math/rand/v2"
	"regexp"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"nrtd.dev/tests/upstream/internal/timing"
)

// urgentClass is the PriorityClass of urgent pods; all other pods have the priority 0.
const urgentClass = "urgent"

// drawUrgent makes the last slot of a burst urgent. Its pod ends a few bursts later, so that evicted pods find room again.
func drawUrgent(r *rand.Rand, coming []Slot) {
	last := &coming[len(coming)-1]
	last.urgent, last.End = true, last.Burst+4+r.IntN(8)
}

// createPriorities creates the PriorityClass.
func (p *play) createPriorities(ctx context.Context) error {
	_, err := p.client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: urgentClass}, Value: 1000}, metav1.CreateOptions{})
	return err
}

var preemptedBy = regexp.MustCompile(`^Preempted by \S+ ([-0-9a-f]+) on node (\S+)`)

// evictions counts the pods that the scheduler evicted, and of these the pods whose eviction did not help: the urgent pod is bound to
// another node, or still waits.
func (p *play) evictions(ctx context.Context, result *Result) error {
	events, err := p.client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		found := preemptedBy.FindStringSubmatch(event.Message)
		if event.Reason != "Preempted" || found == nil {
			continue
		}
		result.Evicted++
		if !p.slots.helped(types.UID(found[1]), found[2]) {
			result.Vain++
			p.refused("the eviction of " + event.InvolvedObject.Name + " on " + found[2] + " did not help " + found[1])
		}
	}
	return nil
}

// helped tells whether an urgent pod was bound to the node, or ended before.
func (s *slots) helped(urgent types.UID, node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bound := s.boundTo[urgent]; bound != "" {
		return bound == node
	}
	for _, slot := range s.list {
		if slot.pod != nil && slot.pod.UID == urgent {
			return !slot.ended.IsZero()
		}
	}
	return true
}

// UrgentWait is a quantile of the time that urgent slots waited for their pod.
func (r *Result) UrgentWait(quantile float64) time.Duration {
	return timing.Quantile(r.UrgentWaits, quantile)
}
