// SPDX-License-Identifier: Apache-2.0

// kubelet compares what nrtd reads of machines, and what `nrtd fit` says of pods, with the kubelet's own code.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	folder := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	known := flag.String("known", "", "list of machines that are known to differ")
	devices := flag.Bool("devices", false, "register device plugins and request their devices")
	replay := flag.String("replay", "", "folder of saved cases to compare first")
	timeout := flag.Duration("timeout", time.Hour, "give up after this time")
	s := differential.Settings{Out: os.Stdout}
	flag.IntVar(&s.Cases, "cases", 300, "number of random sequences")
	flag.Uint64Var(&s.Seed, "seed", rand.Uint64N(1000000), "random seed")
	flag.StringVar(&s.Save, "save", "build/upstream/failures", "folder for cases that differ")
	flag.IntVar(&s.MaxFails, "max-fails", 5, "stop after this many differing cases")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, &kubelet.Nrtd{Path: *nrtd}, *folder, *known, *replay, *devices, s)
	if err != nil {
		fmt.Println("not ok kubelet:", err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, nrtd *kubelet.Nrtd, folder, known, replay string, devices bool, s differential.Settings) (int, error) {
	fmt.Printf("kubelet: seed %d, %d sequences\n", s.Seed, s.Cases)
	machines, refused, err := kubelet.Machines(folder)
	if err != nil {
		return 0, err
	}
	list := map[string]string{}
	if known != "" {
		if list, err = kubelet.Known(known); err != nil {
			return 0, err
		}
	}
	passed, failed, err := compareMachines(ctx, nrtd, machines, list)
	if err != nil {
		return failed, err
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		fmt.Printf("skipped: machine %s: the kubelet cannot read it: %v\n", name, refused[name])
	}
	work, err := os.MkdirTemp("", "nk-")
	if err != nil {
		return failed, err
	}
	defer os.RemoveAll(work)
	driver := &kubelet.Driver{Nrtd: nrtd, Machines: machines, Work: work}
	problem := differential.Problem[kubelet.Case]{
		Name:    "kubelet",
		Random:  func(r *rand.Rand) kubelet.Case { return kubelet.Random(r, machines, devices) },
		Smaller: kubelet.Smaller,
		Compare: func(c kubelet.Case) ([]string, error) { return driver.Compare(ctx, c) },
	}
	replayed, broken, err := differential.Replay(problem, replay, s.Out)
	if err != nil {
		return failed, err
	}
	same, differing, err := differential.Run(problem, s)
	fmt.Printf("kubelet: %v\n", driver.Tally)
	failed += broken + differing
	fmt.Printf("kubelet: %d passed, %d failed\n", passed+replayed+same, failed)
	return failed, err
}

// compareMachines compares what both read of each machine, and takes those that differ off the map: what is decided on
// them would differ too.
func compareMachines(ctx context.Context, nrtd *kubelet.Nrtd, machines map[string]*kubelet.Machine, known map[string]string) (passed, failed int, err error) {
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		differences, err := kubelet.CompareMachine(ctx, nrtd, machines[name])
		if err != nil {
			return passed, failed, fmt.Errorf("machine %s: %w", name, err)
		}
		reason, expected := known[name]
		if len(differences) > 0 {
			delete(machines, name)
		}
		switch {
		case expected && len(differences) > 0:
			fmt.Printf("known: machine %s: %s\n", name, reason)
		case !expected && len(differences) == 0:
			passed++
		case expected:
			failed++
			fmt.Printf("not ok machine %s: listed as differing, but agrees\n", name)
		default:
			failed++
			fmt.Printf("not ok machine %s\n", name)
			for _, line := range differences[:min(len(differences), 8)] {
				fmt.Printf("  | %s\n", line)
			}
		}
	}
	return passed, failed, nil
}
