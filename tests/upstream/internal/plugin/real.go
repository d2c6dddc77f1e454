// SPDX-License-Identifier: Apache-2.0

// Package plugin asks the real NodeResourceTopologyMatch plugin, through the scheduler framework's interfaces, and
// nrtd the same questions.
package plugin

import (
	"context"
	"fmt"
	"slices"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	schedconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	apiconfig "sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

// Strategies are the plugin's scoring strategies.
var Strategies = []apiconfig.ScoringStrategyType{
	apiconfig.LeastNUMANodes, apiconfig.MostAllocated, apiconfig.LeastAllocated, apiconfig.BalancedAllocation}

// weightSets are the resource weights that cases choose from; a plugin gets its weights when it is made.
var weightSets = []map[string]int64{
	nil,
	{"cpu": 1, "memory": 1},
	{"cpu": 3, "memory": 1, "vendor.com/gpu": 5},
	{"cpu": 0, "hugepages-2Mi": 2, "memory": 7},
}

// Real is the plugin, made once for each strategy and set of weights. It reads NodeResourceTopology objects from the
// API server whenever it is asked, as it does in a scheduler without a cache.
type Real struct {
	client  ctrlclient.WithWatch
	plugins []map[apiconfig.ScoringStrategyType]instance // by weight set
	objects map[string]*topologyv1alpha2.NodeResourceTopology
}

type instance interface {
	fwk.FilterPlugin
	fwk.ScorePlugin
}

// NewReal makes the plugins for the API server of config.
func NewReal(ctx context.Context, config *rest.Config) (*Real, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := topologyv1alpha2.AddToScheme(scheme); err != nil {
		return nil, err
	}
	client, err := ctrlclient.NewWithWatch(config, ctrlclient.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	handle, err := frameworkruntime.NewFramework(ctx, frameworkruntime.Registry{}, nil, frameworkruntime.WithKubeConfig(config))
	if err != nil {
		return nil, err
	}
	real := &Real{client: client, objects: map[string]*topologyv1alpha2.NodeResourceTopology{}}
	for _, weights := range weightSets {
		byStrategy := map[apiconfig.ScoringStrategyType]instance{}
		for _, strategy := range Strategies {
			made, err := noderesourcetopology.New(ctx, arguments(strategy, weights), handle)
			if err != nil {
				return nil, fmt.Errorf("make the plugin for %s: %w", strategy, err)
			}
			byStrategy[strategy] = made.(instance)
		}
		real.plugins = append(real.plugins, byStrategy)
	}
	return real, nil
}

func arguments(strategy apiconfig.ScoringStrategyType, weights map[string]int64) *apiconfig.NodeResourceTopologyMatchArgs {
	args := &apiconfig.NodeResourceTopologyMatchArgs{
		ScoringStrategy: apiconfig.ScoringStrategy{Type: strategy},
		Cache:           &apiconfig.NodeResourceTopologyCache{},
	}
	for name, weight := range weights {
		args.ScoringStrategy.Resources = append(args.ScoringStrategy.Resources, schedconfig.ResourceSpec{Name: name, Weight: weight})
	}
	return args
}

// Publish makes the API server hold the object.
func (r *Real) Publish(ctx context.Context, nrt *topologyv1alpha2.NodeResourceTopology) error {
	object := nrt.DeepCopy()
	known, found := r.objects[nrt.Name]
	var err error
	if found {
		object.ResourceVersion = known.ResourceVersion
		err = r.client.Update(ctx, object)
	} else {
		if err = r.client.Delete(ctx, object.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		err = r.client.Create(ctx, object)
	}
	if err != nil {
		return fmt.Errorf("publish NodeResourceTopology %s: %w", nrt.Name, err)
	}
	r.objects[nrt.Name] = object
	return nil
}

// Withdraw deletes what was published.
func (r *Real) Withdraw(ctx context.Context) error {
	for name, object := range r.objects {
		if err := r.client.Delete(ctx, object); err != nil {
			return fmt.Errorf("withdraw NodeResourceTopology %s: %w", name, err)
		}
		delete(r.objects, name)
	}
	return nil
}

// Answer is what is said of a pod on a node.
type Answer struct {
	Passed bool             `json:"passed"`
	Reason string           `json:"reason"`
	Scores map[string]int64 `json:"scores"`
	// Panics tells what the real plugin died of, by "Filter" or strategy; such an entry has no score.
	Panics map[string]string `json:"panics,omitempty"`
}

// Ask asks the plugin about a pod on the node whose NodeResourceTopology was published last under that name.
func (r *Real) Ask(ctx context.Context, weights int, pod *v1.Pod, node *v1.Node) (*Answer, error) {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	answer := &Answer{Scores: map[string]int64{}, Panics: map[string]string{}}
	state := framework.NewCycleState()
	for _, strategy := range Strategies {
		p := r.plugins[weights][strategy]
		if strategy == apiconfig.LeastNUMANodes {
			if died := survive(func() {
				status := p.Filter(ctx, state, pod, info)
				answer.Passed, answer.Reason = status.IsSuccess(), status.Message()
			}); died != "" {
				answer.Panics["Filter"] = died
			}
		}
		var status *fwk.Status
		if died := survive(func() {
			var score int64
			score, status = p.Score(ctx, state, pod, info)
			answer.Scores[string(strategy)] = score
		}); died != "" {
			answer.Panics[string(strategy)] = died
		}
		if !status.IsSuccess() {
			return nil, fmt.Errorf("score %s: %w", strategy, status.AsError())
		}
	}
	return answer, nil
}

// survive runs f and tells how it panicked, "" if it did not.
func survive(f func()) (died string) {
	defer func() {
		if cause := recover(); cause != nil {
			died = fmt.Sprint(cause)
		}
	}()
	f()
	return ""
}

// node is a node that has what a kubelet reports for every node, each resource the zones name, and each the pod
// requests: `kubectl numa score` sees no Node object and leaves resources that are in no zone to the scheduler's other plugins.
func node(c Case) *v1.Node {
	amounts := v1.ResourceList{
		v1.ResourceCPU:              resource.MustParse("256"),
		v1.ResourceMemory:           resource.MustParse("1Ti"),
		v1.ResourcePods:             resource.MustParse("110"),
		v1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	add := func(name v1.ResourceName) {
		if _, known := amounts[name]; !known {
			amounts[name] = resource.MustParse("1Ti")
		}
	}
	for _, zone := range c.NRT.Zones {
		for _, r := range zone.Resources {
			add(v1.ResourceName(r.Name))
		}
	}
	for _, container := range slices.Concat(c.Pod.Spec.InitContainers, c.Pod.Spec.Containers) {
		for name := range container.Resources.Limits {
			add(name)
		}
	}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.NRT.Name}, Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts}}
}
