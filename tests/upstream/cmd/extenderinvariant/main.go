// SPDX-License-Identifier: Apache-2.0

// extenderinvariant takes three nodes, whose kubelets are the real managers, and the objects of a small API server in this
// process through random steps, and asks `nrtd-extender` on the way as a scheduler does: no pod that it sends to a node is
// rejected there unless the extender could not know better, no assumed pod outlives its pod, and once nothing moves every
// verdict is the managers'.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/extenderinvariant"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

func main() {
	driver := &extenderinvariant.Driver{}
	s := differential.Settings{Out: os.Stdout, MaxFails: 3, Shrinks: 150, Timeout: 12 * time.Hour}
	s.Flags()
	seeds := flag.Int("seeds", 5, "number of random sequences")
	steps := flag.Int("steps", 600, "number of steps of each")
	flag.IntVar(&driver.Slack, "slack", 1, "how many times longer nrtd may take, on a machine that does other things too")
	changes := flag.Int("changes", 0, "instead: kill the extender or hand its Lease over so many times, while pods come and end")
	agents := flag.String("agents", "", "programs that make the nodes' objects in turn, separated by commas (default: that of -nrtd)")
	without := flag.String("without", "", "steps that are not drawn, separated by commas: to look behind a failure that is known")
	flag.BoolVar(&driver.Verbose, "verbose", false, "print each step and answer")
	differential.Main("extenderinvariant", &s, func(ctx context.Context) (int, error) {
		if *agents != "" {
			driver.Agents = strings.Split(*agents, ",")
		}
		driver.Nrtd, driver.Without, s.Cases = s.Nrtd, strings.Split(*without, ","), s.First+*seeds
		if *changes > 0 {
			return change(ctx, driver, *changes, s)
		}
		return run(ctx, driver, *steps, s)
	})
}

// prepare reads the machines, and makes the folder of the driver. It returns the machines that sequences are drawn for.
func prepare(ctx context.Context, driver *extenderinvariant.Driver, s differential.Settings) (suitable map[string]*kubelet.Machine, err error) {
	if driver.Machines, _, err = kubelet.Machines(s.Machines); err != nil {
		return nil, err
	}
	if suitable, err = kubelet.EqualMachines(ctx, &kubelet.Nrtd{Path: driver.Nrtd}, driver.Machines, extenderinvariant.Suits); err != nil {
		return nil, err
	}
	driver.Work, err = os.MkdirTemp("", "nx-")
	return suitable, err
}

// changesOfOne is how many changes of the extender there are in one cluster.
const changesOfOne = 20

// change plays clusters under load while their extender changes. No kubelet may reject a pod of the extender's.
func change(ctx context.Context, driver *extenderinvariant.Driver, changes int, s differential.Settings) (failed int, err error) {
	suitable, err := prepare(ctx, driver, s)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(driver.Work)
	tally := &extenderinvariant.ChangeTally{}
	fmt.Printf("extenderinvariant: seed %d, %d changes\n", s.Seed, changes)
	for i := s.First; changes > 0; i++ {
		sequence := extenderinvariant.Random(rand.New(rand.NewPCG(s.Seed, uint64(i))), suitable, 0)
		rejected, err := driver.PlayChanges(ctx, sequence, min(changes, changesOfOne), tally)
		changes -= changesOfOne
		for _, line := range rejected {
			fmt.Printf("not ok extenderinvariant: seed %d cluster %d: %s\n", s.Seed, i, line)
			failed++
		}
		if errors.Is(err, kubeletnode.ErrKubelet) { // its code panics or does not return
			continue
		}
		if err != nil {
			return failed, fmt.Errorf("cluster %d: %w", i, err)
		}
	}
	fmt.Printf("extenderinvariant: %v\n", tally)
	return failed, nil
}

func run(ctx context.Context, driver *extenderinvariant.Driver, steps int, s differential.Settings) (failed int, err error) {
	suitable, err := prepare(ctx, driver, s)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(driver.Work)
	problem := differential.Problem[*extenderinvariant.Sequence]{
		Name:    "extenderinvariant",
		Random:  func(r *rand.Rand) *extenderinvariant.Sequence { return extenderinvariant.Random(r, suitable, steps) },
		Smaller: extenderinvariant.Smaller,
		Compare: func(c *extenderinvariant.Sequence) ([]string, error) { return driver.Play(ctx, c) },
	}
	fmt.Printf("extenderinvariant: seed %d, %d sequences of %d steps on %d machines\n", s.Seed, s.Cases-s.First, steps, len(suitable))
	passed, failed, err := differential.ReplayAndRun(problem, s.Replay, s)
	fmt.Printf("extenderinvariant: %v\n", driver.Tally)
	fmt.Printf("extenderinvariant: %d passed, %d failed\n", passed, failed)
	return failed, err
}
