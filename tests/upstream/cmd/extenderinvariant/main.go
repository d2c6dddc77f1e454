// SPDX-License-Identifier: Apache-2.0

// extenderinvariant takes three nodes, whose kubelets are the real managers, and the objects of a small API server in this
// process through random steps, and asks `nrtd-extender` on the way as a scheduler does: no pod that it sends to a node is
// rejected there unless the extender could not know better, no assumed pod outlives its pod, and once nothing moves every
// verdict is the managers'.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/extenderinvariant"
	"nrtd.dev/tests/upstream/internal/kubelet"
)

func main() {
	driver := &extenderinvariant.Driver{}
	s := differential.Settings{Out: os.Stdout, MaxFails: 3, Shrinks: 150, Timeout: 12 * time.Hour}
	s.Flags()
	seeds := flag.Int("seeds", 5, "number of random sequences")
	steps := flag.Int("steps", 600, "number of steps of each")
	flag.IntVar(&driver.Slack, "slack", 1, "how many times longer nrtd may take, on a machine that does other things too")
	without := flag.String("without", "", "steps that are not drawn, separated by commas: to look behind a failure that is known")
	flag.BoolVar(&driver.Verbose, "verbose", false, "print each step and answer")
	differential.Main("extenderinvariant", &s, func(ctx context.Context) (int, error) {
		driver.Nrtd, driver.Without, s.Cases = s.Nrtd, strings.Split(*without, ","), s.First+*seeds
		return run(ctx, driver, *steps, s)
	})
}

func run(ctx context.Context, driver *extenderinvariant.Driver, steps int, s differential.Settings) (failed int, err error) {
	if driver.Machines, _, err = kubelet.Machines(s.Machines); err != nil {
		return 0, err
	}
	suitable, err := kubelet.EqualMachines(ctx, &kubelet.Nrtd{Path: driver.Nrtd}, driver.Machines, extenderinvariant.Suits)
	if err != nil {
		return 0, err
	}
	if driver.Work, err = os.MkdirTemp("", "nx-"); err != nil {
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
