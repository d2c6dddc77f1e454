// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	testing "k8s.io/kubernetes/pkg/scheduler/testing/framework"
)

// Without a gate the API server refuses a pod that uses its fields, except tolerations with Gt and Lt, which are alpha in 1.35.
var gates = feature.Features{
	EnableNodeInclusionPolicyInPodTopologySpread: true,
	EnableMatchLabelKeysInPodTopologySpread:      true,
	EnableSidecarContainers:                      true,
	EnableTaintTolerationComparisonOperators:     true,
}

func newFramework(ctx context.Context, pods []*v1.Pod, nodes []*v1.Node) (framework.Framework, *cache.Snapshot, error) {
	snapshot := cache.NewSnapshot(pods, nodes)
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	plugins := []testing.RegisterPluginFunc{
		testing.RegisterQueueSortPlugin(queuesort.Name, queuesort.New),
		testing.RegisterBindPlugin(defaultbinder.Name, defaultbinder.New),
		testing.RegisterFilterPlugin(nodeunschedulable.Name, runtime.FactoryAdapter(gates, nodeunschedulable.New)),
		testing.RegisterFilterPlugin(nodename.Name, runtime.FactoryAdapter(gates, nodename.New)),
		testing.RegisterFilterPlugin(tainttoleration.Name, runtime.FactoryAdapter(gates, tainttoleration.New)),
		testing.RegisterPluginAsExtensions(nodeaffinity.Name, runtime.FactoryAdapter(gates, nodeaffinity.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(nodeports.Name, runtime.FactoryAdapter(gates, nodeports.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(podtopologyspread.Name, runtime.FactoryAdapter(gates, podtopologyspread.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(interpodaffinity.Name, runtime.FactoryAdapter(gates, interpodaffinity.New), "PreFilter", "Filter"),
	}
	fw, err := testing.NewFramework(ctx, plugins, "default-scheduler", runtime.WithSnapshotSharedLister(snapshot),
		runtime.WithInformerFactory(factory), runtime.WithClientSet(fake.NewSimpleClientset()))
	if err != nil {
		return nil, nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return fw, snapshot, nil
}
