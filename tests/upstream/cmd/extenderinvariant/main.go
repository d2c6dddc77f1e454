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
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/extenderinvariant"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	folder := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	replay := flag.String("replay", "", "folder of saved sequences, which are played first")
	seeds := flag.Int("seeds", 5, "number of random sequences")
	steps := flag.Int("steps", 600, "number of steps of each")
	slack := flag.Int("slack", 1, "how many times longer nrtd may take, on a machine that does other things too")
	without := flag.String("without", "", "steps that are not drawn, separated by commas: to look behind a failure that is known")
	verbose := flag.Bool("verbose", false, "print each step and answer")
	timeout := flag.Duration("timeout", 12*time.Hour, "give up after this time")
	s := differential.Settings{Out: os.Stdout, MaxFails: 3}
	s.Flags()
	flag.IntVar(&s.First, "first", 0, "number of the first sequence, to repeat one of a run")
	flag.IntVar(&s.Shrinks, "shrinks", 150, "how many smaller sequences are tried for one that fails, -1 = none")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s.Cases = s.First + *seeds
	driver := &extenderinvariant.Driver{Nrtd: *nrtd, Slack: *slack, Without: strings.Split(*without, ","), Verbose: *verbose}
	failed, err := run(ctx, driver, *folder, *replay, *steps, s)
	if err != nil {
		fmt.Println("not ok extenderinvariant:", err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, driver *extenderinvariant.Driver, folder, replay string, steps int, s differential.Settings) (failed int, err error) {
	if driver.Machines, _, err = kubelet.Machines(folder); err != nil {
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
	passed, failed, err := differential.ReplayAndRun(problem, replay, s)
	fmt.Printf("extenderinvariant: %v\n", driver.Tally)
	fmt.Printf("extenderinvariant: %d passed, %d failed\n", passed, failed)
	return failed, err
}
