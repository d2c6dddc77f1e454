// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
)

// Main is the program of a test that draws cases, each of type C, from machines, and counts what happened in tally.
func Main[C any, T fmt.Stringer](name string, driver *Driver, tally *T, problem func(ctx context.Context, machines map[string]*kubelet.Machine) differential.Problem[C]) {
	driver.Release = kubelet.Release()
	s := differential.Settings{Out: os.Stdout, MaxFails: 3, Shrinks: 300, Timeout: 12 * time.Hour}
	s.Flags()
	flag.StringVar(&driver.Numa, "kubectl-numa", "build/kubectl-numa", "the program under test")
	flag.BoolVar(&driver.Verbose, "verbose", false, "print what each case does")
	clusters := flag.Int("clusters", 300, "number of random clusters")
	resume := flag.String("resume", "", "what an earlier process of this run has counted (it passes it on)")
	differential.Main(name, &s, func(ctx context.Context) (int, error) {
		driver.Nrtd, s.Cases = s.Nrtd, s.First+*clusters
		suitable, err := driver.suitableMachines(ctx, s.Machines)
		if err != nil {
			return 0, err
		}
		p := problem(ctx, suitable)
		p.Name = name
		return run(driver, p, *resume, tally, s, len(suitable))
	})
}

func (d *Driver) suitableMachines(ctx context.Context, folder string) (suitable map[string]*kubelet.Machine, err error) {
	if d.Machines, _, err = kubelet.Machines(folder); err != nil {
		return nil, err
	}
	return kubelet.EqualMachines(ctx, &kubelet.Nrtd{Path: d.Nrtd}, d.Machines, Suits)
}

// batch is how many clusters a process plays. The kubelet's managers do not end, and keep their memory.
const batch = 250

func run[C any, T fmt.Stringer](driver *Driver, problem differential.Problem[C], resume string, tally *T, s differential.Settings, machines int) (failed int, err error) {
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
		s.Replay, s.Seed, s.First = "", before.Seed, before.Next
		s.MaxFails -= before.Failed
	}
	last := s.Cases
	s.Cases = min(last, s.First+batch)
	passed, failed, err := differential.ReplayAndRun(problem, s.Replay, s)
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
