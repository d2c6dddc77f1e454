// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/managers"
)

// tidyEvery is how often the kubelet's CPU manager looks after its state by itself.
const tidyEvery = 10 * time.Second

// node is one node: its folder with `nrtd run`, and its kubelet, which is the real managers in a process of their own and
// a loop that tells them of pods and the API server of their verdicts.
type node struct {
	*daemon.Node
	kind     *Kind
	client   kubernetes.Interface
	managers *daemon.Managers
	admitted func(pod *v1.Pod, numaNodes int)
	refused  func(pod *v1.Pod, excuse, story string)
	failed   func(error)
	tasks    chan func(context.Context) error
	known    map[types.UID]bool // pods that it was asked about; true = admitted and there
	trace    *trace
	lately   []happening

	workload *Workload
	program  string    // the managers
	machine  string    // the folder of the machine that they read
	starts   int       // of the kubelet
	plugins  bool      // the device plugins have registered with this kubelet
	killed   time.Time // the last kubelet
	reported time.Time // by the present one, at its start
	arriving bool      // the kubelet, just started, admits the pods that it finds bound
	// Pods have ended since the kubelet last decided about one: their resources are in its state files. `leftovers` is so at its start.
	stale, leftovers bool
	bound            sync.Map // the time at which each pod was first seen on the node, by UID
	others           sync.Map // the same of the other scheduler's pods alone
	holding          sync.Map // what each admitted pod holds, by UID; of pods about which the kubelet has not decided, nil
}

// holding is what an admitted pod holds.
type holding struct {
	pod  string // its name
	cpus cpuset.CPUSet
}

// happening is what became of a pod on the node.
type happening struct {
	at   time.Time
	what string
}

// remembered is how many of them are kept.
const remembered = 8

func (n *node) happened(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	n.trace.printf("kubelet of %s: %s", n.Name, what)
	n.lately = append(n.lately, happening{time.Now(), what})
	n.lately = n.lately[max(0, len(n.lately)-remembered):]
}

// story is what happened on the node lately, the newest last.
func (n *node) story() string {
	var list []string
	for _, h := range n.lately {
		list = append(list, fmt.Sprintf("%.2f s ago %s", time.Since(h.at).Seconds(), h.what))
	}
	return strings.Join(list, "; ")
}

// startKubelet starts the node's first kubelet. It has been running for a while: for half a minute after a start nrtd waits for pods that
// come back.
func (n *node) startKubelet(ctx context.Context) error {
	if err := os.RemoveAll(filepath.Join(n.Dir, "proc/stat")); err != nil { // a link to the machine's
		return err
	}
	if n.hasDevices() {
		if _, err := kubelet.OfferPCI(n.Dir, []managers.Devices{n.devices()}); err != nil {
			return err
		}
	}
	if err := n.startManagers(); err != nil {
		return err
	}
	if err := n.register(ctx); err != nil {
		return err
	}
	earlier := time.Now().Add(-time.Hour)
	return os.Chtimes(n.socket(), earlier, earlier)
}

// startManagers starts managers with their state in the node's folder.
func (n *node) startManagers(flags ...string) (err error) {
	config := filepath.Join(n.Dir, daemon.ConfigPath)
	if err := os.MkdirAll(n.Kubelet(), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(config, []byte(n.kind.config(n.workload)), 0o644); err != nil {
		return err
	}
	n.starts++
	n.plugins = false
	if err := n.ShowKubelet(n.pid()); err != nil {
		return err
	}
	n.managers, err = daemon.StartManagersWith(os.Stderr, n.program, n.machine, n.Kubelet(), config, flags...)
	return err
}

func (n *node) pid() int { return 1000 + n.starts }

func (n *node) hasDevices() bool { return n.workload.Devices && len(n.kind.nics) > 0 }

func (n *node) devices() managers.Devices {
	return managers.Devices{Resource: string(nic), NUMA: n.kind.nics}
}

// register has the device plugin register, and reports the devices.
func (n *node) register(ctx context.Context) error {
	if n.hasDevices() {
		if err := n.managers.Register(string(nic), n.kind.nics); err != nil {
			return err
		}
	}
	n.plugins = true
	return n.report(ctx)
}

func (n *node) socket() string { return filepath.Join(n.Kubelet(), "pod-resources/kubelet.sock") }

// report writes what the node has to its Node, as a kubelet does.
func (n *node) report(ctx context.Context) error {
	status := v1.NodeStatus{}
	if err := n.managers.Ask(map[string]any{"node": true}, &status); err != nil {
		return err
	}
	for _, amounts := range []v1.ResourceList{status.Capacity, status.Allocatable} {
		delete(amounts, v1.ResourcePods)
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": status.Capacity, "allocatable": status.Allocatable,
		"nodeInfo": map[string]any{"kubeletVersion": status.NodeInfo.KubeletVersion}}})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// run does what comes, one thing after the other.
func (n *node) run(ctx context.Context) {
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case task := <-n.tasks:
			err = task(ctx)
		case <-tidy.C:
			err = n.managers.Ask(map[string]any{"tidyCPUs": true}, &struct{}{})
		}
		if err != nil && ctx.Err() == nil {
			n.failed(fmt.Errorf("%s: %w", n.Name, err))
		}
	}
}

