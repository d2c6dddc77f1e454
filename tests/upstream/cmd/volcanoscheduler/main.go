// SPDX-License-Identifier: Apache-2.0

// volcanoscheduler gives the pods of Volcano's documentation to the whole Volcano scheduler, on nodes whose Numatopology
// objects nrtd makes, and checks that each lands where the document and `kubectl numa score --strategy Volcano` say.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"nrtd.dev/tests/upstream/internal/apply"
	"nrtd.dev/tests/upstream/internal/made"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/volcano"
)

// configuration is the one of the guide "How to use numa aware".
const configuration = `actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: numa-aware
    arguments:
      weight: 10
`

const (
	exampleLabel = "test.nrtd.dev/example" // keeps a pod on the nodes of its example
	patience     = 60 * time.Second        // for what the scheduler does within a second
)

type bench struct {
	client kubernetes.Interface
	apply  *apply.Client
	maker  *made.Maker
	log    string // the scheduler's log
	failed int

	machines, agents string // folders
	podAllocations   bool   // the CRD has the member
}

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the control plane")
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	scheduler := flag.String("scheduler", "", "Volcano's scheduler")
	crds := flag.String("crds", "", "folder of Volcano's custom resource definitions")
	machines := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	examples := flag.String("examples", "", "file of examples")
	agents := flag.String("agents", "", "folder with agent-NODE.kubeconfig of sequence-1, sequence-2 and issue-5500")
	log := flag.String("log", "scheduler.log", "file for the scheduler's log")
	timeout := flag.Duration("timeout", 10*time.Minute, "give up after this time")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	b, err := newBench(ctx, *kubeconfig, *nrtd, *machines)
	if err == nil {
		defer os.RemoveAll(b.maker.Dir)
		b.log, b.machines, b.agents = *log, *machines, *agents
		err = b.run(ctx, *kubeconfig, *scheduler, *crds, *examples)
	}
	if err != nil {
		fmt.Println("not ok volcano-scheduler:", err)
	}
	if err != nil || b.failed > 0 {
		os.Exit(1)
	}
}

func newBench(ctx context.Context, kubeconfig, nrtd, machines string) (*bench, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	b := &bench{}
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if b.apply, err = apply.NewClient(config); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nrtd-volcano-scheduler-")
	if err != nil {
		return nil, err
	}
	b.maker, err = made.NewMaker(ctx, nrtd, dir, machines)
	return b, err
}

func (b *bench) run(ctx context.Context, kubeconfig, scheduler, crds, examples string) error {
	list, err := made.ReadExamples[*volcano.Example](examples)
	if err != nil {
		return err
	}
	crd, err := os.ReadFile(filepath.Join(crds, "nodeinfo.volcano.sh_numatopologies.yaml"))
	if err != nil {
		return err
	}
	b.podAllocations = strings.Contains(string(crd), "podAllocations:")
	// The kinds that the scheduler does not start without.
	for _, name := range []string{"nodeinfo.volcano.sh_numatopologies", "scheduling.volcano.sh_podgroups", "scheduling.volcano.sh_queues",
		"topology.volcano.sh_hypernodes"} {
		objects, err := apply.Files([]string{filepath.Join(crds, name+".yaml")})
		if err != nil {
			return err
		}
		for _, object := range objects {
			if _, err := b.apply.Apply(ctx, object); err != nil {
				return err
			}
		}
	}
	if err := b.queues(ctx); err != nil {
		return err
	}
	// Each example has nodes of its own: the scheduler remembers which CPUs it meant for a pod.
	for i := range list.Examples {
		nodes := named(list.Tables[list.Examples[i].Table], i)
		if err := b.publish(ctx, nodes, label(i)); err != nil {
			return err
		}
	}
	stop, err := startScheduler(kubeconfig, scheduler, b.log, b.maker.Dir)
	if err != nil {
		return err
	}
	defer stop()
	for i := range list.Examples {
		if err := b.example(ctx, i, list.Examples[i], list.Tables[list.Examples[i].Table]); err != nil {
			return err
		}
	}
	if err := b.sequence(ctx); err != nil {
		return err
	}
	fmt.Printf("volcano-scheduler: %d failed\n", b.failed)
	return nil
}

// queues makes the scheduler's queues, and opens them as Volcano's controller does.
func (b *bench) queues(ctx context.Context) error {
	for _, name := range []string{"root", "default"} {
		queue := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"weight": int64(1), "reclaimable": name != "root"}}}
		made, err := b.apply.Apply(ctx, queue)
		if err != nil {
			return err
		}
		resource, err := b.apply.Resource(ctx, queue)
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(made.Object, "Open", "status", "state"); err != nil {
			return err
		}
		if _, err := resource.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func label(i int) string { return fmt.Sprintf("e%d", i) }

// named are the nodes with names of example i alone.
func named(table []made.Node, i int) (nodes []made.Node) {
	for _, node := range table {
		node.Name = label(i) + "-" + node.Name
		nodes = append(nodes, node)
	}
	return nodes
}

