// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// slotState is a slot and the pod that it has now.
type slotState struct {
	Slot
	begun   time.Time // zero = not yet
	pod     *v1.Pod   // the newest, as the API server had it last; nil before it has one
	attempt int       // refusals
	number  int       // of the newest pod
	placed  bool      // a pod of it ran
	moving  bool      // its pod was evicted, and the pod that replaces it does not run yet
	givenUp bool      // kubelets refused too many of its pods
	refused time.Time // its last pod that a kubelet rejected; zero when a pod has run since
	ended   time.Time // zero = not yet
}

// slots are a workload's, and what makes and deletes their pods: what a ReplicaSet's controller does.
type slots struct {
	way     *Way
	client  kubernetes.Interface
	objects dynamic.Interface
	again   time.Duration // how long after a refusal the next pod comes
	tries   int           // after so many refusals none
	failed  func(error)

	mu      sync.Mutex
	list    []*slotState
	byName  map[string]*slotState
	bound   map[types.UID]bool
	boundTo map[types.UID]string // of urgent pods
	over    map[types.UID]bool   // refused
	excused map[types.UID]string // refused for a reason that no extender can know
	result  *Result
	timers  sync.WaitGroup
	news    chan struct{} // gets something when a slot has changed
}

func newSlots(way *Way, list []Slot, client kubernetes.Interface, objects dynamic.Interface, again time.Duration, tries int, failed func(error)) *slots {
	s := &slots{way: way, client: client, objects: objects, again: again, tries: tries, failed: failed, byName: map[string]*slotState{}, bound: map[types.UID]bool{},
		boundTo: map[types.UID]string{}, over: map[types.UID]bool{}, excused: map[types.UID]string{}, result: &Result{Way: way.Name, Slots: len(list), Refused: map[string]int{}}, news: make(chan struct{}, 1)}
	for _, slot := range list {
		s.list = append(s.list, &slotState{Slot: slot})
	}
	return s
}

// burst makes those slots end that end before it, then begins those that come with it.
func (s *slots) burst(ctx context.Context, number int, finish func(*v1.Pod)) error {
	s.mu.Lock()
	var ending, coming []*slotState
	var names []string
	for i, slot := range s.list {
		if slot.End == number && number > 0 {
			slot.ended = time.Now()
			ending = append(ending, slot)
		}
		if slot.Burst == number {
			slot.begun = time.Now()
			coming = append(coming, slot)
			names = append(names, podName(i, 0))
			s.byName[podName(i, 0)] = slot
		}
	}
	s.mu.Unlock()
	for _, slot := range ending {
		if err := s.end(ctx, slot, finish); err != nil {
			return err
		}
	}
	if err := s.createGangs(ctx, coming); err != nil {
		return err
	}
	for i, slot := range coming {
		if err := s.create(ctx, slot, names[i]); err != nil {
			return err
		}
	}
	return nil
}

// end takes a slot's pod away, or has it end by itself and be deleted a little later.
func (s *slots) end(ctx context.Context, slot *slotState, finish func(*v1.Pod)) error {
	s.mu.Lock()
	pod := slot.pod
	runs := pod != nil && pod.Status.Phase == v1.PodRunning
	s.mu.Unlock()
	if pod == nil {
		return nil
	}
	if slot.Finishes && runs {
		finish(pod)
		s.later(2*time.Second, func() { s.failedUnlessGone(s.delete(ctx, pod)) })
		return nil
	}
	return s.delete(ctx, pod)
}

