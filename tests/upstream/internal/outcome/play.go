// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// Driver plays runs, one after the other.
type Driver struct {
	Nrtd       string
	Programs   string // the folder of this module's programs
	Kubernetes string // of Kubernetes, if not that of this module: programs whose names end with it
	// ControlPlane is the release of the control plane, if not that of Kubernetes.
	ControlPlane string
	Manifests    string // what the control plane applies at the start
	Machines     string // has a folder for each kind
	Work         string // a short path: sockets live below it
	Nodes        []*Kind
	Pods         int
	Burst        int           // pods that come together
	Every        time.Duration // time from burst to burst
	Patience     time.Duration // how long a burst waits for the pods of the one before
	Again        time.Duration // from a refusal to the next pod
	Tries        int           // after so many refusals nobody makes another pod
	Drain        time.Duration // how long pods may wait after the last burst
	Share        float64       // of the CPUs, memory and devices that is asked for at most
	Replicas     int           // of nrtd-extender
	Kills        int           // how often nrtd-extender is killed and started again, at equal distances
	Traces       string        // folder for the trace of each run with a rejected pod; "" for none
	Restarts     time.Duration // of the workload restarts: time from restart to restart
	KillPlan     bool          // every second kubectl numa plan --apply is killed in the middle
	runs         int
}

// play is one run.
type play struct {
	*Driver
	way       *Way
	workload  *Workload
	dir       string
	plane     *process
	client    kubernetes.Interface
	objects   dynamic.Interface
	watch     *daemon.Watch
	nodes     map[string]*node
	extenders []*Extender
	// extenderConfig is the extender's kubeconfig; "" for the administrator's.
	extenderConfig string
	service        *service
	// saw is called with each state of each pod, admitted with each that a kubelet admits and the number of NUMA nodes
	// of its exclusive CPUs.
	saw       func(pod *v1.Pod)
	admitted  func(pod *v1.Pod, numaNodes int)
	refused   func(pod *v1.Pod, excuse, story string)
	slots     *slots
	scheduler *process
	other     *process // the other scheduler; nil for none
	trace     *trace
	failures  chan error
	evicted   map[string]*moment // by the name of each pod that the scheduler evicts
}

// program is a program of this module, built with the release of Kubernetes that was asked for.
func (d *Driver) program(name string) string { return d.programOf(name, d.Kubernetes) }

// controlPlane is the program of the control plane.
func (d *Driver) controlPlane() string {
	return d.programOf("controlplane", cmp.Or(d.ControlPlane, d.Kubernetes))
}

func (d *Driver) programOf(name, release string) string {
	if release != "" {
		name += "-" + release
	}
	return filepath.Join(d.Programs, name)
}

// newPlay makes a run and its folder.
func (d *Driver) newPlay(way *Way, workload *Workload) (*play, error) {
	d.runs++
	p := &play{Driver: d, way: way, workload: workload, dir: filepath.Join(d.Work, fmt.Sprint(d.runs)), nodes: map[string]*node{},
		evicted: map[string]*moment{}, failures: make(chan error, 100)}
	err := os.MkdirAll(p.dir, 0o700)
	if err == nil {
		p.trace, err = newTrace(p.dir)
	}
	return p, err
}

// close ends everything and removes the folder.
func (p *play) close() {
	for _, scheduler := range []*process{p.scheduler, p.other} {
		if scheduler != nil {
			scheduler.kill()
		}
	}
	for _, e := range p.extenders {
		if e.process.Process != nil {
			e.Stop()
		}
	}
	for _, n := range p.nodes {
		n.stop()
	}
	if p.plane != nil {
		p.plane.kill()
	}
	p.trace.file.Close()
	os.RemoveAll(p.dir)
}

// Play plays one run.
func (d *Driver) Play(ctx context.Context, way Way, workload *Workload, seed uint64) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := d.newPlay(&way, workload)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	p.slots = newSlots(p.way, workload.Draw(seed, d.Pods, d.Burst, d.Share, d.Nodes), p.client, p.objects, d.Again, d.Tries, p.failed)
	p.saw = func(pod *v1.Pod) {
		p.noteEviction(pod)
		p.slots.saw(ctx, pod)
	}
	p.admitted, p.refused = p.slots.admitted, p.slots.refused
	if err := p.schedule(ctx); err != nil {
		return nil, err
	}
	before, err := p.nodeWrites()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	stopPlans, err := p.plans(ctx, seed)
	if err != nil {
		return nil, err
	}
	stopRestarts := p.restarts(ctx, seed)
	err = p.bursts(ctx)
	plans := stopPlans()
	restarts, drains := stopRestarts()
	if err != nil {
		return nil, err
	}
	ghosts, err := p.ghosts()
	if err != nil {
		return nil, err
	}
	after, err := p.nodeWrites()
	if err != nil {
		return nil, err
	}
	result := p.slots.finished()
	result.NodeWrites, result.NodeTime = after-before, time.Since(begun)*time.Duration(len(p.nodes))
	result.Workload, result.Seed, result.Plans, result.Ghosts = workload.Name, seed, plans, ghosts
	result.Restarts, result.Drains = restarts, drains
	if workload.Priorities || workload.Restarts {
		result.Moves, result.Lost = 0, 0 // evicted pods wait until there is room again
	}
	if workload.Priorities {
		if err := p.evictions(ctx, result); err != nil {
			return nil, err
		}
	}
	if err := p.keepTrace(result); err != nil {
		return nil, err
	}
	for _, e := range p.extenders {
		rss, err := e.RSS()
		if err != nil {
			return nil, fmt.Errorf("nrtd-extender: %w: %s", err, e.said())
		}
		result.ExtenderRSS = max(result.ExtenderRSS, rss)
	}
	if result.Searches, err = stopScheduler(p.scheduler); err != nil {
		return nil, err
	}
	return result, p.failure()
}

