// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/controlplane"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// variants is how many different states Objects are in.
const variants = 16

// settingsOfScale are those of the kind o8x8.
var settingsOfScale = []string{"--cpu-manager-policy", "static", "--reserved-cpus", "0", "--memory-manager-policy", "None",
	"--topology-manager-policy", "restricted", "--topology-manager-scope", "pod"}

// Objects are what nrtd publishes of a machine with different pods on it; folders for them are made below dir.
func Objects(ctx context.Context, dir, machine, nrtd string, seed uint64) (list []*topologyv1alpha2.NodeResourceTopology, err error) {
	r := rand.New(rand.NewPCG(seed, 5))
	for i := range variants {
		node, err := daemon.New(dir, fmt.Sprintf("variant-%d", i), machine, nrtd, "", "0")
		if err != nil {
			return nil, err
		}
		node.Settings = settingsOfScale
		empty, err := node.Dump(ctx)
		if err != nil {
			return nil, err
		}
		zones, err := daemon.ZonesOf(empty, cpuset.New(0))
		if err != nil {
			return nil, err
		}
		if _, err := node.Hold(daemon.All(zones), daemon.Draw(r, zones)...); err != nil {
			return nil, err
		}
		object, err := node.Dump(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, object)
	}
	return list, nil
}

// clients is how many requests are under way when a large cluster is made.
const clients = 32

// parallel calls f for 0 to count-1.
func parallel(count int, f func(i int) error) error {
	next := make(chan int)
	errs := make([]error, clients)
	var done sync.WaitGroup
	for c := range clients {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := range next {
				if errs[c] == nil {
					errs[c] = f(i)
				}
			}
		}()
	}
	for i := range count {
		next <- i
	}
	close(next)
	done.Wait()
	return errors.Join(errs...)
}

// Rate is how many pods a second are bound, the CPU time of each program for one pod, and what the schedulers counted.
type Rate struct {
	PodsPerSecond              float64
	Scheduler, Extender, Plane time.Duration
	Searches
}

// cpuTimes are those of the schedulers, the extender and the control plane.
func (p *play) cpuTimes() (times [3]time.Duration) {
	add := func(i int, one *process) {
		if one != nil {
			usage, err := daemon.UsageOf(one.Process.Pid)
			if err != nil {
				p.failed(err)
			}
			times[i] += usage.CPU
		}
	}
	add(0, p.scheduler)
	add(0, p.other)
	for _, e := range p.extenders {
		add(1, e.process)
	}
	add(2, p.plane)
	return times
}

// bindTimeout is how long Scale waits for another binding. A seed may draw more pods than an aligned placement has room for.
const bindTimeout = time.Minute

// Scale has a way bind pods that are all there before the scheduler starts, on many nodes of the kind o8x8 without
// kubelets. It returns how many are bound in a second, from the first one, with two schedulers from the first of each, to the last.
func (d *Driver) Scale(ctx context.Context, way Way, workload *Workload, nodes int, seed uint64) (r Rate, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := d.newPlay(&way, workload)
	if err != nil {
		return r, err
	}
	defer p.close()
	if p.plane, err = startPlane(d.controlPlane(), d.Manifests, p.dir, nil); err != nil {
		return r, err
	}
	if err := p.populate(ctx, nodes, seed); err != nil {
		return r, err
	}
	bindings := make(chan binding, d.Pods)
	if err := p.countBound(ctx, bindings); err != nil {
		return r, err
	}
	if err := p.startExtender(ctx); err != nil {
		return r, err
	}
	if err := p.startScheduler(); err != nil {
		return r, err
	}
	if err := p.startOther(); err != nil {
		return r, err
	}
	var first, last binding
	var before [3]time.Duration
	measured, schedulers := 0, map[string]bool{}
	late := time.NewTimer(readyTimeout + bindTimeout)
	for i := range d.Pods {
		select {
		case last = <-bindings:
			late.Reset(bindTimeout)
			measured++
			if schedulers[last.scheduler] = true; first.at.IsZero() && len(schedulers) == len(p.schedulers()) {
				first, measured, before = last, 0, p.cpuTimes()
			}
		case <-late.C:
			return r, fmt.Errorf("%d of %d pods are bound, and no other for %v: %s", i, d.Pods, bindTimeout, p.scheduler.said())
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	after := p.cpuTimes()
	for i, used := range []*time.Duration{&r.Scheduler, &r.Extender, &r.Plane} {
		*used = (after[i] - before[i]) / time.Duration(measured)
	}
	r.PodsPerSecond = float64(measured) / last.at.Sub(first.at).Seconds()
	for _, scheduler := range []**process{&p.scheduler, &p.other} {
		if *scheduler == nil {
			continue
		}
		searches, err := stopScheduler(*scheduler)
		*scheduler = nil
		if err != nil {
			return r, err
		}
		r.Attempts += searches.Attempts
		r.SearchedSeconds += searches.SearchedSeconds
		r.Batched += searches.Batched
	}
	return r, p.failure()
}

// connect makes the client.
func (p *play) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig("admin"))
	if err != nil {
		return err
	}
	config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	p.objects, err = dynamic.NewForConfig(config)
	return err
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// createNodes makes the nodes with these objects.
func (p *play) createNodes(ctx context.Context, nodes int, object func(i int) *topologyv1alpha2.NodeResourceTopology) error {
	return parallel(nodes, func(i int) error {
		if err := controlplane.RegisterNode(ctx, p.client, nodeName(i)); err != nil {
			return err
		}
		object := object(i).DeepCopy()
		object.Name = nodeName(i)
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		_, err = p.objects.Resource(daemon.Resource).Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
		return err
	})
}

// populate makes the nodes, their objects and the pods.
func (p *play) populate(ctx context.Context, nodes int, seed uint64) error {
	if err := p.connect(); err != nil {
		return err
	}
	objects, err := Objects(ctx, p.dir, filepath.Join(p.Machines, "o8x8"), p.Nrtd, seed)
	if err != nil {
		return err
	}
	if err := p.createNodes(ctx, nodes, func(i int) *topologyv1alpha2.NodeResourceTopology { return objects[i%len(objects)] }); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 6))
	var pods []*v1.Pod
	for i := range p.Pods {
		slot := p.workload.DrawSlot(r)
		pod := slot.Pod(podName(i, 0))
		if p.way.prepare != nil {
			p.way.prepare(pod, &slot)
		}
		pods = append(pods, pod)
	}
	return parallel(len(pods), func(i int) error {
		_, err := p.client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pods[i], metav1.CreateOptions{})
		return err
	})
}

// binding is when a pod was bound, as the test hears of it.
type binding struct {
	at        time.Time
	scheduler string
}

// countBound sends each binding.
func (p *play) countBound(ctx context.Context, bindings chan<- binding) error {
	bound := map[string]bool{}
	saw := func(object any) {
		if pod := object.(*v1.Pod); pod.Spec.NodeName != "" && !bound[pod.Name] {
			bound[pod.Name] = true
			bindings <- binding{time.Now(), pod.Spec.SchedulerName}
		}
	}
	return p.followPods(ctx, cache.ResourceEventHandlerFuncs{AddFunc: saw, UpdateFunc: func(_, object any) { saw(object) }})
}
