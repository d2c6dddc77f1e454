// SPDX-License-Identifier: Apache-2.0

// Package kubeletadmission is an example of a scheduler plugin that asks nrtd-extender which kubelets would admit a pod. Unlike a scheduler
// with the extender in its configuration, it sends no names of nodes: /v1/choose returns the best nodes of the cluster.
//
// In a scheduling cycle:
//
//	PreFilter   /v1/choose: the cycle is about the best nodes only, and the pod is assumed on the first one
//	Filter      passes these nodes
//	Score       ranks them in the order of the answer
//	Reserve     if the scheduler has chosen another node than the first: /v1/choose about this node
//	Unreserve   /v1/forget
//	PostFilter  /v1/forget; and if only other plugins have refused the nodes, the next cycle is about every node
//
// Then PreFilter asks /v1/admit, and Filter passes the nodes whose kubelets admit the pod. PostFilter must run before DefaultPreemption: there
// may be nodes that need no evictions.
//
// DefaultPreemption tries evictions with Filter. Which evictions make a kubelet admit the pod, only the extender knows: Filter passes a node as
// soon as a pod is evicted from it, and the configuration has the extender with its preemptVerb alone.
package kubeletadmission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = "KubeletAdmission"

const (
	limit    = 16                     // nodes of a cycle
	triedMax = 1000                   // pods whose next cycle is about every node
	lag      = 500 * time.Millisecond // the extender hears of an event at most so long after the scheduler
	objects  = "noderesourcetopologies.v1alpha2.topology.node.k8s.io"
	notAdmit = "the kubelet does not admit the pod"
)

type args struct {
	URL string `json:"url"` // of nrtd-extender
}

type plugin struct {
	handle framework.Handle
	client *client

	heard atomic.Int64 // when an event has last made the scheduler try a pod again, in nanoseconds

	lock sync.Mutex
	// tried are the pods for which other plugins have refused all nodes of /v1/choose.
	tried map[types.UID]bool
}

// New makes the plugin from its arguments in the scheduler's configuration.
func New(_ context.Context, configuration runtime.Object, handle framework.Handle) (framework.Plugin, error) {
	a := args{}
	if err := frameworkruntime.DecodeInto(configuration, &a); err != nil {
		return nil, err
	}
	if a.URL == "" {
		return nil, fmt.Errorf("%s: the argument url is missing", Name)
	}
	return &plugin{handle: handle, client: newClient(a.URL), tried: map[types.UID]bool{}}, nil
}

func (p *plugin) Name() string { return Name }

// cycle is what PreFilter has found for a pod.
type cycle struct {
	names   []string         // of /v1/choose, the best first; nil: the cycle is about every node
	passing sets.Set[string] // if `failed` is not set: the nodes that pass
	failed  sets.Set[string] // else the nodes that do not
	assumed bool             // on names[0]
	evicted map[string]int   // pods that DefaultPreemption has removed from a node, in its trial
}

// Clone is for a trial of DefaultPreemption.
func (c *cycle) Clone() framework.StateData {
	clone := *c
	clone.evicted = map[string]int{}
	for node, n := range c.evicted {
		clone.evicted[node] = n
	}
	return &clone
}

func read(state framework.CycleState) *cycle {
	if data, err := state.Read(Name); err == nil {
		return data.(*cycle)
	}
	return nil
}

// mayBeAligned is false for pods to which no kubelet assigns CPUs, memory or devices by NUMA node.
func mayBeAligned(pod *v1.Pod) bool {
	if qos.GetPodQOS(pod) == v1.PodQOSGuaranteed {
		return true
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for name := range container.Resources.Limits {
			if strings.Contains(string(name), "/") { // of a device plugin
				return true
			}
		}
	}
	return false
}

func (p *plugin) wasTried(pod *v1.Pod) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	tried := p.tried[pod.UID]
	delete(p.tried, pod.UID)
	return tried
}

func (p *plugin) PreFilter(ctx context.Context, state framework.CycleState, pod *v1.Pod, _ []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	if !mayBeAligned(pod) {
		return nil, framework.NewStatus(framework.Skip)
	}
	if p.wasTried(pod) {
		return p.preFilterEvery(ctx, state, pod)
	}
	answer, err := p.client.post(ctx, "choose", request{Pod: pod, Limit: limit, Assume: true})
	if err != nil {
		return nil, framework.AsStatus(err)
	}
	if answer.everyNode() {
		return nil, framework.NewStatus(framework.Skip)
	}
	names := sets.New(answer.NodeNames...)
	state.Write(Name, &cycle{names: answer.NodeNames, passing: names, assumed: answer.Assumed})
	if len(names) == 0 {
		return nil, framework.NewStatus(framework.Unschedulable, answer.why())
	}
	return &framework.PreFilterResult{NodeNames: names}, nil
}

// preFilterEvery is for a cycle about every node.
func (p *plugin) preFilterEvery(ctx context.Context, state framework.CycleState, pod *v1.Pod) (*framework.PreFilterResult, *framework.Status) {
	answer, err := p.client.post(ctx, "admit", request{Pod: pod})
	if err != nil {
		return nil, framework.AsStatus(err)
	}
	c := &cycle{passing: sets.New(answer.NodeNames...)}
	if answer.NodeNames == nil {
		c.failed = sets.New(answer.FailedNodeNames...)
	}
	state.Write(Name, c)
	if answer.NodeNames != nil && len(answer.NodeNames) == 0 {
		return nil, framework.NewStatus(framework.Unschedulable, answer.why())
	}
	return nil, nil
}