func (s *slots) delete(ctx context.Context, pod *v1.Pod) error {
	err := s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (s *slots) create(ctx context.Context, slot *slotState, name string) error {
	pod := slot.Slot.Pod(name)
	if s.way.prepare != nil {
		s.way.prepare(pod, &slot.Slot)
	}
	if slot.urgent {
		pod.Spec.PriorityClassName = urgentClass
	}
	if slot.other {
		pod.Spec.SchedulerName = otherScheduler
	}
	if s.way.plan {
		own(pod, s.indexOf(slot))
	}
	var made *v1.Pod
	var err error
	if slot.gang != nil {
		made, err = s.createMember(ctx, pod, slot.gang)
	} else {
		made, err = s.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	s.saw(ctx, made)
	return nil
}

func (s *slots) later(after time.Duration, do func()) {
	s.timers.Add(1)
	time.AfterFunc(after, func() {
		defer s.timers.Done()
		do()
	})
}

func (s *slots) failedUnlessGone(err error) {
	if err != nil {
		s.failed(err)
	}
}

// saw takes a pod as the API server has it now.
func (s *slots) saw(ctx context.Context, pod *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.byName[pod.Name]
	if slot == nil {
		return
	}
	if newer(pod, slot.pod) {
		slot.pod = pod
	}
	if pod.Spec.NodeName != "" && !s.bound[pod.UID] {
		s.bound[pod.UID] = true
		if slot.other {
			s.result.Other.Bound++
		} else {
			s.result.Bound++
		}
		if slot.urgent {
			s.boundTo[pod.UID] = pod.Spec.NodeName
		}
	}
	if pod.DeletionTimestamp != nil && slot.pod.UID == pod.UID && slot.ended.IsZero() && !s.over[pod.UID] {
		s.over[pod.UID] = true
		s.evicted(ctx, slot, pod)
	}
	if pod.Status.Phase == v1.PodRunning && pod.DeletionTimestamp == nil {
		slot.moving = false
		s.healed(slot)
	}
	if pod.Status.Phase == v1.PodRunning && !slot.placed {
		slot.placed = true
		s.result.Placed++
		s.result.Waits = append(s.result.Waits, time.Since(slot.begun))
		if slot.urgent {
			s.result.UrgentWaits = append(s.result.UrgentWaits, time.Since(slot.begun))
		}
	}
	if pod.Status.Phase == v1.PodFailed && !s.over[pod.UID] {
		s.over[pod.UID] = true
		slot.refused = time.Now()
		switch {
		case slot.other:
			s.result.Other.Refused++
		case s.excused[pod.UID] == lateDevices || s.excused[pod.UID] == leftovers:
			s.result.Excused++
		default:
			s.result.Refused[pod.Status.Reason]++
			if s.excused[pod.UID] == race {
				s.result.Raced++
			}
		}
		s.later(s.again, func() { s.replace(ctx, slot, pod) })
	}
	s.tell()
}

// evicted replaces a slot's pod that is being deleted and that the slot did not delete. The controller of a ReplicaSet does so at once:
// pods that are being deleted do not count.
func (s *slots) evicted(ctx context.Context, slot *slotState, pod *v1.Pod) {
	s.result.Moves++
	if pod.Labels[protectedLabel] != "" {
		s.result.Violations++
	}
	slot.moving = true
	slot.number++
	name := podName(s.indexOf(slot), slot.number)
	s.byName[name] = slot
	s.later(0, func() {
		if ctx.Err() == nil {
			s.failedUnlessGone(s.create(ctx, slot, name))
		}
	})
}

// waits tells whether a slot's pod has waited for a node for so long.
func (s *slots) waits(long time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range s.list {
		if !slot.begun.IsZero() && slot.ended.IsZero() && !slot.placed && !slot.givenUp && slot.pod != nil && slot.pod.Spec.NodeName == "" &&
			time.Since(slot.pod.CreationTimestamp.Time) >= long {
			return true
		}
	}
	return false
}

// tell wakes who waits for a change.
func (s *slots) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// newer tells whether a is a later state than b: the create's answer may come after the watch's events.
func newer(a, b *v1.Pod) bool {
	if b == nil || a.UID != b.UID {
		return b == nil || !a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return len(a.ResourceVersion) > len(b.ResourceVersion) || (len(a.ResourceVersion) == len(b.ResourceVersion) && a.ResourceVersion > b.ResourceVersion)
}

// replace makes the next pod of a slot whose pod was refused, and deletes that.
func (s *slots) replace(ctx context.Context, slot *slotState, refused *v1.Pod) {
	if ctx.Err() != nil {
		return
	}
	s.failedUnlessGone(s.delete(ctx, refused))
	s.mu.Lock()
	if slot.attempt+1 >= s.tries {
		slot.givenUp = true
		s.tell()
	}
	if slot.givenUp || !slot.ended.IsZero() || slot.pod.UID != refused.UID {
		s.mu.Unlock()
		return
	}
	slot.attempt++
	slot.number++
	name := podName(s.indexOf(slot), slot.number)
	s.byName[name] = slot
	s.mu.Unlock()
	s.failedUnlessGone(s.create(ctx, slot, name))
}

func (s *slots) indexOf(slot *slotState) int {
	for i := range s.list {
		if s.list[i] == slot {
			return i
		}
	}
	panic("no such slot")
}

// admitted notes where a pod with exclusive CPUs is.
func (s *slots) admitted(pod *v1.Pod, numaNodes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[pod.Name] == nil || numaNodes == 0 {
		return
	}
	s.result.Exclusive++
	if numaNodes == 1 {
		s.result.OneNUMA++
	}
}

// healed notes how long a slot had no pod after a kubelet had rejected its pod.
func (s *slots) healed(slot *slotState) {
	if slot.refused.IsZero() {
		return
	}
	heals := &s.result.Heals
	if slot.other {
		heals = &s.result.Other.Heals
	}
	*heals = append(*heals, time.Since(slot.refused))
	slot.refused = time.Time{}
}

// refused keeps what is known of a refusal. No stories are kept of pods of the other scheduler, because its refusals are expected.
func (s *slots) refused(pod *v1.Pod, excuse, story string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot := s.byName[pod.Name]; slot != nil && slot.other {
		return
	}
	if s.excused[pod.UID] = excuse; excuse != "" {
		story = excuse + ": " + story
	}
	s.result.Stories = append(s.result.Stories, story)
}

// story keeps what went wrong with something else than a pod's admission.
func (s *slots) story(story string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Stories = append(s.result.Stories, story)
}

// settled tells whether every slot since that burst which has begun and not ended has its pod, or nobody makes one.
func (s *slots) settled(since int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range s.list {
		if slot.Burst >= since && !slot.begun.IsZero() && slot.ended.IsZero() && (!slot.placed || slot.moving) && !slot.givenUp {
			return false
		}
	}
	return true
}

// finished is the result once nothing more will come. A slot that never had its pod counts with the time that it waited.
func (s *slots) finished() *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range s.list {
		if slot.moving && slot.ended.IsZero() {
			s.result.Lost++
		}
		if slot.placed {
			continue
		}
		s.result.Never++
		if slot.ended.IsZero() {
			slot.ended = time.Now()
		}
		s.result.Waits = append(s.result.Waits, slot.ended.Sub(slot.begun))
		if slot.urgent {
			s.result.UrgentWaits = append(s.result.UrgentWaits, slot.ended.Sub(slot.begun))
			s.result.UrgentNever++
		}
	}
	return s.result
}