// schedule has the nodes' kubelets work and the scheduler schedule.
func (p *play) schedule(ctx context.Context) error {
	if err := p.follow(ctx); err != nil {
		return err
	}
	if err := p.startExtender(ctx); err != nil {
		return err
	}
	if err := p.startScheduler(); err != nil {
		return err
	}
	if err := p.startOther(); err != nil {
		return err
	}
	for name, scheduler := range p.schedulers() {
		if err := p.warmUp(ctx, name); err != nil {
			return fmt.Errorf("%w: %s", err, scheduler.said())
		}
	}
	return nil
}

// nodeWrites is how often the daemons have written to their Nodes.
func (p *play) nodeWrites() (sum float64, err error) {
	for _, n := range p.nodes {
		writes, err := n.Writes("node")
		if err != nil {
			return 0, err
		}
		sum += writes
	}
	return sum, nil
}

func (p *play) startScheduler() (err error) {
	p.scheduler, err = startScheduler(p.program("scheduler"), p.way.configuration(p.extenderAddress()), p.kubeconfig("admin"), p.dir,
		p.workload.schedulerFlags()...)
	return err
}

func (p *play) kubeconfig(name string) string { return filepath.Join(p.dir, name+".kubeconfig") }

// failed keeps what went wrong with the experiment itself.
func (p *play) failed(err error) {
	select {
	case p.failures <- err:
	default:
	}
}

func (p *play) failure() error {
	var errs []error
	for len(p.failures) > 0 {
		errs = append(errs, <-p.failures)
	}
	return errors.Join(errs...)
}

// start starts the control plane and the nodes, and waits until each has published.
func (p *play) start(ctx context.Context) (err error) {
	names := NodeNames(p.Nodes)
	if p.plane, err = startPlane(p.controlPlane(), p.Manifests, p.dir, names, p.workload.planeFlags()...); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig("admin"))
	if err != nil {
		return err
	}
	config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if p.objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	p.watch = daemon.NewWatch(ctx, p.objects)
	for i, kind := range p.Nodes {
		if err := p.startNode(ctx, names[i], kind); err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
	}
	if p.workload.Gangs {
		if err := p.labelRacks(ctx); err != nil {
			return err
		}
	}
	if p.workload.Priorities {
		if err := p.createPriorities(ctx); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := p.published(ctx, p.nodes[name]); err != nil {
			return fmt.Errorf("%w\n%s", err, p.nodes[name].Log())
		}
	}
	return nil
}

func (p *play) startNode(ctx context.Context, name string, kind *Kind) error {
	machine := filepath.Join(p.Machines, kind.Machine)
	tree, err := daemon.New(p.dir, name, machine, p.Nrtd, p.kubeconfig("agent-"+name), "0")
	if err != nil {
		return err
	}
	n := &node{Node: tree, kind: kind, client: p.client, failed: p.failed, trace: p.trace, tasks: make(chan func(context.Context) error, 10000),
		known: map[types.UID]bool{}, admitted: func(pod *v1.Pod, numaNodes int) { p.admitted(pod, numaNodes) },
		refused: func(pod *v1.Pod, excuse, story string) { p.refused(pod, excuse, story) }, workload: p.workload,
		program: p.program("managers"), machine: machine}
	p.nodes[name] = n
	if err := n.startKubelet(ctx); err != nil {
		return err
	}
	tree.Settings = nil // it finds the kubelet
	tree.Flags = append([]string{"--pod-resources", n.socket()}, p.way.Flags...)
	return tree.Start()
}

// published waits for the node's object, and for what is to be on the Node.
func (p *play) published(ctx context.Context, n *node) error {
	if _, err := p.watch.Wait(ctx, n.Name, readyTimeout, func(object *topologyv1alpha2.NodeResourceTopology) string {
		if object == nil || len(object.Zones) == 0 {
			return "nothing is published"
		}
		return ""
	}); err != nil || !p.way.hints {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		object, err := p.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		return err == nil && object.Annotations["nrtd.dev/content-hash"] != "", err
	})
	if err != nil {
		return fmt.Errorf("%s has no annotations of nrtd: %w", n.Name, err)
	}
	return nil
}

