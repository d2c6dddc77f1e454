// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// shortestDown and longestDown are how long a kubelet is away.
	shortestDown, longestDown = 200 * time.Millisecond, 2 * time.Second
	// longestPlugins is how long after the kubelet's start its device plugins register at the latest.
	longestPlugins = 3 * time.Second
	// returnAfter is how long after its kubelet's start a drained node is uncordoned.
	returnAfter = time.Second
	// drainEvery: of so many restarts one is of a drained node, with another policy.
	drainEvery = 4
	// deliveryLag is how long after a kubelet's report a scheduler may bind a pod by what was reported before.
	deliveryLag = 100 * time.Millisecond
)

// restarts restarts one kubelet after the other, if the workload has it. The function that it returns stops that, and returns the numbers
// of restarts and of drained nodes.
func (p *play) restarts(ctx context.Context, seed uint64) func() (restarts, drains int) {
	restarts, drains := 0, 0
	if !p.workload.Restarts {
		return func() (int, int) { return 0, 0 }
	}
	inner, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := rand.New(rand.NewPCG(seed, 11))
		names := NodeNames(p.Nodes)
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i := 0; ; i++ {
			select {
			case <-inner.Done():
				return
			case <-time.After(p.Restarts):
			}
			n := p.nodes[names[i%len(names)]]
			down := shortestDown + time.Duration(r.Int64N(int64(longestDown-shortestDown)))
			plugins := time.Duration(r.Int64N(int64(longestPlugins)))
			var err error
			if i%drainEvery == drainEvery-1 {
				drains++
				err = p.drain(ctx, n, down, plugins)
			} else {
				restarts++
				err = n.restart(ctx, down, plugins)
			}
			if err != nil {
				p.failed(fmt.Errorf("%s: %w", n.Name, err))
			}
		}
	}()
	return func() (int, int) {
		cancel()
		<-done
		return restarts, drains
	}
}

// do has the node's loop do something, and waits for its end.
func (n *node) do(ctx context.Context, task func(context.Context) error) error {
	done := make(chan error, 1)
	n.tasks <- func(ctx context.Context) error {
		done <- task(ctx)
		return nil
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// restart kills the kubelet and starts it again with its state. Containers run meanwhile.
func (n *node) restart(ctx context.Context, down, plugins time.Duration) error {
	return n.do(ctx, func(ctx context.Context) error {
		if err := n.killKubelet(); err != nil {
			return err
		}
		time.Sleep(down)
		return n.startAgain(ctx, plugins)
	})
}

// drain moves every pod from the node, starts its kubelet with another policy, and lets pods come again.
func (p *play) drain(ctx context.Context, n *node, down, plugins time.Duration) error {
	if err := n.cordon(ctx, true); err != nil {
		return err
	}
	if err := n.evictAll(ctx); err != nil {
		return err
	}
	err := n.do(ctx, func(ctx context.Context) error {
		if err := n.killKubelet(); err != nil {
			return err
		}
		for _, name := range []string{"cpu_manager_state", "memory_manager_state", "pods", "allocated_pods_state"} {
			if err := os.RemoveAll(filepath.Join(n.Kubelet(), name)); err != nil {
				return err
			}
		}
		n.stale, n.leftovers = false, false
		other := *n.kind
		other.Policy = map[string]string{"restricted": "single-numa-node", "single-numa-node": "restricted"}[n.kind.Policy]
		n.kind = &other
		n.happened("its policy is %s now", other.Policy)
		time.Sleep(down)
		return n.startAgain(ctx, plugins)
	})
	if err != nil {
		return err
	}
	time.Sleep(returnAfter)
	return n.cordon(ctx, false)
}

func (n *node) cordon(ctx context.Context, on bool) error {
	n.trace.printf("%s is cordoned: %v", n.Name, on)
	_, err := n.client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, on), metav1.PatchOptions{})
	return err
}

// pods are those of the node, as the API server has them, in the order in which a kubelet that has just started takes them.
func (n *node) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := n.client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return list.Items, nil
}

