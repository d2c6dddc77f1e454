// SPDX-License-Identifier: Apache-2.0

package podlistprocessor

import (
	"testing"

	apiv1 "k8s.io/api/core/v1"
	ca_context "k8s.io/autoscaler/cluster-autoscaler/context"
	"k8s.io/autoscaler/cluster-autoscaler/debuggingsnapshot"
	"k8s.io/autoscaler/cluster-autoscaler/simulator"
	"k8s.io/autoscaler/cluster-autoscaler/simulator/clustersnapshot/testsnapshot"
	"k8s.io/autoscaler/cluster-autoscaler/simulator/framework"
	"k8s.io/autoscaler/cluster-autoscaler/simulator/scheduling"
	"k8s.io/autoscaler/cluster-autoscaler/utils/taints"
	. "k8s.io/autoscaler/cluster-autoscaler/utils/test"
)

// The node `split` of unaligned.sh: 31 CPUs, two pods of 10 CPUs, 11 CPUs free, at most 6 of them on one NUMA node.
func split() *framework.NodeInfo {
	node := buildReadyTestNode("split", 31000, 60<<30)
	pods := []*apiv1.Pod{BuildTestPod("busy-0", 10000, 1<<30), BuildTestPod("busy-1", 10000, 1<<30)}
	for _, pod := range pods {
		pod.Spec.NodeName = node.Name
	}
	return framework.NewTestNodeInfo(node, pods...)
}

// waiting returns the pods that the autoscaler would add nodes for.
func waiting(t *testing.T, pods ...*apiv1.Pod) []*apiv1.Pod {
	snapshot := testsnapshot.NewTestSnapshotOrDie(t)
	if err := snapshot.AddNodeInfo(split()); err != nil {
		t.Fatal(err)
	}
	snapshot.Fork()
	context := &ca_context.AutoscalingContext{ClusterSnapshot: snapshot, DebuggingSnapshotter: debuggingsnapshot.NewDebuggingSnapshotter(false)}
	left, err := NewFilterOutSchedulablePodListProcessor(scheduling.ScheduleAnywhere).Process(context, pods)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// The kubelet of the node would reject a pod of 8 CPUs; the autoscaler finds the pod schedulable, and adds no node.
func TestNrtdUnalignedPod(t *testing.T) {
	if left := waiting(t, BuildTestPod("unaligned", 8000, 1<<30)); len(left) != 0 {
		t.Errorf("the autoscaler would add a node: %d pods wait", len(left))
	}
}

// A placeholder that requests more CPUs than are free on any node has the autoscaler add a node, on which the pod fits too.
func TestNrtdPlaceholder(t *testing.T) {
	left := waiting(t, BuildTestPod("unaligned", 8000, 1<<30), BuildTestPod("placeholder", 24000, 1<<30))
	if len(left) != 1 || left[0].Name != "placeholder" {
		t.Fatalf("%d pods wait", len(left))
	}
	template, err := simulator.SanitizedTemplateNodeInfoFromNodeInfo(split(), "group", nil, false, taints.TaintConfig{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := testsnapshot.NewTestSnapshotOrDie(t)
	if err := snapshot.AddNodeInfo(template); err != nil {
		t.Fatal(err)
	}
	if err := snapshot.SchedulePod(left[0], template.Node().Name); err != nil {
		t.Errorf("the placeholder does not fit a new node: %v", err)
	}
}
