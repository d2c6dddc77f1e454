// SPDX-License-Identifier: Apache-2.0

// invariant runs `nrtd run --dry-run` on nodes whose kubelet is the real managers in a process of their own, takes them
// through random steps, and checks after each that no amount is published above what the kubelet has free, and that what
// is published equals it once nothing moves.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/invariant"
	"nrtd.dev/tests/upstream/internal/kubelet"
)

// stepsEach is how many steps a node is taken through.
const stepsEach = 25

// On larger machines the kubelet's code takes longer than nrtd.
const maxNodes, maxCPUs = 8, 256

func main() {
	driver := &invariant.Driver{}
	s := differential.Settings{Out: os.Stdout, MaxFails: 3, Shrinks: 60, Timeout: 12 * time.Hour}
	s.Flags()
	flag.StringVar(&driver.Managers, "managers", "build/upstream/managers", "the program with the kubelet's managers")
	flag.IntVar(&driver.Goal, "steps", 1000, "number of random steps; with -replay none is drawn")
	flag.Int64Var(&driver.Slack, "slack", 1, "how many times longer nrtd may take, on a machine that does other things too")
	flag.StringVar(&driver.Source, "source", "", "what nrtd reads: both, files or api (default: drawn for each sequence)")
	flag.StringVar(&driver.Coalesce, "coalesce", "5ms", "nrtd's --coalesce")
	flag.BoolVar(&driver.Verbose, "verbose", false, "say what each step took, and why the kubelet's code ended a sequence")
	differential.Main("invariant", &s, func(ctx context.Context) (int, error) {
		driver.Nrtd, s.Cases = s.Nrtd, s.First+driver.Goal // the goal ends them much earlier
		return run(ctx, driver, s)
	})
}

func run(ctx context.Context, driver *invariant.Driver, s differential.Settings) (failed int, err error) {
	all, _, err := kubelet.Machines(s.Machines)
	if err != nil {
		return 0, err
	}
	driver.Machines = map[string]*kubelet.Machine{}
	for name, machine := range all {
		differences, err := kubelet.CompareMachine(ctx, &kubelet.Nrtd{Path: driver.Nrtd}, machine)
		if err != nil {
			return 0, fmt.Errorf("machine %s: %w", name, err)
		}
		if len(differences) == 0 && len(machine.Info.Topology) <= maxNodes && machine.Info.NumCores <= maxCPUs {
			driver.Machines[name] = machine
		}
	}
	if driver.Work, err = os.MkdirTemp("", "ni-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(driver.Work)
	problem := differential.Problem[invariant.Sequence]{
		Name:    "invariant",
		Random:  func(r *rand.Rand) invariant.Sequence { return invariant.Random(r, driver.Machines, stepsEach) },
		Smaller: invariant.Smaller,
		Compare: func(c invariant.Sequence) ([]string, error) { return driver.Play(ctx, c) },
	}
	passed := 0
	if s.Replay != "" {
		passed, failed, err = differential.Replay(problem, s.Replay, 0, s.Out)
	} else {
		fmt.Printf("invariant: seed %d, %d steps in sequences of %d on %d machines\n", s.Seed, driver.Goal, stepsEach, len(driver.Machines))
		passed, failed, err = differential.Run(problem, s)
	}
	fmt.Printf("invariant: %v\n", driver.Tally)
	if s.Replay != "" {
		fmt.Printf("invariant: %d passed, %d failed\n", passed, failed)
	}
	return failed, err
}