// follow brings every pod's state to its slot and to its node.
func (p *play) follow(ctx context.Context) error {
	for name, n := range p.nodes {
		go n.run(ctx)
		go p.trace.objects(ctx, p, name)
	}
	saw := func(object any) {
		pod := object.(*v1.Pod)
		p.trace.pod(pod)
		p.saw(pod)
		if n := p.nodes[pod.Spec.NodeName]; n != nil {
			n.saw(pod)
		}
	}
	return p.followPods(ctx, cache.ResourceEventHandlerFuncs{
		AddFunc:    saw,
		UpdateFunc: func(_, object any) { saw(object) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			pod := object.(*v1.Pod).DeepCopy()
			pod.DeletionTimestamp = ptr.To(metav1.Now())
			p.trace.printf("pod %s %s is deleted", pod.Name, pod.UID)
			if n := p.nodes[pod.Spec.NodeName]; n != nil {
				n.saw(pod)
			}
		},
	})
}

// followPods calls the functions with every pod, one after the other, from now on.
func (p *play) followPods(ctx context.Context, functions cache.ResourceEventHandlerFuncs) error {
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(metav1.NamespaceDefault))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(functions); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the pods cannot be watched")
	}
	return nil
}

// warmUp waits until the scheduler says of a pod that no node is for it.
func (p *play) warmUp(ctx context.Context, scheduler string) error {
	pods := p.client.CoreV1().Pods(metav1.NamespaceDefault)
	probe := (&Slot{MilliCPUs: 1000, Memory: gib}).Pod("probe-" + scheduler)
	probe.Spec.SchedulerName = scheduler
	probe.Spec.NodeSelector = map[string]string{"test.nrtd.dev/none": "such"}
	if _, err := pods.Create(ctx, probe, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, probe.Name, metav1.GetOptions{})
		return err == nil && len(pod.Status.Conditions) > 0, err
	})
	if err != nil {
		return fmt.Errorf("the scheduler does not look at pods: %w", err)
	}
	return pods.Delete(ctx, probe.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
}

// bursts plays the workload: the next burst comes when the pods of the last run and some time has passed, or more than
// that. Then it waits until every slot that is left has its pod, or the time for that is over.
func (p *play) bursts(ctx context.Context) error {
	count := (p.Pods + p.Burst - 1) / p.Burst
	for number := range count {
		if err := p.slots.burst(ctx, number, p.finish); err != nil {
			return err
		}
		if (number+1)*(p.Kills+1)/count > number*(p.Kills+1)/count && number+1 < count {
			if err := p.killExtender(); err != nil {
				return err
			}
		}
		soonest := time.After(p.Every)
		if err := p.settle(ctx, number, p.Patience); err != nil {
			return err
		}
		<-soonest
	}
	return p.settle(ctx, 0, p.Drain)
}

// settle waits for the slots that came since a burst, no longer than given.
func (p *play) settle(ctx context.Context, since int, longest time.Duration) error {
	late := time.NewTimer(longest)
	defer late.Stop()
	for !p.slots.settled(since) {
		select {
		case <-p.slots.news:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// finish has a pod end by itself.
func (p *play) finish(pod *v1.Pod) { p.nodes[pod.Spec.NodeName].finish(pod) }

// lease is what several replicas of `nrtd-extender` hold one after the other, and what kubectl numa plan --apply reads.
const lease = "nrtd/nrtd-extender"

// startExtender starts `nrtd-extender` where the way has it; of several replicas one answers.
func (p *play) startExtender(ctx context.Context) (err error) {
	if !p.way.Extender {
		return nil
	}
	held := "none"
	if p.Replicas > 1 || p.way.plan {
		held = lease
	}
	for i := range p.Replicas {
		e, err := newExtender(p.Nrtd, filepath.Join(p.dir, fmt.Sprintf("extender-%d.log", i)), "--kubeconfig", cmp.Or(p.extenderConfig, p.kubeconfig("admin")), "--lease", held,
			"--advertise", "127.0.0.1")
		if err != nil {
			return err
		}
		if p.Traces != "" {
			e.trace, e.flags = p.trace, append(e.flags, "--verbose")
		}
		e.flags = append(e.flags, p.way.extenderFlags...)
		p.extenders = append(p.extenders, e)
		if err := e.Start(); err != nil {
			return err
		}
		if err := e.await(ctx); err != nil {
			return err
		}
	}
	p.service, err = serve(ctx, p.extenders)
	return err
}

func (p *play) extenderAddress() string {
	if p.service == nil {
		return ""
	}
	if len(p.extenders) == 1 {
		return p.extenders[0].address
	}
	return p.service.Addr().String()
}

// killExtender kills the one that answers, as a crash does, and starts it again.
func (p *play) killExtender() error {
	if p.service == nil {
		return nil
	}
	e := p.service.holder()
	if e == nil {
		return errors.New("no nrtd-extender holds the lease")
	}
	e.Stop()
	return e.Start()
}
