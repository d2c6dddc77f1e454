// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	nrtv1alpha1 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha1"
	nrtfake "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/generated/clientset/versioned/fake"
	"github.com/koordinator-sh/koordinator/apis/extension"
	koordfake "github.com/koordinator-sh/koordinator/pkg/client/clientset/versioned/fake"
	koordinformers "github.com/koordinator-sh/koordinator/pkg/client/informers/externalversions"
	koordconfig "github.com/koordinator-sh/koordinator/pkg/scheduler/apis/config"
	configv1 "github.com/koordinator-sh/koordinator/pkg/scheduler/apis/config/v1"
	"github.com/koordinator-sh/koordinator/pkg/scheduler/frameworkext"
	"github.com/koordinator-sh/koordinator/pkg/scheduler/plugins/nodenumaresource"
	"github.com/koordinator-sh/koordinator/pkg/util/cpuset"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedulertesting "k8s.io/kubernetes/pkg/scheduler/testing/framework"
)

// outcome is what became of a pod: why the plugin refused it, or what it writes to the pod before it is bound.
type outcome struct {
	Refused string `json:"refused,omitempty"`
	Spec    string `json:"spec,omitempty"`   // scheduling.koordinator.sh/resource-spec
	Status  string `json:"status,omitempty"` // scheduling.koordinator.sh/resource-status
}

// nodes is the scheduler's snapshot.
type nodes map[string]*framework.NodeInfo

func (n nodes) NodeInfos() fwk.NodeInfoLister       { return n }
func (n nodes) StorageInfos() fwk.StorageInfoLister { return n }
func (n nodes) IsPVCUsedByPods(string) bool         { return false }

func (n nodes) List() (list []fwk.NodeInfo, err error) {
	for _, node := range n {
		list = append(list, node)
	}
	return list, nil
}

func (n nodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error)             { return nil, nil }
func (n nodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }

func (n nodes) Get(name string) (fwk.NodeInfo, error) {
	if node := n[name]; node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("no node %s", name)
}

// handle is the framework for the plugin, which looks for the client of topologies there.
type handle struct {
	frameworkext.FrameworkExtender
	*nrtfake.Clientset
}

// scheduler has the plugin, as Koordinator's framework runs it.
type scheduler struct {
	nodes  nodes
	plugin *nodenumaresource.Plugin
	serial int
}

func newScheduler(strategy string) (*scheduler, error) {
	var versioned configv1.NodeNUMAResourceArgs
	configv1.SetDefaults_NodeNUMAResourceArgs(&versioned)
	var args koordconfig.NodeNUMAResourceArgs
	if err := configv1.Convert_v1_NodeNUMAResourceArgs_To_config_NodeNUMAResourceArgs(&versioned, &args, nil); err != nil {
		return nil, err
	}
	if strategy != "" {
		args.NUMAScoringStrategy.Type = koordconfig.ScoringStrategyType(strategy)
	}
	s := &scheduler{nodes: nodes{}}
	client := koordfake.NewSimpleClientset()
	factory, err := frameworkext.NewFrameworkExtenderFactory(frameworkext.WithKoordinatorClientSet(client),
		frameworkext.WithKoordinatorSharedInformerFactory(koordinformers.NewSharedInformerFactory(client, 0)),
		frameworkext.WithReservationNominator(frameworkext.NewFakeReservationNominator()))
	if err != nil {
		return nil, err
	}
	kube := kubefake.NewSimpleClientset()
	fw, err := schedulertesting.NewFramework(context.Background(), []schedulertesting.RegisterPluginFunc{
		schedulertesting.RegisterBindPlugin(defaultbinder.Name, defaultbinder.New),
		schedulertesting.RegisterQueueSortPlugin(queuesort.Name, queuesort.New)}, "koord-scheduler",
		runtime.WithClientSet(kube), runtime.WithInformerFactory(informers.NewSharedInformerFactory(kube, 0)),
		runtime.WithSnapshotSharedLister(s.nodes))
	if err != nil {
		return nil, err
	}
	create := frameworkext.PluginFactoryProxy(factory, func(ctx context.Context, args apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
		return nodenumaresource.New(ctx, args, &handle{h.(frameworkext.FrameworkExtender), nrtfake.NewSimpleClientset()})
	})
	plugin, err := create(context.Background(), &args, fw)
	if err != nil {
		return nil, err
	}
	s.plugin = plugin.(*nodenumaresource.Plugin)
	return s, nil
}

// place schedules the pods one after the other on a node with this object, whose options are what the plugin's event handler
// makes of it.
func (s *scheduler) place(object *nrtv1alpha1.NodeResourceTopology, q *question) ([]outcome, error) {
	s.serial++
	name := fmt.Sprintf("node-%d", s.serial)
	info := framework.NewNodeInfo()
	info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: q.Labels}})
	s.nodes[name] = info
	options := nodenumaresource.NewTopologyOptions(object)
	s.plugin.GetTopologyOptionsManager().UpdateTopologyOptions(name, func(o *nodenumaresource.TopologyOptions) {
		options.MaxRefCount = o.MaxRefCount
		*o = options
	})
	defer func() {
		delete(s.nodes, name)
		s.plugin.GetTopologyOptionsManager().Delete(name)
		for _, pod := range slices.Concat(q.Bound, q.Pods) {
			s.plugin.GetResourceManager().Release(name, pod.UID)
		}
	}()
	for _, pod := range q.Bound {
		status, err := extension.GetResourceStatus(pod.Annotations)
		if err != nil {
			return nil, err
		}
		cpus, err := cpuset.Parse(status.CPUSet)
		if err != nil {
			return nil, err
		}
		allocation := nodenumaresource.PodAllocation{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, CPUSet: cpus}
		for _, one := range status.NUMANodeResources {
			allocation.NUMANodeResources = append(allocation.NUMANodeResources,
				nodenumaresource.NUMANodeResource{Node: int(one.Node), Resources: one.Resources})
		}
		s.plugin.GetResourceManager().Update(name, &allocation)
	}
	var outcomes []outcome
	for _, pod := range q.Pods {
		outcomes = append(outcomes, s.placeOne(info, name, pod.DeepCopy()))
	}
	return outcomes, nil
}

func (s *scheduler) placeOne(info *framework.NodeInfo, name string, pod *v1.Pod) outcome {
	ctx, state := context.Background(), framework.NewCycleState()
	_, status := s.plugin.PreFilter(ctx, state, pod, []fwk.NodeInfo{info})
	if !status.IsSuccess() && !status.IsSkip() {
		return outcome{Refused: "PreFilter: " + status.Message()}
	}
	if status := s.plugin.Filter(ctx, state, pod, info); !status.IsSuccess() {
		return outcome{Refused: "Filter: " + status.Message()}
	}
	if status := s.plugin.Reserve(ctx, state, pod, name); !status.IsSuccess() {
		return outcome{Refused: "Reserve: " + status.Message()}
	}
	if status := s.plugin.PreBind(ctx, state, pod, name); !status.IsSuccess() {
		return outcome{Refused: "PreBind: " + status.Message()}
	}
	info.AddPod(pod)
	return outcome{Spec: pod.Annotations[extension.AnnotationResourceSpec], Status: pod.Annotations[extension.AnnotationResourceStatus]}
}