func (p *plugin) PreFilterExtensions() framework.PreFilterExtensions { return p }

func (p *plugin) AddPod(_ context.Context, state framework.CycleState, _ *v1.Pod, _ framework.PodInfo, node framework.NodeInfo) *framework.Status {
	if c := read(state); c != nil && c.evicted[node.Node().Name] > 0 {
		c.evicted[node.Node().Name]--
	}
	return nil
}

func (p *plugin) RemovePod(_ context.Context, state framework.CycleState, _ *v1.Pod, _ framework.PodInfo, node framework.NodeInfo) *framework.Status {
	if c := read(state); c != nil {
		if c.evicted == nil {
			c.evicted = map[string]int{}
		}
		c.evicted[node.Node().Name]++
	}
	return nil
}

func (p *plugin) Filter(_ context.Context, state framework.CycleState, _ *v1.Pod, node framework.NodeInfo) *framework.Status {
	c, name := read(state), node.Node().Name
	if c == nil || c.evicted[name] > 0 || c.passing.Has(name) || (c.failed != nil && !c.failed.Has(name)) {
		return nil
	}
	return framework.NewStatus(framework.Unschedulable, notAdmit)
}

func (p *plugin) Score(_ context.Context, state framework.CycleState, _ *v1.Pod, node framework.NodeInfo) (int64, *framework.Status) {
	c := read(state)
	if c == nil {
		return framework.MinNodeScore, nil
	}
	if at := slices.Index(c.names, node.Node().Name); at >= 0 {
		return framework.MaxNodeScore - int64(at)*(framework.MaxNodeScore/limit), nil
	}
	return framework.MinNodeScore, nil
}

func (p *plugin) ScoreExtensions() framework.ScoreExtensions { return nil }

func (p *plugin) Reserve(ctx context.Context, state framework.CycleState, pod *v1.Pod, node string) *framework.Status {
	c := read(state)
	if c == nil || (c.assumed && c.names[0] == node) {
		return nil
	}
	answer, err := p.client.post(ctx, "choose", request{Pod: pod, NodeNames: []string{node}, Limit: 1, Assume: true})
	if err != nil {
		return framework.AsStatus(err)
	}
	if !answer.everyNode() && !slices.Contains(answer.NodeNames, node) {
		return framework.NewStatus(framework.Unschedulable, answer.why())
	}
	return nil
}

func (p *plugin) Unreserve(ctx context.Context, state framework.CycleState, pod *v1.Pod, _ string) {
	if read(state) != nil {
		p.forget(ctx, pod)
	}
}

func (p *plugin) forget(ctx context.Context, pod *v1.Pod) {
	// The binding cycle's context may have been cancelled. If the request fails, the pod stays assumed until its next request, or for
	// --assume-timeout.
	if _, err := p.client.post(context.WithoutCancel(ctx), "forget", request{Pod: pod}); err != nil {
		klog.FromContext(ctx).Error(err, "The pod stays assumed", "pod", klog.KObj(pod))
	}
}

func (p *plugin) PostFilter(ctx context.Context, state framework.CycleState, pod *v1.Pod, _ framework.NodeToStatusReader) (*framework.PostFilterResult, *framework.Status) {
	c, retry := read(state), func() { p.handle.Activate(klog.FromContext(ctx), map[string]*v1.Pod{pod.Name: pod}) }
	if c == nil || len(c.names) == 0 {
		if time.Since(time.Unix(0, p.heard.Load())) < lag {
			time.AfterFunc(lag, retry)
		}
		return nil, framework.NewStatus(framework.Unschedulable)
	}
	if c.assumed {
		p.forget(ctx, pod)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if len(p.tried) >= triedMax { // pods that were deleted before their next cycle
		clear(p.tried)
	}
	p.tried[pod.UID] = true
	retry()
	return nil, framework.NewStatus(framework.UnschedulableAndUnresolvable, fmt.Sprintf("none of the %d best nodes; trying every node", len(c.names)))
}

// EventsToRegister are those that may make a kubelet admit the pod. The scheduler may hear of an event, and ask, before the extender has heard of
// it: PostFilter has the pod tried once more.
func (p *plugin) EventsToRegister(context.Context) ([]framework.ClusterEventWithHint, error) {
	events := []framework.ClusterEvent{
		{Resource: framework.EventResource(objects), ActionType: framework.Add | framework.Update},
		{Resource: framework.Pod, ActionType: framework.Delete},
		{Resource: framework.Node, ActionType: framework.Add | framework.Update},
	}
	var registered []framework.ClusterEventWithHint
	for _, event := range events {
		registered = append(registered, framework.ClusterEventWithHint{Event: event, QueueingHintFn: p.hear})
	}
	return registered, nil
}

func (p *plugin) hear(klog.Logger, *v1.Pod, any, any) (framework.QueueingHint, error) {
	p.heard.Store(time.Now().UnixNano())
	return framework.Queue, nil
}
