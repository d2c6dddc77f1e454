// SPDX-License-Identifier: Apache-2.0

// plan draws clusters whose kubelets are the real managers, has `kubectl numa plan` make plans for them, and carries each plan out on the
// managers: they must admit every moved and wanted pod, and give it the CPUs and NUMA nodes that the plan names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/plan"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	driver := &plan.Driver{Release: kubelet.Release()}
	flag.StringVar(&driver.Nrtd, "nrtd", "build/nrtd", "the program nrtd")
	flag.StringVar(&driver.Numa, "kubectl-numa", "build/kubectl-numa", "the program under test")
	flag.BoolVar(&driver.Verbose, "verbose", false, "print each plan")
	folder := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	replay := flag.String("replay", "", "folder of saved clusters, which are played first")
	clusters := flag.Int("clusters", 300, "number of random clusters")
	resume := flag.String("resume", "", "what an earlier process of this run has counted (it passes it on)")
	timeout := flag.Duration("timeout", 12*time.Hour, "give up after this time")
	s := differential.Settings{Out: os.Stdout, MaxFails: 3}
	s.Flags()
	flag.IntVar(&s.First, "first", 0, "number of the first cluster, to repeat one of a run")
	flag.IntVar(&s.Shrinks, "shrinks", 300, "how many smaller clusters are tried for one that fails, -1 = none")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s.Cases = s.First + *clusters
	before, err := differential.ParseProgress[plan.Tally](*resume)
	if err != nil {
		fmt.Println("not ok plan: -resume:", err)
		os.Exit(1)
	}
	failed, err := run(ctx, driver, *folder, *replay, s, before)
	if err != nil {
		fmt.Println("not ok plan:", err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

// batch is how many clusters a process plays. The kubelet's managers do not end, and keep their memory.
const batch = 250

func run(ctx context.Context, driver *plan.Driver, folder, replay string, s differential.Settings, before differential.Progress[plan.Tally]) (failed int, err error) {
	if driver.Machines, _, err = kubelet.Machines(folder); err != nil {
		return 0, err
	}
	suitable, err := kubelet.EqualMachines(ctx, &kubelet.Nrtd{Path: driver.Nrtd}, driver.Machines, plan.Suits)
	if err != nil {
		return 0, err
	}
	driver.Tally = before.Tally
	if driver.Work, err = os.MkdirTemp("", "np-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(driver.Work)
	problem := differential.Problem[*plan.Cluster]{
		Name:    "plan",
		Random:  func(r *rand.Rand) *plan.Cluster { return plan.Random(r, suitable) },
		Smaller: plan.Smaller,
		Compare: func(c *plan.Cluster) ([]string, error) { return driver.Play(ctx, c) },
	}
	if before.Next == 0 {
		fmt.Printf("plan: seed %d, %d clusters from number %d on %d machines\n", s.Seed, s.Cases-s.First, s.First, len(suitable))
	} else {
		replay, s.Seed, s.First = "", before.Seed, before.Next
		s.MaxFails -= before.Failed
	}
	last := s.Cases
	s.Cases = min(last, s.First+batch)
	begun := time.Now()
	passed, failed, err := differential.ReplayAndRun(problem, replay, s)
	driver.Tally.Seconds += int(time.Since(begun).Seconds())
	enough := err != nil || failed >= s.MaxFails
	passed, failed = passed+before.Passed, failed+before.Failed
	if s.Cases < last && !enough {
		next := differential.Progress[plan.Tally]{Seed: s.Seed, Next: s.Cases, Passed: passed, Failed: failed, Tally: driver.Tally}
		return failed, errors.Join(os.RemoveAll(driver.Work), next.GoOn())
	}
	fmt.Printf("plan: %v\n", driver.Tally)
	fmt.Printf("plan: %d passed, %d failed\n", passed, failed)
	return failed, err
}
