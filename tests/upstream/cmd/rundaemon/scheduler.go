// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/programs"
)

// The example of KEP 454: two nodes of two NUMA nodes; a pod whose two containers want 3 CPUs each. On node-1 one of
// them needs both NUMA nodes; node-2 is free.
var kepScores = map[string]int64{"node-1": 82, "node-2": 94}

const (
	rounds   = 3
	kepLabel = "test.nrtd.dev/kep" // keeps the pods on the two nodes
	maxCPUs  = "nrtd.dev/max-exclusive-cpus.1-numa"
)

// scheduler runs nrtd on the two nodes and asks the real scheduler, three times.
func (b *bench) scheduler(ctx context.Context) error {
	nodes, zones, held, err := b.kepNodes(ctx)
	if err != nil {
		return err
	}
	defer func() {
		for _, node := range nodes {
			node.Kill()
		}
	}()
	for round := 1; round <= rounds; round++ {
		name := fmt.Sprintf("scheduler round %d", round)
		// The stock profile prefers node-1, which has four times as many CPUs as far as the Node object tells.
		b.lands(ctx, name+": plugin off, no nrtd", "node-1", kepPod("default-scheduler"))
		if round == 1 {
			if err := b.withoutCRD(ctx, nodes[0]); err != nil {
				return err
			}
		}
		for i, node := range nodes {
			if _, err := b.started(ctx, node, zones, held[i]); err != nil {
				return err
			}
			if !waitUntil(ctx, 10*time.Second, func() bool { return b.hinted(ctx, node.Name) }) {
				return fmt.Errorf("%s has no annotation fit-score.small and no label\n%s", node.Name, node.Log())
			}
		}
		b.scores(ctx, name)
		b.lands(ctx, name+": plugin off, with nrtd", "node-1", kepPod("default-scheduler"))
		b.lands(ctx, name+": plugin on", "node-2", kepPod("least-numa-nodes"))
		b.lands(ctx, name+": by fit-score.small", "node-2", kepPod("fit-score-small"))
		five := kepPod("default-scheduler")
		five.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions =
			append(five.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions,
				v1.NodeSelectorRequirement{Key: maxCPUs, Operator: v1.NodeSelectorOpGt, Values: []string{"5"}})
		b.lands(ctx, name+": by the label, more than 5 CPUs on one NUMA node", "node-2", five)
		for _, node := range nodes {
			if err := node.Stop(); err != nil {
				return err
			}
			out, err := exec.CommandContext(ctx, b.nrtd, "run", "--cleanup", "--node-name", node.Name, "--kubeconfig", node.Kubeconfig,
				"--sysroot", node.Dir).CombinedOutput()
			if err != nil {
				return fmt.Errorf("nrtd run --cleanup: %w: %s", err, out)
			}
			b.check(!b.hinted(ctx, node.Name), name+": cleanup of "+node.Name, "annotations and labels of nrtd.dev are gone")
		}
	}
	return nil
}

