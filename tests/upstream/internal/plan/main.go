// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/quiet"
)

// Main is the program of a test that draws cases, each of type C, from machines, and counts what happened in tally.
func Main[C any, T fmt.Stringer](driver *Driver, tally *T, problem func(ctx context.Context, machines map[string]*kubelet.Machine) differential.Problem[C]) {
	driver.Release = kubelet.Release()
	flag.StringVar(&driver.Nrtd, "nrtd", "build/nrtd", "the program nrtd")
	flag.StringVar(&driver.Numa, "kubectl-numa", "build/kubectl-numa", "the program under test")
	flag.BoolVar(&driver.Verbose, "verbose", false, "print what each case does")
	folder := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	replay := flag.String("replay", "", "folder of saved cases, which are played first")
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
	suitable, err := driver.suitableMachines(ctx, *folder)
	p := problem(ctx, suitable)
	failed := 0
	if err == nil {
		failed, err = run(driver, p, *replay, *resume, tally, s, len(suitable))
	}
	if err != nil {
		fmt.Printf("not ok %s: %v\n", p.Name, err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

func (d *Driver) suitableMachines(ctx context.Context, folder string) (suitable map[string]*kubelet.Machine, err error) {
	if d.Machines, _, err = kubelet.Machines(folder); err != nil {
		return nil, err
	}
	return kubelet.EqualMachines(ctx, &kubelet.Nrtd{Path: d.Nrtd}, d.Machines, Suits)
}

// batch is how many clusters a process plays. The kubelet's managers do not end, and keep their memory.
const batch = 250

func run[C any, T fmt.Stringer](driver *Driver, problem differential.Problem[C], replay, resume string, tally *T, s differential.Settings, machines int) (failed int, err error) {
	before, err := differential.ParseProgress[T](resume)
	if err != nil {
		return 0, fmt.Errorf("-resume: %w", err)
	}
	*tally = before.Tally
	if driver.Work, err = os.MkdirTemp("", "np-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(driver.Work)
	if before.Next == 0 {
		fmt.Printf("%s: seed %d, %d clusters from number %d on %d machines\n", problem.Name, s.Seed, s.Cases-s.First, s.First, machines)
	} else {
		replay, s.Seed, s.First = "", before.Seed, before.Next
		s.MaxFails -= before.Failed
	}
	last := s.Cases
	s.Cases = min(last, s.First+batch)
	passed, failed, err := differential.ReplayAndRun(problem, replay, s)
	enough := err != nil || failed >= s.MaxFails
	passed, failed = passed+before.Passed, failed+before.Failed
	if s.Cases < last && !enough {
		next := differential.Progress[T]{Seed: s.Seed, Next: s.Cases, Passed: passed, Failed: failed, Tally: *tally}
		return failed, errors.Join(os.RemoveAll(driver.Work), next.GoOn())
	}
	fmt.Printf("%s: %v\n", problem.Name, *tally)
	fmt.Printf("%s: %d passed, %d failed\n", problem.Name, passed, failed)
	return failed, err
}