// saw takes a pod of the node as the API server has it now.
func (n *node) saw(pod *v1.Pod) {
	if _, seen := n.bound.LoadOrStore(pod.UID, time.Now()); !seen {
		n.holding.LoadOrStore(pod.UID, (*holding)(nil))
		if pod.Spec.SchedulerName == otherScheduler {
			n.others.Store(pod.UID, time.Now())
		}
	}
	n.tasks <- func(ctx context.Context) error {
		there, known := n.known[pod.UID]
		switch {
		case pod.DeletionTimestamp != nil && known:
			return n.remove(ctx, pod, there)
		case pod.DeletionTimestamp == nil && !known:
			return n.admit(ctx, pod)
		}
		return nil
	}
}

// finish ends a pod that runs, as if its process had exited.
func (n *node) finish(pod *v1.Pod) {
	n.tasks <- func(ctx context.Context) error {
		if !n.known[pod.UID] {
			return nil
		}
		var answer struct{ Error string }
		if err := n.managers.Ask(map[string]any{"complete": fullName(pod)}, &answer); err != nil {
			return err
		}
		if answer.Error != "" {
			return fmt.Errorf("complete %s: %s", pod.Name, answer.Error)
		}
		n.happened("completed %s", asking(pod))
		n.stale = true
		n.holding.Delete(pod.UID)
		return n.setStatus(ctx, pod, v1.PodStatus{Phase: v1.PodSucceeded})
	}
}

// admit asks the managers and tells the API server what they say.
func (n *node) admit(ctx context.Context, pod *v1.Pod) error {
	var verdict managers.Verdict
	asked := pod.DeepCopy()
	asked.ManagedFields, asked.Spec.NodeName = nil, "" // the managers' node has another name, and no labels
	asked.Spec.NodeSelector = nil
	if asked.Spec.Affinity != nil {
		asked.Spec.Affinity.NodeAffinity = nil
	}
	for _, list := range [][]v1.Container{asked.Spec.InitContainers, asked.Spec.Containers} {
		for i := range list { // it has no storage either
			delete(list[i].Resources.Requests, v1.ResourceEphemeralStorage)
			delete(list[i].Resources.Limits, v1.ResourceEphemeralStorage)
		}
	}
	if err := n.managers.Ask(map[string]any{"admit": asked}, &verdict); err != nil {
		return err
	}
	n.stale = n.stale && n.arriving
	again := n.known[pod.UID]
	n.known[pod.UID] = verdict.Admitted
	if !verdict.Admitted {
		n.holding.Delete(pod.UID)
		n.happened("refused %s", asking(pod))
		n.refused(pod, n.excuse(pod, again), fmt.Sprintf("%s on %s, made %s, there before: %v: %s: %s; %s", asking(pod), n.Name,
			pod.CreationTimestamp.Format("15:04:05"), again, verdict.Reason, verdict.Message, n.story()))
		return n.setStatus(ctx, pod, v1.PodStatus{Phase: v1.PodFailed, Reason: verdict.Reason, Message: verdict.Message})
	}
	if err := os.MkdirAll(n.logs(pod), 0o755); err != nil {
		return err
	}
	taken := cpuset.New()
	for _, container := range verdict.Containers {
		cpus, err := cpuset.Parse(container.CPUs)
		if err != nil {
			return err
		}
		taken = taken.Union(cpus)
	}
	n.holding.Store(pod.UID, &holding{pod.Name, taken})
	if again {
		n.happened("admitted %s again: CPUs %v", asking(pod), taken)
		return nil
	}
	n.happened("admitted %s: CPUs %v", asking(pod), taken)
	n.admitted(pod, n.kind.numaNodes(taken))
	return n.setStatus(ctx, pod, v1.PodStatus{Phase: v1.PodRunning, StartTime: ptr.To(metav1.Now()),
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()}}})
}

func (n *node) forget(uid types.UID) {
	delete(n.known, uid)
	n.holding.Delete(uid)
}

// remove ends what is left of a pod that is being deleted, and deletes it.
func (n *node) remove(ctx context.Context, pod *v1.Pod, there bool) error {
	n.forget(pod.UID)
	if there {
		var answer struct{ Error string }
		if err := n.managers.Ask(map[string]any{"drop": fullName(pod)}, &answer); err != nil {
			return err
		}
		if answer.Error != "" {
			return fmt.Errorf("drop %s: %s", pod.Name, answer.Error)
		}
		n.happened("dropped %s", asking(pod))
		n.stale = true
		if err := os.RemoveAll(n.logs(pod)); err != nil {
			return err
		}
	}
	err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0)),
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (n *node) setStatus(ctx context.Context, pod *v1.Pod, status v1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// logs is the folder of the pod's logs, which the kubelet makes when it starts a pod.
func (n *node) logs(pod *v1.Pod) string {
	return filepath.Join(n.Dir, "var/log/pods", fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID))
}

// asking names the pod and what it asks for.
func asking(pod *v1.Pod) string {
	requests := pod.Spec.Containers[0].Resources.Requests
	text := fmt.Sprintf("%s (cpu %s, memory %s", pod.Name, requests.Cpu(), requests.Memory())
	if nics := requests[nic]; !nics.IsZero() {
		text += ", nic " + nics.String()
	}
	return text + ")"
}

func fullName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// stop ends the daemon and the kubelet.
func (n *node) stop() {
	n.Kill()
	if n.managers != nil {
		n.managers.Kill()
	}
}