// kepNodes prepares both machines. What node-1's pods hold, with the reserved CPU, leaves 2 and 4 CPUs.
func (b *bench) kepNodes(ctx context.Context) (nodes []*daemon.Node, zones []daemon.Zone, held [][]cpuset.CPUSet, err error) {
	zones = []daemon.Zone{zone("node-0", 0, 7), zone("node-1", 8, 15)}
	held = [][]cpuset.CPUSet{of(zones, 5, 4), nil}
	for i, name := range []string{"node-1", "node-2"} {
		node, err := daemon.New(b.dir, name, filepath.Join(b.machines, "kep"), b.nrtd, b.kubeconfig("agent-"+name), "0",
			"--labels", "--shape", "small=cpu=6,memory=2Gi", "--node-write-interval", "100ms")
		if err != nil {
			return nil, nil, nil, err
		}
		if _, err := node.Hold(daemon.All(zones), held[i]...); err != nil {
			return nil, nil, nil, err
		}
		nodes = append(nodes, node)
		if _, err := b.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"`+kepLabel+`":"yes"}}}`), metav1.PatchOptions{}); err != nil {
			return nil, nil, nil, err
		}
	}
	_, err = b.client.CoreV1().Nodes().Patch(ctx, "node-2", types.MergePatchType,
		[]byte(`{"status":{"allocatable":{"cpu":"16","memory":"64Gi"},"capacity":{"cpu":"16","memory":"64Gi"}}}`), metav1.PatchOptions{}, "status")
	return nodes, zones, held, err
}

// hinted tells whether the Node has the annotations of --shape and the labels of --labels.
func (b *bench) hinted(ctx context.Context, name string) bool {
	node, err := b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return err == nil && node.Annotations["nrtd.dev/fit-score.small"] != "" && node.Labels[maxCPUs] != ""
}

// kepPod is the example's pod for one of the two nodes.
func kepPod(profile string) *v1.Pod {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("3"), v1.ResourceMemory: resource.MustParse("1Gi")}
	container := v1.Container{Name: "first", Image: "example.com/app", Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}
	second := *container.DeepCopy()
	second.Name = "second"
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "kep-", Namespace: metav1.NamespaceDefault},
		Spec: v1.PodSpec{
			SchedulerName: profile,
			Containers:    []v1.Container{container, second},
			Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
					{Key: kepLabel, Operator: v1.NodeSelectorOpExists}}}}}}},
		}}
}

// lands gives the pod to the scheduler and takes it away again.
func (b *bench) lands(ctx context.Context, name, want string, pod *v1.Pod) {
	pods := b.client.CoreV1().Pods(metav1.NamespaceDefault)
	made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		b.check(false, name, "%v", err)
		return
	}
	defer pods.Delete(ctx, made.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	said := ""
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		made, err = pods.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range made.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
				said = condition.Message
			}
		}
		return made.Spec.NodeName != "", nil
	})
	if err != nil {
		b.check(false, name, "the pod is not bound (want %s): %v; the scheduler says %q", want, err, said)
		return
	}
	b.check(made.Spec.NodeName == want, name, "the pod landed on %s, want %s", made.Spec.NodeName, want)
}

// scores compares what `kubectl numa score` makes of the published objects with the document.
func (b *bench) scores(ctx context.Context, name string) {
	got, err := b.ask(ctx)
	if err != nil {
		b.check(false, name+": scores", "%v", err)
		return
	}
	b.check(len(got) == 2 && got["node-1"] == kepScores["node-1"] && got["node-2"] == kepScores["node-2"], name+": scores",
		"LeastNUMANodes of the published objects %v, want %v", got, kepScores)
}

func (b *bench) ask(ctx context.Context) (map[string]int64, error) {
	list := topologyv1alpha2.NodeResourceTopologyList{}
	list.APIVersion, list.Kind = "v1", "List"
	for node := range kepScores {
		object := b.watch.Newest(node).NodeResourceTopology.DeepCopy()
		object.APIVersion, object.Kind = "topology.node.k8s.io/v1alpha2", "NodeResourceTopology"
		list.Items = append(list.Items, *object)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "objects.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, programs.KubectlNuma(b.nrtd), "score", "--from", file, "-f", "tests/fixtures/examples/kep-pod.yaml", "-o", "json")
	answer, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("kubectl-numa score: %w: %s", err, answer)
	}
	var output struct {
		Nodes []struct {
			Name   string
			Scores map[string]*int64
		}
	}
	if err := json.Unmarshal(answer, &output); err != nil {
		return nil, err
	}
	got := map[string]int64{}
	for _, node := range output.Nodes {
		if score := node.Scores["LeastNUMANodes"]; score != nil {
			got[node.Name] = *score
		}
	}
	return got, nil
}

// withoutCRD starts nrtd where the CRD is absent: it waits and says so, and pods are scheduled all the same.
func (b *bench) withoutCRD(ctx context.Context, node *daemon.Node) error {
	crd, err := b.dynamic.Resource(crds).Get(ctx, crdName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := b.deleteCRD(ctx); err != nil {
		return err
	}
	if err := node.Start(); err != nil {
		return err
	}
	said := waitUntil(ctx, 10*time.Second, func() bool { return node.Logged("CRD") })
	b.check(said, "CRD absent: nrtd says so", "it logged %s", strings.ReplaceAll(node.Log(), "\n", " / "))
	b.check(!node.Ready(), "CRD absent: nrtd waits", "/readyz says ready: %v, want false", node.Ready())
	b.lands(ctx, "CRD absent: the scheduler schedules", "node-1", kepPod("default-scheduler"))
	if err := b.createCRD(ctx, crd); err != nil {
		return err
	}
	ready := waitUntil(ctx, b.within(backoffLimit), node.Ready)
	b.check(ready, "CRD there again: nrtd publishes", "/readyz says ready: %v, want true", ready)
	return node.Stop()
}