// evictAll deletes all pods of the node, and waits for their end. A pod may still be bound when the node has just been cordoned.
func (n *node) evictAll(ctx context.Context) error {
	for empty := 0; empty < 3; time.Sleep(100 * time.Millisecond) {
		pods, err := n.pods(ctx)
		if err != nil {
			return err
		}
		if empty++; len(pods) > 0 {
			empty = 0
		}
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil {
				continue
			}
			err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

func (n *node) killKubelet() error {
	n.happened("the kubelet is killed")
	n.managers.Kill()
	n.killed, n.leftovers = time.Now(), n.stale
	return os.RemoveAll(filepath.Join(n.Dir, "proc", fmt.Sprint(n.pid())))
}

// startAgain starts the kubelet, which reports its Node, admits all pods that are bound to the node, and forgets the pods that are not
// there any more. The device plugins register later.
func (n *node) startAgain(ctx context.Context, plugins time.Duration) error {
	if err := n.startManagers("-restart", "-running"); err != nil {
		return err
	}
	n.happened("the kubelet has started")
	if err := n.report(ctx); err != nil {
		return err
	}
	n.reported = time.Now()
	pods, err := n.pods(ctx)
	if err != nil {
		return err
	}
	n.arriving = true
	err = n.admitAll(ctx, pods)
	n.arriving = false
	if err != nil {
		return err
	}
	start := n.starts
	time.AfterFunc(plugins, func() {
		n.tasks <- func(ctx context.Context) error {
			if n.starts != start {
				return nil
			}
			n.happened("the device plugins register")
			return n.register(ctx)
		}
	})
	return nil
}

// admitAll admits the pods of a kubelet that has just started. A pod that is being deleted is admitted, and ends then.
func (n *node) admitAll(ctx context.Context, pods []v1.Pod) error {
	there, completed, folders := map[types.UID]bool{}, map[string]types.UID{}, map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		there[pod.UID], folders[filepath.Base(n.logs(pod))] = true, true
		switch {
		case pod.Status.Phase == v1.PodFailed:
		case pod.Status.Phase == v1.PodSucceeded:
			completed[fullName(pod)] = pod.UID
		default:
			if err := n.admit(ctx, pod); err != nil {
				return err
			}
		}
	}
	if err := n.managers.Ask(map[string]any{"returned": completed}, &struct{}{}); err != nil {
		return err
	}
	for uid := range n.known {
		if !there[uid] {
			n.forget(uid)
		}
	}
	logs := filepath.Join(n.Dir, "var/log/pods")
	entries, err := os.ReadDir(logs)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, entry := range entries {
		if !folders[entry.Name()] {
			if err := os.RemoveAll(filepath.Join(logs, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reasons of refusals that no extender can know.
const (
	lateDevices = "devices registered late"
	leftovers   = "bound while no kubelet ran, and ended pods held resources at its start"
	race        = "race with the other scheduler"
)

// excuse is why nobody could know that the kubelet would reject the pod; "" = somebody could. The pod asks for devices whose plugin had not
// registered again, and was bound before the kubelet could report this. Or the pod was bound while no kubelet ran, and pods had ended whose
// resources the kubelet takes back only after its first pods. Or the other scheduler bound a pod to the node after the extender's
// answer about this one, or so shortly before that the extender may not have read of it.
func (n *node) excuse(pod *v1.Pod, again bool) string {
	if again {
		return ""
	}
	at, _ := n.bound.LoadOrStore(pod.UID, time.Now())
	bound := at.(time.Time)
	if nics := pod.Spec.Containers[0].Resources.Requests[nic]; !nics.IsZero() && !n.plugins && bound.Before(n.reported.Add(deliveryLag)) {
		return lateDevices
	}
	if n.arriving && n.leftovers && bound.After(n.killed.Add(-deliveryLag)) {
		return leftovers
	}
	found := ""
	n.others.Range(func(_, other any) bool {
		if other.(time.Time).After(bound.Add(-deliveryLag)) {
			found = race
		}
		return found == ""
	})
	return found
}
