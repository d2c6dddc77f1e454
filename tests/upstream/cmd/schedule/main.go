// SPDX-License-Identifier: Apache-2.0

// schedule gives random pods to the real scheduler of a control plane and checks that each lands on a node that
// `kubectl numa score` ranks first among those that pass, or on none when none passes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/plugin"
	"nrtd.dev/tests/upstream/internal/quiet"
)

// profiles are the scheduler's profiles (testdata/scheduler.yaml) with the score each ranks by.
var profiles = map[string]string{
	"least-numa-nodes": "LeastNUMANodes",
	"most-allocated":   "MostAllocated",
	"least-allocated":  "LeastAllocated",
}

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the control plane")
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	nodes := flag.String("nodes", "node-a,node-b,node-c", "the control plane's nodes")
	cases := flag.Int("cases", 30, "number of pods")
	seed := flag.Uint64("seed", rand.Uint64N(1000000), "random seed")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *nrtd, strings.Split(*nodes, ","), *cases, *seed); err != nil {
		fmt.Println("not ok schedule:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, nrtd string, nodes []string, cases int, seed uint64) error {
	fmt.Printf("schedule: seed %d, %d pods\n", seed, cases)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	real, err := plugin.NewReal(ctx, config)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nrtd-schedule-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bound := 0
	for i := range cases {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		var objects []*topologyv1alpha2.NodeResourceTopology
		for _, node := range nodes {
			object := harmless(r)
			object.Name = node
			if err := real.Publish(ctx, object); err != nil {
				return err
			}
			objects = append(objects, object)
		}
		profile := []string{"least-numa-nodes", "least-numa-nodes", "most-allocated", "least-allocated"}[r.IntN(4)]
		pod := simplePod(plugin.Random(r).Pod, fmt.Sprintf("case-%d", i), profile)
		output, err := (&plugin.Nrtd{Path: nrtd, Dir: dir}).Ask(ctx, nil, pod, objects...)
		if err != nil {
			return fmt.Errorf("seed %d case %d: %w", seed, i, err)
		}
		landed, err := schedule(ctx, client, pod)
		if err != nil {
			return fmt.Errorf("seed %d case %d: %w", seed, i, err)
		}
		if best, ok := first(output, profiles[profile]); ok && !slices.Contains(best, landed) {
			return fmt.Errorf("seed %d case %d: %s put the pod on %q, nrtd ranks first %q", seed, i, profile, landed, best)
		}
		if landed != "" {
			bound++
		}
	}
	fmt.Printf("schedule: %d pods as nrtd ranks the nodes, %d of them bound\n", cases, bound)
	return nil
}

// harmless draws an object on which the plugin does not crash or leave the range of scores, which would end the
// scheduler or fail the pod.
func harmless(r *rand.Rand) *topologyv1alpha2.NodeResourceTopology {
	for {
		object := plugin.Random(r).NRT
		if plugin.Regular(object) {
			object.Attributes = slices.DeleteFunc(object.Attributes, func(a topologyv1alpha2.AttributeInfo) bool {
				return a.Name == "topologyManagerMaxNUMANodes"
			})
			return object
		}
	}
}

// simplePod keeps what any node here has enough of, so that only the plugin decides.
func simplePod(pod *v1.Pod, name, profile string) *v1.Pod {
	pod.Name, pod.Spec.SchedulerName = name, profile
	pod.Spec.Overhead, pod.Spec.Resources = nil, nil
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, amounts := range []v1.ResourceList{list[i].Resources.Requests, list[i].Resources.Limits} {
				for name := range amounts {
					if name != v1.ResourceCPU && name != v1.ResourceMemory {
						delete(amounts, name)
					}
				}
			}
		}
	}
	return pod
}

// schedule creates the pod, waits for the scheduler's word and takes the pod away. It returns the node, "" when the
// scheduler found none.
func schedule(ctx context.Context, client kubernetes.Interface, pod *v1.Pod) (string, error) {
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	defer pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	node := ""
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		node = now.Spec.NodeName
		for _, condition := range now.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse && condition.Reason == v1.PodReasonUnschedulable {
				return true, nil
			}
		}
		return node != "", nil
	})
	return node, err
}

// first is the nodes that pass with the highest score; {""} when none passes. It is not ok when nrtd has no answer.
func first(output *plugin.ScoreOutput, score string) (nodes []string, ok bool) {
	best := int64(-1)
	for _, node := range output.Nodes {
		value := node.Scores[score]
		if node.Filter.Passed == nil || value == nil {
			return nil, false
		}
		switch {
		case !*node.Filter.Passed || *value < best:
		case *value > best:
			best, nodes = *value, []string{node.Name}
		default:
			nodes = append(nodes, node.Name)
		}
	}
	if best < 0 {
		nodes = []string{""}
	}
	return nodes, true
}