// publish makes the nodes, which are ready and have room, and gives each the object that nrtd prints.
func (b *bench) publish(ctx context.Context, nodes []made.Node, label string) error {
	_, topologies, err := b.maker.Objects(ctx, nodes)
	if err != nil {
		return err
	}
	for i, node := range nodes {
		if err := b.register(ctx, node.Name, label); err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(topologies[i], &object.Object); err != nil {
			return err
		}
		if _, err := b.apply.Apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) register(ctx context.Context, name, label string) error {
	nodes := b.client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1.LabelHostname: name, exampleLabel: label}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	node.Spec.Taints = nil // a controller would lift the one for a node that is not ready
	if node, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"),
		v1.ResourcePods: resource.MustParse("110")}
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// startScheduler starts the scheduler; what it returns ends it.
func startScheduler(kubeconfig, scheduler, log, dir string) (stop func(), err error) {
	conf := filepath.Join(dir, "volcano-scheduler.conf")
	if err := os.WriteFile(conf, []byte(configuration), 0o600); err != nil {
		return nil, err
	}
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	process := exec.Command(scheduler, "--kubeconfig", kubeconfig, "--scheduler-conf", conf, "--leader-elect=false",
		"--schedule-period=200ms", "--cache-dumper=false", "--logtostderr", "-v", "3")
	process.Stdout, process.Stderr = file, file
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		process.Process.Kill()
		process.Wait()
		file.Close()
	}, nil
}

// example gives the scheduler the pod of an example, and compares what becomes of it.
func (b *bench) example(ctx context.Context, i int, e *volcano.Example, table []made.Node) error {
	nodes := named(table, i)
	nrts, _, err := b.maker.Objects(ctx, nodes)
	if err != nil {
		return err
	}
	pod := e.Pod().Object()
	verdicts, err := volcano.Score(ctx, b.maker, nrts, pod, 10)
	if err != nil {
		return err
	}
	var reasons []string
	if e.Chosen == "" {
		for _, reason := range e.Refused {
			reasons = append(reasons, reason)
		}
	}
	if err := b.create(ctx, pod, label(i), label(i)); err != nil {
		return err
	}
	landed, said := b.landed(ctx, label(i), reasons)
	node := strings.TrimPrefix(landed, label(i)+"-")
	_, passes := e.Passes[node]
	b.check(node == e.Chosen || e.Chosen == volcano.Any && passes, e.Name+": as the document says", "the pod is on %q, not %q; the scheduler says %q",
		node, e.Chosen, said)
	b.check(isBest(verdicts, landed), e.Name+": as kubectl numa score says", "the pod is on %q, nrtd says %+v", node, verdicts)
	return nil
}

// check reports one result.
func (b *bench) check(ok bool, name, format string, values ...any) {
	if ok {
		fmt.Printf("ok volcano-scheduler: %s\n", name)
		return
	}
	b.failed++
	fmt.Printf("not ok volcano-scheduler: %s\n  | %s\n", name, fmt.Sprintf(format, values...))
}

// isBest tells whether the node passes and none has a higher score; for no node, whether none passes.
func isBest(verdicts map[string]volcano.Verdict, landed string) bool {
	for _, v := range verdicts {
		if v.Passes && (landed == "" || v.Score > verdicts[landed].Score) {
			return false
		}
	}
	return landed == "" || verdicts[landed].Passes
}

// create creates the pod, in a group as Volcano's controller would make one, for the nodes with the label.
func (b *bench) create(ctx context.Context, pod *v1.Pod, name, label string) error {
	pod.Name, pod.UID = name, ""
	pod.Annotations["scheduling.k8s.io/group-name"] = name
	pod.Spec.SchedulerName = "volcano"
	pod.Spec.NodeSelector = map[string]string{exampleLabel: label}
	if _, err := b.apply.Apply(ctx, group(name)); err != nil {
		return err
	}
	_, err := b.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func group(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": map[string]any{"name": name, "namespace": metav1.NamespaceDefault},
		"spec":     map[string]any{"minMember": int64(1), "queue": "default"}}}
}

// landed waits until the pod has a node, or until the scheduler has given all these reasons why it has none. What it says
// last is returned too.
func (b *bench) landed(ctx context.Context, name string, reasons []string) (node, said string) {
	wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pod, err := b.client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		node = pod.Spec.NodeName
		resource, err := b.apply.Resource(ctx, group(name))
		if err != nil {
			return false, err
		}
		podGroup, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(podGroup.Object, "status", "conditions")
		for _, condition := range conditions {
			if message, ok := condition.(map[string]any)["message"].(string); ok {
				said = message
			}
		}
		for _, reason := range reasons {
			if !strings.Contains(said, reason) {
				return node != "", nil
			}
		}
		return node != "" || len(reasons) > 0, nil
	})
	return node, said
}
