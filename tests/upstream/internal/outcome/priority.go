// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
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
// another node, or still waits. It also counts for which urgent pods no fewer victims would have been enough.
func (p *play) evictions(ctx context.Context, result *Result) error {
	events, err := p.client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	victims := map[preemption][]string{}
	for _, event := range events.Items {
		found := preemptedBy.FindStringSubmatch(event.Message)
		if event.Reason != "Preempted" || found == nil {
			continue
		}
		result.Evicted++
		by := preemption{types.UID(found[1]), found[2]}
		victims[by] = append(victims[by], event.InvolvedObject.Name)
		if !p.slots.helped(by.urgent, by.node) {
			result.Vain++
			p.slots.story("the eviction of " + event.InvolvedObject.Name + " on " + found[2] + " did not help " + found[1])
		}
	}
	for by, names := range victims {
		p.countFewest(by, names, result)
	}
	return nil
}

// preemption is what evicts pods: an urgent pod, and the node that it is to get.
type preemption struct {
	urgent types.UID
	node   string
}

// countFewest compares the victims of a preemption with the fewest of any node that the scheduler could have chosen. Preemptions at a time
// when the kubelet of the chosen node had not decided about each of its pods do not count.
func (p *play) countFewest(by preemption, victims []string, result *Result) {
	cpus := p.slots.cpusOf(by.urgent)
	var before *moment
	for _, name := range victims {
		if m := p.evicted[name]; m != nil && (before == nil || m.at.Before(before.at)) {
			before = m
		}
	}
	if cpus == 0 || before == nil || before.nodes[by.node] == nil {
		return
	}
	result.Preemptions++
	best, fewest := by.node, len(victims)
	for name, pods := range before.nodes {
		if n := p.nodes[name].kind.fewestVictims(cpus, pods, p.slots.isUrgent); n > 0 && n < fewest {
			best, fewest = name, n
		}
	}
	if fewest < len(victims) {
		p.slots.story(fmt.Sprintf("%d pods were evicted on %s for %s with %d CPUs; %d on %s would have been enough", len(victims), by.node, by.urgent, cpus, fewest, best))
		return
	}
	result.Fewest++
}

// moment is what the pods of each node held when the scheduler began to evict. Nodes whose kubelet had not decided about each of
// its pods are left out.
type moment struct {
	at    time.Time
	nodes map[string][]*holding
}

// noteEviction keeps what the nodes' pods hold when the scheduler announces an eviction.
func (p *play) noteEviction(pod *v1.Pod) {
	if !p.workload.Priorities || p.evicted[pod.Name] != nil || !slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.DisruptionTarget && c.Reason == v1.PodReasonPreemptionByScheduler
	}) {
		return
	}
	now := &moment{time.Now(), map[string][]*holding{}}
	for name, n := range p.nodes {
		list, decided := []*holding{}, true
		n.holding.Range(func(_, value any) bool {
			h := value.(*holding)
			list, decided = append(list, h), decided && h != nil
			return decided
		})
		if decided {
			now.nodes[name] = list
		}
	}
	p.evicted[pod.Name] = now
}

// fewestVictims is the smallest number of a node's pods that have to leave until the node's kubelet admits a pod with so many exclusive
// CPUs. It is 0 for a node that schedulers offer no victims of: no evictions suffice, or its CPUs are enough without evictions. The node has
// no SMT, so that any free CPUs of the fewest NUMA nodes suffice.
func (k *Kind) fewestVictims(cpus int, pods []*holding, stays func(pod string) bool) int {
	each := cpusOfNode / k.nodes
	width := (cpus + each - 1) / each
	if width > k.nodes || (width > 1 && k.Policy == "single-numa-node") {
		return 0
	}
	free := cpusOfNode - 1
	for _, h := range pods {
		free -= h.cpus.Size()
	}
	if free >= cpus {
		return 0
	}
	fewest := 0
	for mask := 1; mask < 1<<k.nodes; mask++ {
		if bits.OnesCount(uint(mask)) != width {
			continue
		}
		if n := k.fewestOf(mask, cpus, pods, stays); n > 0 && (fewest == 0 || n < fewest) {
			fewest = n
		}
	}
	return fewest
}

// fewestOf is fewestVictims with the CPUs of these NUMA nodes: the pods that hold the most of them. 0 = evictions do not suffice.
func (k *Kind) fewestOf(mask, cpus int, pods []*holding, stays func(pod string) bool) int {
	each := cpusOfNode / k.nodes
	here := cpuset.New()
	for cpu := 1; cpu < cpusOfNode; cpu++ { // CPU 0 is reserved
		if mask>>(cpu/each)&1 == 1 {
			here = here.Union(cpuset.New(cpu))
		}
	}
	missing := cpus - here.Size()
	var shares []int
	for _, h := range pods {
		share := h.cpus.Intersection(here).Size()
		missing += share
		if share > 0 && !stays(h.pod) {
			shares = append(shares, share)
		}
	}
	slices.Sort(shares)
	for n, share := range slices.Backward(shares) {
		if missing -= share; missing <= 0 {
			return len(shares) - n
		}
	}
	return 0
}

// cpusOf is how many exclusive CPUs an urgent pod gets; 0 = there is no such pod any more.
func (s *slots) cpusOf(urgent types.UID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range s.list {
		if slot.pod != nil && slot.pod.UID == urgent {
			return int(slot.CPUs())
		}
	}
	return 0
}

// isUrgent tells whether a pod has the high priority.
func (s *slots) isUrgent(pod string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.byName[pod]
	return slot != nil && slot.urgent
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
