// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of a round of Release: how long a pod waits until something is released, and how long it may take then.
const (
	pendingFor     = 3 * time.Second
	releaseTimeout = time.Minute
)

// releases is a cluster that is full, with one pod more than fits.
type releases struct {
	*play
	mu   sync.Mutex
	pods map[string]*v1.Pod // the newest state of each
	news chan struct{}
	made int
}

// Release fills the nodes with pods of 8 CPUs until one stays pending. Then, again and again, it deletes a running pod by
// chance. It returns how long it takes from there until the pod that waits is bound. A kubelet that refuses it is an error.
func (d *Driver) Release(ctx context.Context, way Way, rounds int, seed uint64) (times []time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := d.newPlay(&way, &Workloads[0])
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	r := &releases{play: p, pods: map[string]*v1.Pod{}, news: make(chan struct{}, 1)}
	p.saw, p.admitted, p.refused = r.keep, func(*v1.Pod, int) {}, func(*v1.Pod, string, string) {}
	if err := p.schedule(ctx); err != nil {
		return nil, err
	}
	var running []*v1.Pod
	var waits string
	for waits == "" {
		pod, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		if pod.Status.Phase == v1.PodRunning {
			running = append(running, pod)
		} else {
			waits = pod.Name
		}
	}
	random := rand.New(rand.NewPCG(seed, 7))
	for range rounds {
		time.Sleep(pendingFor)
		i := random.IntN(len(running))
		begun := time.Now()
		if err := p.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, running[i].Name, metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
		if _, err := r.wait(ctx, waits, func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }); err != nil {
			return nil, fmt.Errorf("bound: %w", err)
		}
		times = append(times, time.Since(begun))
		if running[i], err = r.wait(ctx, waits, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning }); err != nil {
			return nil, err
		}
		pod, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		if waits = pod.Name; pod.Status.Phase == v1.PodRunning {
			return nil, fmt.Errorf("%s runs where nothing fits", pod.Name)
		}
	}
	return times, p.failure()
}

func (r *releases) keep(pod *v1.Pod) {
	r.mu.Lock()
	r.pods[pod.Name] = pod
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// next makes another pod and waits until it runs or the scheduler finds no node for it.
func (r *releases) next(ctx context.Context) (*v1.Pod, error) {
	slot := &Slot{MilliCPUs: 8000, Memory: gib, Guaranteed: true}
	pod := slot.Pod(podName(r.made, 0))
	r.made++
	if r.way.prepare != nil {
		r.way.prepare(pod, slot)
	}
	if _, err := r.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return r.wait(ctx, pod.Name, func(pod *v1.Pod) bool {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
				return true
			}
		}
		return pod.Status.Phase == v1.PodRunning
	})
}

// wait waits until a pod is as wanted.
func (r *releases) wait(ctx context.Context, name string, wanted func(*v1.Pod) bool) (*v1.Pod, error) {
	late := time.NewTimer(releaseTimeout)
	defer late.Stop()
	for {
		r.mu.Lock()
		pod := r.pods[name]
		r.mu.Unlock()
		if pod != nil && pod.Status.Phase == v1.PodFailed {
			return nil, fmt.Errorf("%s: the kubelet of %s refuses it: %s", name, pod.Spec.NodeName, pod.Status.Message)
		}
		if pod != nil && wanted(pod) {
			return pod, nil
		}
		select {
		case <-r.news:
		case <-late.C:
			return nil, fmt.Errorf("%s is not as wanted after %v", name, releaseTimeout)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
