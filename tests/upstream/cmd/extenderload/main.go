// SPDX-License-Identifier: Apache-2.0

// extenderload sends requests to `nrtd-extender --nrt FILE` for one pod at a time, as a scheduler does: filter, then prioritize with the
// passing nodes. It prints the time per request with many nodes that already run pods, and nrtd's memory.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/outcome"
	"nrtd.dev/tests/upstream/internal/timing"
)

// As long as they are not bound, an extender assumes 1000 pods of a namespace at most.
const podsPerNamespace = 500

type load struct {
	nrtd    string
	machine string
	dir     string
	pods    int
	bound   int
	answer  string
	seed    uint64
}

func main() {
	l := &load{}
	flag.StringVar(&l.nrtd, "nrtd", "build/nrtd", "the program under test")
	flag.StringVar(&l.machine, "machine", "", "folder of the machine that every node is")
	flag.IntVar(&l.pods, "pods", 2000, "pods to ask about")
	flag.IntVar(&l.bound, "bound", 20, "Burstable pods that each node has; with them there are Nodes")
	flag.StringVar(&l.answer, "answer", "best", "nrtd-extender's --answer")
	flag.Uint64Var(&l.seed, "seed", 1, "random seed")
	counts := flag.String("nodes", "500,5000", "numbers of nodes, one after the other")
	flag.Parse()
	debug.SetGCPercent(400) // the answer is measured, not the collector of who asks
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := l.run(ctx, strings.Split(*counts, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "extenderload:", err)
		os.Exit(1)
	}
}

func (l *load) run(ctx context.Context, counts []string) (err error) {
	if l.dir, err = os.MkdirTemp("", "nrtd-load-"); err != nil {
		return err
	}
	defer os.RemoveAll(l.dir)
	objects, err := outcome.Objects(ctx, l.dir, l.machine, l.nrtd, l.seed)
	if err != nil {
		return err
	}
	fmt.Printf("%d pods a line, one at a time, --answer=%s, load %s\n", l.pods, l.answer, daemon.Load())
	for _, text := range counts {
		count, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if err := l.ask(ctx, objects, count); err != nil {
			return fmt.Errorf("%d nodes: %w", count, err)
		}
	}
	return nil
}

// write writes a file of so many objects, with Nodes and the pods that are there already, and returns the nodes' names.
func (l *load) write(path string, objects []*topologyv1alpha2.NodeResourceTopology, count int) (names []string, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Items      []any  `json:"items"`
	}{"v1", "List", nil}
	for i := range count {
		object := *objects[i%len(objects)]
		object.Name = fmt.Sprintf("node-%04d.example.com", i)
		names = append(names, object.Name)
		list.Items = append(list.Items, object)
		if l.bound > 0 {
			list.Items = append(list.Items, node(object.Name))
		}
		for k := range l.bound {
			slot := outcome.Slot{MilliCPUs: 100, Memory: 64 << 20}
			list.Items = append(list.Items, bound(slot.Pod(fmt.Sprintf("deployment-7d9c5b8f6d-%06d", i*l.bound+k)), object.Name))
		}
	}
	return names, json.NewEncoder(f).Encode(list)
}

// node is a Node of the machine o8x8.
func node(name string) *v1.Node {
	n := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110")}
	return n
}

// bound is the pod as it runs on a node.
func bound(pod *v1.Pod, node string) *v1.Pod {
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.UID = types.UID("bound-" + pod.Name)
	pod.Namespace = metav1.NamespaceDefault
	pod.Spec.NodeName = node
	pod.Status.Phase = v1.PodRunning
	return pod
}

// ask asks about every pod and prints a line.
func (l *load) ask(ctx context.Context, objects []*topologyv1alpha2.NodeResourceTopology, count int) error {
	path := filepath.Join(l.dir, "objects.json")
	names, err := l.write(path, objects, count)
	if err != nil {
		return err
	}
	extender, err := outcome.StartExtender(ctx, l.nrtd, filepath.Join(l.dir, "extender.log"), "--nrt", path, "--answer", l.answer)
	if err != nil {
		return err
	}
	defer extender.Stop()
	r := rand.New(rand.NewPCG(l.seed, 6))
	var answered, read []time.Duration // until the last byte was there; with its printing and parsing here
	placed := 0
	for i := range l.pods {
		slot := outcome.Workloads[0].DrawSlot(r)
		pod := slot.Pod(fmt.Sprintf("pod-%d", i))
		pod.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		pod.Namespace = fmt.Sprintf("team-%d", i/podsPerNamespace)
		begun := time.Now()
		var answer extenderv1.ExtenderFilterResult
		waited, err := post(ctx, extender.URL("filter"), pod, names, &answer)
		if err != nil {
			return err
		}
		if answer.Error != "" || answer.NodeNames == nil {
			return fmt.Errorf("filter: error %q, nodes %v", answer.Error, answer.NodeNames)
		}
		if len(*answer.NodeNames) > 1 { // a scheduler asks only then
			var scores extenderv1.HostPriorityList
			more, err := post(ctx, extender.URL("prioritize"), pod, *answer.NodeNames, &scores)
			if err != nil {
				return err
			}
			waited += more
		}
		if len(*answer.NodeNames) > 0 {
			placed++
		}
		answered = append(answered, waited)
		read = append(read, time.Since(begun))
	}
	rss, err := extender.RSS()
	if err != nil {
		return err
	}
	fmt.Printf("%d nodes, %d pods on them: answered after p50 %s p99 %s max %s, with JSON in Go p50 %s p99 %s; %d of %d pods fit; RSS %.1f MiB\n", count, count*l.bound,
		ms(answered, 0.5), ms(answered, 0.99), ms(answered, 1), ms(read, 0.5), ms(read, 0.99), placed, l.pods, daemon.MiB(rss))
	return nil
}

func ms(times []time.Duration, quantile float64) string {
	return fmt.Sprintf("%.2f ms", timing.Quantile(times, quantile).Seconds()*1000)
}

// post asks as the scheduler's HTTP extender does, and says how long it waited for the answer.
func post(ctx context.Context, url string, pod *v1.Pod, names []string, answer any) (waited time.Duration, err error) {
	text, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	waited = time.Since(begun)
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s: %.200s", url, response.Status, body)
	}
	return waited, json.Unmarshal(body, answer)
}
