// SPDX-License-Identifier: Apache-2.0

// outcome plays the same workloads against several ways to schedule, with the kubelet's own managers as the judge, and
// prints what came of it: a table for each workload, and a plot.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/manifests"
	"nrtd.dev/tests/upstream/internal/outcome"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/timing"
)

func main() {
	d := &outcome.Driver{}
	flag.StringVar(&d.Nrtd, "nrtd", "build/nrtd", "the program under test")
	flag.StringVar(&d.Programs, "programs", "build/upstream", "folder of this module's programs")
	flag.StringVar(&d.Kubernetes, "kubernetes", "", "release of the control plane, the scheduler and the kubelets' managers (1.37), if not that of this module")
	flag.StringVar(&d.ControlPlane, "controlplane", "", "release of the control plane, if not that of the scheduler")
	flag.StringVar(&d.Manifests, "manifests", "", "what the control plane applies at the start, separated by commas")
	flag.StringVar(&d.Machines, "machines", "", "folder that has one for each kind of machine")
	flag.IntVar(&d.Pods, "pods", 640, "pods wanted in a run")
	flag.IntVar(&d.Burst, "burst", 8, "pods that come together")
	flag.DurationVar(&d.Every, "every", 500*time.Millisecond, "time from burst to burst")
	flag.DurationVar(&d.Patience, "patience", 2*time.Second, "how long a burst waits until the pods of the one before run")
	flag.DurationVar(&d.Again, "again", 100*time.Millisecond, "time from a refusal to the next pod")
	flag.IntVar(&d.Tries, "tries", 10, "after so many refusals nobody makes another pod")
	flag.DurationVar(&d.Drain, "drain", 15*time.Second, "how long pods may wait after the last burst")
	flag.Float64Var(&d.Share, "share", 0.77, "of the nodes' CPUs, memory and devices that is asked for at most")
	flag.IntVar(&d.Replicas, "replicas", 1, "of nrtd-extender; several have a lease")
	flag.IntVar(&d.Kills, "kill-extender", 0, "how often in a run to kill the nrtd-extender that answers, and start it again")
	flag.StringVar(&d.Traces, "traces", "", "folder for a file with all events of each run in which a kubelet rejects a pod of the extender's")
	flag.DurationVar(&d.Restarts, "restart-every", 10*time.Second, "time from restart to restart of a kubelet, in the workload restarts")
	flag.BoolVar(&d.KillPlan, "kill-plan", false, "kill every second kubectl numa plan --apply in the middle")
	each := flag.Int("each", 6, "nodes of each kind")
	ways := flag.String("ways", names(outcome.Ways, func(w outcome.Way) string { return w.Name }), "ways to schedule, separated by commas")
	budgets := flag.String("budgets", "", "budgets of nrtd's writes to Nodes, separated by commas, as 1/5s,6/5s: each way that needs these writes with each of them")
	workloads := flag.String("workloads", "cpus,memory,mixed", "workloads, separated by commas; gangs needs -kubernetes 1.37")
	seed := flag.Uint64("seed", 1, "the first random seed")
	seeds := flag.Int("seeds", 1, "number of seeds")
	scale := flag.Int("scale", 0, "instead: how many pods of the first workload a second each way binds on so many nodes")
	c := outcome.Filling{}
	flag.IntVar(&c.Free, "full", 0, "with -scale: how soon each way binds one pod less than fit on so many free nodes, while all other nodes are full")
	flag.BoolVar(&c.Low, "low", false, "with -full: half of the full nodes have a pod of a lower priority")
	flag.BoolVar(&c.Protected, "protected", false, "with -low: a PodDisruptionBudget allows no disruption of half of these pods")
	flag.IntVar(&c.Beyond, "beyond", 0, "with -low: so many pods more than fit without an eviction")
	flag.BoolVar(&c.Volumes, "volumes", false, "with -full: each pod has a volume, or gets one, in one of two zones, and all nodes of the other zone are free")
	rounds := flag.Int("release", 0, "instead: how soon a pod that waits is bound after so many releases")
	manifestsIn := flag.String("verdicts", "", "instead: a folder of manifests; for each compare the answer of kubectl numa fit with what then happens to its pods")
	drawn := flag.Int("drawn-verdicts", 0, "instead: the same of so many drawn manifests")
	renamed := flag.String("rename", "", "with -verdicts: resources and the nodes' resources that the manifests get instead, FROM=TO, separated by commas")
	quick := flag.Bool("quick", false, "two ways, one workload, fewer pods")
	judge := flag.Bool("judge", false, "fail when nrtd-extender misses its goals")
	plot := flag.String("plot", "", "file for the plot")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *quick {
		shorten()
	}
	if *budgets != "" {
		if err := outcome.UseBudgets(strings.Split(*budgets, ",")); err != nil {
			fmt.Fprintln(os.Stderr, "outcome:", err)
			os.Exit(1)
		}
	}
	d.Nodes = outcome.NodesOf(*each)
	if *scale > 0 || *rounds > 0 {
		d.Traces = "" // the times count
		err := error(nil)
		if c.Nodes = *scale; c.Free > 0 {
			err = fill(ctx, d, *ways, c, *judge, *seed, *seeds)
		} else {
			err = measure(ctx, d, *ways, *workloads, *scale, *rounds, *seed, *seeds)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "outcome:", err)
			os.Exit(1)
		}
		return
	}
	if *manifestsIn != "" || *drawn > 0 {
		differ, err := verdicts(ctx, d, *workloads, *manifestsIn, *renamed, *drawn, *seed)
		if err != nil {
			fmt.Fprintln(os.Stderr, "outcome:", err)
		}
		if err != nil || differ {
			os.Exit(1)
		}
		return
	}
	results, err := run(ctx, d, *ways, *workloads, *seed, *seeds)
	if err == nil {
		fmt.Print("\n", outcome.Table(results))
		if *plot != "" {
			err = os.WriteFile(*plot, []byte(outcome.Plot(results)), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outcome:", err)
		os.Exit(1)
	}
	if wrong := outcome.Judge(results); *judge && len(wrong) > 0 {
		fmt.Println("not ok", strings.Join(wrong, "\nnot ok "))
		os.Exit(1)
	}
}

// shorten makes a run short where the command line does not say how long it is to be.
func shorten() {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"ways": "stock,extender", "workloads": "cpus", "each": "2", "pods": "120", "every": "250ms", "share": "0.65", "patience": "10s",
		"drain": "30s"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
}

func quantile(times []time.Duration, q float64) string {
	if len(times) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", timing.Quantile(times, q).Seconds())
}

func names[T any](list []T, name func(T) string) string {
	var all []string
	for _, one := range list {
		all = append(all, name(one))
	}
	return strings.Join(all, ",")
}

func run(ctx context.Context, d *outcome.Driver, wayNames, workloadNames string, seed uint64, seeds int) (results []*outcome.Result, err error) {
	if d.Work, err = os.MkdirTemp("", "no-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(d.Work)
	ways, err := outcome.WaysNamed(strings.Split(wayNames, ","))
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Split(workloadNames, ",") {
		workload, err := outcome.WorkloadNamed(name)
		if err != nil {
			return nil, err
		}
		for s := range uint64(seeds) {
			for _, way := range ways {
				begun := time.Now()
				result, err := d.Play(ctx, way, workload, seed+s)
				if err != nil {
					return nil, fmt.Errorf("%s, %s, seed %d: %w", name, way.Name, seed+s, err)
				}
				results = append(results, result)
				fmt.Printf("%s, seed %d, %s: %.0f refused of 1000 bound (%s), %d of %d slots placed, %.1f writes a Node and minute, %.1f s, load %s\n", name, seed+s,
					way.Name, result.PerThousand(), result.Reasons(), result.Placed, result.Slots, result.NodeWritesPerMinute(), time.Since(begun).Seconds(), daemon.Load())
				if len(result.Plans) > 0 {
					fmt.Printf("    %d moves, %d of protected pods, %d pods lost, plans by exit status %v\n", result.Moves, result.Violations, result.Lost, result.Plans)
				}
				if workload.Priorities {
					fmt.Printf("    %d urgent pods ran after p50 %.2f s, p99 %.2f s, %d never; %d evictions, %d did not help; %d of %d preemptions with the fewest victims\n", len(result.UrgentWaits),
						result.UrgentWait(0.5).Seconds(), result.UrgentWait(0.99).Seconds(), result.UrgentNever, result.Evicted, result.Vain,
						result.Fewest, result.Preemptions)
				}
				if workload.Other {
					fmt.Printf("    %d refused after a race; of the other scheduler's pods %.0f refused of 1000 bound; a pod of the slot ran after p50 %s, max %s; of this one's after p50 %s, max %s\n",
						result.Raced, result.Other.PerThousand(), quantile(result.Other.Heals, 0.5), quantile(result.Other.Heals, 1), quantile(result.Heals, 0.5),
						quantile(result.Heals, 1))
				}
				if workload.Restarts {
					fmt.Printf("    %d kubelets restarted, %d nodes returned with another policy; %d more pods refused that were bound while no kubelet ran\n",
						result.Restarts, result.Drains, result.Excused)
				}
				if way.Extender { // there should be none
					for _, story := range result.Stories {
						fmt.Println("   ", story)
					}
					if result.Trace != "" {
						fmt.Println("    all events:", result.Trace)
					}
				}
			}
		}
	}
	return results, nil
}

// measure prints how many pods a second each way binds, or how soon after a release, in turn for each seed.
func measure(ctx context.Context, d *outcome.Driver, wayNames, workloadNames string, nodes, rounds int, seed uint64, seeds int) (err error) {
	if d.Work, err = os.MkdirTemp("", "no-"); err != nil {
		return err
	}
	defer os.RemoveAll(d.Work)
	ways, err := outcome.WaysNamed(strings.Split(wayNames, ","))
	if err != nil {
		return err
	}
	workload, err := outcome.WorkloadNamed(strings.Split(workloadNames, ",")[0])
	if err != nil {
		return err
	}
	for s := range uint64(seeds) {
		for _, way := range ways {
			if nodes > 0 {
				rate, err := d.Scale(ctx, way, workload, nodes, seed+s)
				if err != nil {
					return fmt.Errorf("%s: %w", way.Name, err)
				}
				fmt.Printf("%s, %d nodes, %d pods, seed %d, %s: %.0f pods/s, CPU time per pod: scheduler %.2f ms, extender %.2f ms, API server and etcd %.2f ms; %.2f ms of search per pod, %d pods batched, load %s\n",
					workload.Name, nodes, d.Pods, seed+s, way.Name, rate.PodsPerSecond, ms(rate.Scheduler), ms(rate.Extender), ms(rate.Plane),
					1000*rate.SearchedSeconds/float64(rate.Attempts), rate.Batched, daemon.Load())
			}
			if rounds > 0 {
				times, err := d.Release(ctx, way, rounds, seed+s)
				if err != nil {
					return fmt.Errorf("%s: %w", way.Name, err)
				}
				fmt.Printf("%d releases, seed %d, %s: bound after p50 %.2f s, p99 %.2f s, max %.2f s, load %s\n", rounds, seed+s, way.Name,
					timing.Quantile(times, 0.5).Seconds(), timing.Quantile(times, 0.99).Seconds(), timing.Quantile(times, 1).Seconds(), daemon.Load())
			}
		}
	}
	return nil
}

// verdicts prints each comparison that is not equal, and how many there are of each class. It returns whether the answers of some manifests
// are wrong.
func verdicts(ctx context.Context, d *outcome.Driver, workloadNames, folder, renamed string, drawn int, seed uint64) (differ bool, err error) {
	if d.Work, err = os.MkdirTemp("", "no-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(d.Work)
	workload, err := outcome.WorkloadNamed(strings.Split(workloadNames, ",")[0])
	if err != nil {
		return false, err
	}
	options := manifests.Options{ReplicasMax: 8, Rename: map[string]string{}}
	for _, pair := range strings.Split(renamed, ",") {
		if from, to, ok := strings.Cut(pair, "="); ok {
			options.Rename[from] = to
		}
	}
	cases, skipped := []manifests.Case(nil), 0
	if folder != "" {
		cases, skipped, err = manifests.Read(folder, options)
	} else {
		cases, err = manifests.Draw(seed, drawn, outcome.Device, options)
	}
	if err != nil {
		return false, err
	}
	count := map[string]int{}
	err = d.Verdicts(ctx, workload, seed, cases, func(v *outcome.Verdict) {
		class := v.Class()
		count[class]++
		if class != "equal" {
			fmt.Printf("%s: %s\n", class, v)
		}
	})
	fmt.Printf("%d of %d manifests, seed %d (%d not read): %v, load %s\n", sum(count), len(cases), seed, skipped, count, daemon.Load())
	return count["too many"]+count["too few"] > 0, err
}

func sum(count map[string]int) (n int) {
	for _, c := range count {
		n += c
	}
	return n
}

// fill prints how soon each way binds the pods of a cluster that is nearly full, in turn for each seed. With judge it fails if the extender
// leaves a pod unbound, or more pods are evicted than have to be.
func fill(ctx context.Context, d *outcome.Driver, wayNames string, c outcome.Filling, judge bool, seed uint64, seeds int) (err error) {
	if d.Work, err = os.MkdirTemp("", "no-"); err != nil {
		return err
	}
	defer os.RemoveAll(d.Work)
	ways, err := outcome.WaysNamed(strings.Split(wayNames, ","))
	if err != nil {
		return err
	}
	for s := range uint64(seeds) {
		for _, way := range ways {
			f, err := d.Full(ctx, way, c, seed+s)
			if err != nil {
				return fmt.Errorf("%s: %w", way.Name, err)
			}
			fmt.Printf("%d free of %d nodes, seed %d, %s: %d of %d pods bound, the last after %.2f s, %d tries failed, %d pods evicted, %d of them protected, load %s\n", c.Free, c.Nodes, seed+s,
				way.Name, f.Bound, f.Pods, f.Last.Seconds(), f.Failed, f.Evicted, f.Protected, daemon.Load())
			if judge && way.Extender && (f.Bound < f.Pods || f.Evicted > c.Beyond || f.Protected > 0) {
				return fmt.Errorf("%s, seed %d: %d of %d pods are not bound, %d are evicted, %d of them protected", way.Name, seed+s, f.Pods-f.Bound, f.Pods,
					f.Evicted, f.Protected)
			}
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
