// SPDX-License-Identifier: Apache-2.0

// kubelet compares what nrtd reads of machines, and what `nrtd fit` says of pods, with the kubelet's own code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"nrtd.dev/tests/upstream/internal/apply"
	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
)

func main() {
	s := differential.Settings{Out: os.Stdout, MaxFails: 5}
	s.Flags()
	known := flag.String("known", "", "list of machines that are known to differ")
	verdict := flag.String("verdict", "", "tests/upstream/verdict: pods are judged by the published object too")
	kubeconfig := flag.String("kubeconfig", "", "an API server that stores some of these objects")
	devices := flag.Bool("devices", false, "register device plugins and request their devices")
	sample := flag.Bool("sample", false, "after a step compare the amounts from one of three sources, not from each")
	resume := flag.String("resume", "", "what an earlier process of this run has counted (it passes it on)")
	cases := flag.Int("cases", 300, "number of random sequences")
	times := flag.Int("times", 0, "compare the time that nrtd predicts with the managers' CPU time, for this number of pods, and nothing else")
	longest := flag.Duration("longest", 12*time.Second, "with -times: the longest time that is measured")
	differential.Main("kubelet", &s, func(ctx context.Context) (int, error) {
		if *times > 0 {
			return compareTimes(ctx, s, *times, *longest)
		}
		s.Cases = s.First + *cases
		before, err := differential.ParseProgress[kubelet.Tally](*resume)
		if err != nil {
			return 0, fmt.Errorf("-resume: %w", err)
		}
		driver := &kubelet.Driver{Nrtd: &kubelet.Nrtd{Path: s.Nrtd}, Verdict: *verdict, Sample: *sample, Tally: before.Tally}
		if err := connect(driver, *kubeconfig); err != nil {
			return 0, err
		}
		failed, err := run(ctx, driver, *known, *devices, s, before)
		if s := (*stuck)(nil); errors.As(err, &s) {
			err = s.progress.GoOn()
		}
		return failed, err
	})
}

func compareTimes(ctx context.Context, s differential.Settings, cases int, longest time.Duration) (int, error) {
	machines, _, err := kubelet.Machines(s.Machines)
	if err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "nk-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	t := kubelet.Times{Driver: &kubelet.Driver{Nrtd: &kubelet.Nrtd{Path: s.Nrtd}, Machines: machines, Work: work},
		Machines: machines, Seed: s.Seed, Cases: cases, Longest: longest, Out: os.Stdout}
	return t.Run(ctx)
}

// connect gives the driver the API server, if there is one.
func connect(driver *kubelet.Driver, kubeconfig string) error {
	if kubeconfig == "" {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	driver.Server, err = apply.NewClient(config)
	return err
}

// stuck ends a process of the run: the kubelet's code does not return.
type stuck struct {
	progress differential.Progress[kubelet.Tally]
}

func (s *stuck) Error() string { return fmt.Sprintf("stuck before case %d", s.progress.Next) }

func run(ctx context.Context, driver *kubelet.Driver, known string, devices bool, s differential.Settings,
	before differential.Progress[kubelet.Tally]) (int, error) {
	out := io.Writer(os.Stdout)
	if before.Next > 0 {
		out, s.Replay = io.Discard, "" // all but the random cases has been there
	}
	fmt.Fprintf(out, "kubelet: seed %d, %d sequences from number %d\n", s.Seed, s.Cases-s.First, s.First)
	machines, refused, err := kubelet.Machines(s.Machines)
	if err != nil {
		return 0, err
	}
	list := map[string]string{}
	if known != "" {
		if list, err = kubelet.Known(known); err != nil {
			return 0, err
		}
	}
	passed, failed, err := compareMachines(ctx, driver.Nrtd, machines, list, out)
	if err != nil {
		return failed, err
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(out, "skipped: machine %s: the kubelet cannot read it: %v\n", name, refused[name])
	}
	work, err := os.MkdirTemp("", "nk-")
	if err != nil {
		return failed, err
	}
	defer os.RemoveAll(work)
	driver.Machines, driver.Work = machines, work
	problem := differential.Problem[kubelet.Case]{
		Name:    "kubelet",
		Random:  func(r *rand.Rand) kubelet.Case { return kubelet.Random(r, machines, devices) },
		Smaller: kubelet.Smaller,
		Compare: func(c kubelet.Case) ([]string, error) { return driver.Compare(ctx, c) },
	}
	if before.Next > 0 {
		passed, failed, s.First, s.Seed = before.Passed, before.Failed, before.Next, before.Seed
	}
	replayed, broken, err := differential.Replay(problem, s.Replay, s.Out)
	if err != nil {
		return failed, err
	}
	s.MaxFails -= before.Failed
	same, differing, err := differential.Run(problem, s)
	passed += replayed + same
	failed += broken + differing
	if at := (differential.Stuck{}); errors.As(err, &at) {
		return failed, &stuck{differential.Progress[kubelet.Tally]{Seed: s.Seed, Next: at.Next, Passed: passed, Failed: failed, Tally: driver.Tally}}
	}
	fmt.Printf("kubelet: %v\n", driver.Tally)
	fmt.Printf("kubelet: %d passed, %d failed\n", passed, failed)
	return failed, err
}

// compareMachines compares what both read of each machine, and takes those that differ off the map: what is decided on
// them would differ too.
func compareMachines(ctx context.Context, nrtd *kubelet.Nrtd, machines map[string]*kubelet.Machine, known map[string]string, out io.Writer) (passed, failed int, err error) {
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
			fmt.Fprintf(out, "known: machine %s: %s\n", name, reason)
		case !expected && len(differences) == 0:
			passed++
		case expected:
			failed++
			fmt.Fprintf(out, "not ok machine %s: listed as differing, but agrees\n", name)
		default:
			failed++
			fmt.Fprintf(out, "not ok machine %s\n", name)
			for _, line := range differences[:min(len(differences), 8)] {
				fmt.Fprintf(out, "  | %s\n", line)
			}
		}
	}
	return passed, failed, nil
}
