// SPDX-License-Identifier: Apache-2.0

// invariant runs `nrtd run --dry-run` on nodes whose kubelet is the real managers in a process of their own, takes them
// through random steps, and checks after each that no amount is published above what the kubelet has free, and that what
// is published equals it once nothing moves.
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
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/invariant"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/quiet"
)

// stepsEach is how many steps a node is taken through.
const stepsEach = 25

// On larger machines the kubelet's code takes longer than nrtd.
const maxNodes, maxCPUs = 8, 256

func main() {
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	managers := flag.String("managers", "build/upstream/managers", "the program with the kubelet's managers")
	folder := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	replay := flag.String("replay", "", "folder of saved sequences; they are played and nothing else is")
	steps := flag.Int("steps", 1000, "number of random steps")
	slack := flag.Int64("slack", 1, "how many times longer nrtd may take, on a machine that does other things too")
	source := flag.String("source", "", "what nrtd reads: both, files or api (default: drawn for each sequence)")
	coalesce := flag.String("coalesce", "5ms", "nrtd's --coalesce")
	verbose := flag.Bool("verbose", false, "say what each step took, and why the kubelet's code ended a sequence")
	timeout := flag.Duration("timeout", 12*time.Hour, "give up after this time")
	s := differential.Settings{Out: os.Stdout, MaxFails: 3, Shrinks: 60}
	s.Flags()
	flag.IntVar(&s.First, "first", 0, "number of the first sequence, to repeat one of a run")
	flag.IntVar(&s.Shrinks, "shrinks", s.Shrinks, "how many smaller sequences are tried for one that fails")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s.Cases = s.First + *steps // the goal ends them much earlier
	failed, err := run(ctx, &invariant.Driver{Nrtd: *nrtd, Managers: *managers, Slack: *slack, Goal: *steps, Coalesce: *coalesce, Source: *source, Verbose: *verbose}, *folder, *replay, s)
	if err != nil {
		fmt.Println("not ok invariant:", err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, driver *invariant.Driver, folder, replay string, s differential.Settings) (failed int, err error) {
	all, _, err := kubelet.Machines(folder)
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
	if replay != "" {
		passed, failed, err = differential.Replay(problem, filepath.Clean(replay), s.Out)
	} else {
		fmt.Printf("invariant: seed %d, %d steps in sequences of %d on %d machines\n", s.Seed, driver.Goal, stepsEach, len(driver.Machines))
		passed, failed, err = differential.Run(problem, s)
	}
	fmt.Printf("invariant: %v\n", driver.Tally)
	if replay != "" {
		fmt.Printf("invariant: %d passed, %d failed\n", passed, failed)
	}
	return failed, err
}
