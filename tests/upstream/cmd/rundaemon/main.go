// SPDX-License-Identifier: Apache-2.0

// rundaemon runs `nrtd run` against a control plane started by cluster.sh and prints for each documented behaviour whether it holds, with
// the measured numbers. -long uses the documented times instead of shorter ones.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/quiet"
)

// bench is what every test works with.
type bench struct {
	cluster   string // folder of the control plane
	machines  string // folder of machines, made-up and recorded
	nrtd      string
	dir       string
	long      bool
	slack     int64
	seed      uint64
	agents    int // nodes of the fleet
	config    *rest.Config
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	watch     *daemon.Watch
	failed    int
	rows      string
	recovered map[string]bool // what recovery has tried
}

// tests in the order they run.
var tests = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"latency", (*bench).latency},
	{"quiet", (*bench).quiet},
	{"storm", (*bench).storm},
	{"recovery", (*bench).recovery},
	{"war", (*bench).writeWar},
	{"memory", (*bench).memory},
	{"idle", (*bench).idle},
	{"scheduler", (*bench).scheduler},
	{"fleet", (*bench).fleet},
}

func main() {
	b := &bench{recovered: map[string]bool{}}
	flag.StringVar(&b.cluster, "cluster", "", "the control plane's folder")
	flag.StringVar(&b.machines, "machines", "", "folder of machines")
	flag.StringVar(&b.nrtd, "nrtd", "build/nrtd", "the program under test")
	flag.BoolVar(&b.long, "long", false, "use the documented times instead of shorter ones")
	flag.Int64Var(&b.slack, "slack", 1, "limits of time are this many times as long, and fewer changes measured: what counts then is what happens, not how soon")
	flag.Uint64Var(&b.seed, "seed", rand.Uint64N(1000000), "random seed")
	flag.IntVar(&b.agents, "agents", 200, "number of nodes of the fleet, fleet-0 and on")
	flag.StringVar(&b.rows, "rows", "", "what recovery tries, rows of its table separated by semicolons (default: all)")
	only := flag.String("only", "", "tests to run, separated by commas (default: all)")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := b.open(ctx); err != nil {
		fmt.Println("not ok rundaemon:", err)
		os.Exit(1)
	}
	defer os.RemoveAll(b.dir)
	fmt.Printf("rundaemon: seed %d\n", b.seed)
	for _, test := range tests {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), test.name) {
			continue
		}
		if err := test.run(b, ctx); err != nil {
			b.check(false, test.name, "%v", err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if b.failed > 0 || ctx.Err() != nil {
		os.RemoveAll(b.dir)
		os.Exit(1)
	}
}

func (b *bench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "nrtd-run-"); err != nil {
		return err
	}
	if b.config, err = clientcmd.BuildConfigFromFlags("", b.kubeconfig("admin")); err != nil {
		return err
	}
	b.config.QPS = -1
	if b.client, err = kubernetes.NewForConfig(b.config); err != nil {
		return err
	}
	if b.dynamic, err = dynamic.NewForConfig(b.config); err != nil {
		return err
	}
	b.watch = daemon.NewWatch(ctx, b.dynamic)
	return nil
}

func (b *bench) kubeconfig(name string) string {
	return filepath.Join(b.cluster, name+".kubeconfig")
}

// check prints one line of a result.
func (b *bench) check(ok bool, name, format string, args ...any) {
	word := "ok"
	if !ok {
		word = "not ok"
		b.failed++
	}
	fmt.Printf("%s %s: %s\n", word, name, fmt.Sprintf(format, args...))
}

// twoSockets is the machine of most tests: two NUMA nodes, CPUs 0-15 and 16-31, CPU 0 reserved.
func (b *bench) twoSockets(name string, flags ...string) (*daemon.Node, []daemon.Zone, error) {
	node, err := daemon.New(b.dir, name, filepath.Join(b.machines, "seed-2s-32cpu"), b.nrtd, b.kubeconfig("agent-"+name), "0", flags...)
	if err != nil {
		return nil, nil, err
	}
	zones := []daemon.Zone{zone("node-0", 0, 15), zone("node-1", 16, 31)}
	_, err = node.Hold(daemon.All(zones))
	return node, zones, err
}

// zone is the CPUs from first to last; CPU 0 is reserved.
func zone(name string, first, last int) daemon.Zone {
	cpus := cpuset.New()
	for i := first; i <= last; i++ {
		cpus = cpus.Union(cpuset.New(i))
	}
	return daemon.Zone{Name: name, CPUs: cpus, Allocatable: cpus.Difference(cpuset.New(0))}
}

// of gives the first n allocatable CPUs of each zone.
func of(zones []daemon.Zone, n ...int) []cpuset.CPUSet {
	held := cpuset.New()
	for i, zone := range zones {
		held = held.Union(cpuset.New(zone.Allocatable.List()[:n[i]]...))
	}
	return []cpuset.CPUSet{held}
}

// startLimit is for an attempt that the server does not answer in time, the longest backoff, and the next attempt: where
// other programs run the server may stand still. How soon a start publishes is what latency measures.
const startLimit = (10 + 30 + 5) * time.Second

// started starts nrtd and waits until the object is right.
func (b *bench) started(ctx context.Context, node *daemon.Node, zones []daemon.Zone, held []cpuset.CPUSet) (time.Time, error) {
	if err := node.Start(); err != nil {
		return time.Time{}, err
	}
	at, err := b.watch.Wait(ctx, node.Name, b.within(startLimit), daemon.CPUsWrong(zones, held))
	if err != nil {
		err = fmt.Errorf("after the start: %w\n%s", err, node.Log())
	}
	return at, err
}

// alone starts nrtd where no object is, so that one of an earlier process is not taken for its own.
func (b *bench) alone(ctx context.Context, node *daemon.Node, zones []daemon.Zone, held []cpuset.CPUSet) error {
	err := b.dynamic.Resource(daemon.Resource).Delete(ctx, node.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if _, err := b.watch.Wait(ctx, node.Name, b.within(filesLimit), absent); err != nil {
		return err
	}
	_, err = b.started(ctx, node, zones, held)
	return err
}

// within is a limit of time with the slack that was asked for.
func (b *bench) within(limit time.Duration) time.Duration { return limit * time.Duration(b.slack) }

// pick gives what a long run takes, or what a short one does.
func (b *bench) pick(short, long time.Duration) time.Duration {
	if b.long {
		return long
	}
	return short
}
