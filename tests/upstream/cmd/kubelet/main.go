// SPDX-License-Identifier: Apache-2.0

// kubelet compares what nrtd reads of machines, and what `nrtd fit` says of pods, with the kubelet's own code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
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
	maker := flag.String("maker", "", "make.awk of tests/fixtures/machines: half of the random sequences are on drawn machines")
	failures := flag.Bool("failures", false, "draw only drawn machines and settings near those with which the kubelet's code hangs or panics (needs -maker)")
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
		before, err := differential.ParseProgress[counted](*resume)
		if err != nil {
			return 0, fmt.Errorf("-resume: %w", err)
		}
		driver := &kubelet.Driver{Nrtd: &kubelet.Nrtd{Path: s.Nrtd}, Verdict: *verdict, Sample: *sample, Tally: before.Tally.Tally}
		if err := connect(driver, *kubeconfig); err != nil {
			return 0, err
		}
		failed, err := run(ctx, driver, &options{s, kubelet.Draw{Devices: *devices, Failures: *failures}, *known, *maker, *resume != ""}, before)
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

// counted is what a process of the run passes on to the next one.
type counted struct {
	kubelet.Tally
	Differing []string // machines that the two sides read differently
}

// stuck ends a process of the run: the kubelet's code does not return.
type stuck struct {
	progress differential.Progress[counted]
}

func (s *stuck) Error() string {
	return fmt.Sprintf("stuck before kept case %d, random case %d", s.progress.Kept, s.progress.Next)
}

// options are the flags of a run.
type options struct {
	settings differential.Settings
	draw     kubelet.Draw
	known    string // list of machines that are known to differ
	maker    string
	resumed  bool
}

// compareFirst compares the machines. The driver gets those machines that both sides read alike.
func compareFirst(ctx context.Context, driver *kubelet.Driver, o *options, p *differential.Progress[counted]) error {
	machines, refused, err := kubelet.Machines(o.settings.Machines)
	if err != nil {
		return err
	}
	driver.Machines = machines
	if o.resumed {
		for _, name := range p.Tally.Differing {
			delete(machines, name)
		}
		return nil
	}
	known := map[string]string{}
	if o.known != "" {
		if known, err = kubelet.Known(o.known); err != nil {
			return err
		}
	}
	if err := compareMachines(ctx, driver.Nrtd, machines, known, p); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		fmt.Printf("skipped: machine %s: the kubelet cannot read it: %v\n", name, refused[name])
	}
	return nil
}

// run compares the machines, the kept cases and the random ones. p is what an earlier process of the run has counted.
func run(ctx context.Context, driver *kubelet.Driver, o *options, p differential.Progress[counted]) (int, error) {
	s := &o.settings
	if o.resumed {
		s.First, s.Seed = p.Next, p.Seed
	} else {
		fmt.Printf("kubelet: seed %d, %d sequences from number %d\n", s.Seed, s.Cases-s.First, s.First)
		p.Seed, p.Next = s.Seed, s.First
	}
	s.MaxFails -= p.Failed
	if err := compareFirst(ctx, driver, o, &p); err != nil {
		return p.Failed, err
	}
	work, err := os.MkdirTemp("", "nk-")
	if err != nil {
		return p.Failed, err
	}
	defer os.RemoveAll(work)
	driver.Work, o.draw.Machines = work, driver.Machines
	if o.maker != "" {
		driver.Maker = &kubelet.Maker{Program: o.maker, Dir: work, Nrtd: driver.Nrtd}
		o.draw.Maker = driver.Maker
	} else if o.draw.Failures {
		return p.Failed, errors.New("-failures needs -maker")
	}
	problem := differential.Problem[kubelet.Case]{
		Name:    "kubelet",
		Random:  func(r *rand.Rand) kubelet.Case { return o.draw.Random(ctx, r) },
		Smaller: kubelet.Smaller,
		Compare: func(c kubelet.Case) ([]string, error) { return driver.Compare(ctx, c) },
	}
	count := func(passed, failed int) {
		p.Passed, p.Failed, p.Tally.Tally = p.Passed+passed, p.Failed+failed, driver.Tally
	}
	passed, failed, err := differential.Replay(problem, s.Replay, p.Kept, s.Out)
	count(passed, failed)
	at := differential.Stuck{}
	if errors.As(err, &at) {
		p.Kept = at.Next
		return p.Failed, &stuck{p}
	}
	if err != nil {
		return p.Failed, err
	}
	p.Kept = math.MaxInt
	passed, failed, err = differential.Run(problem, *s)
	count(passed, failed)
	if errors.As(err, &at) {
		p.Next = at.Next
		return p.Failed, &stuck{p}
	}
	fmt.Printf("kubelet: %v\n", driver.Tally)
	fmt.Printf("kubelet: %d passed, %d failed\n", p.Passed, p.Failed)
	return p.Failed, err
}

// compareMachines compares what both read of each machine, and takes those that differ off the map: what is decided on
// them would differ too.
func compareMachines(ctx context.Context, nrtd *kubelet.Nrtd, machines map[string]*kubelet.Machine, known map[string]string, p *differential.Progress[counted]) error {
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		differences, err := kubelet.CompareMachine(ctx, nrtd, machines[name])
		if err != nil {
			return fmt.Errorf("machine %s: %w", name, err)
		}
		reason, expected := known[name]
		if len(differences) > 0 {
			delete(machines, name)
			p.Tally.Differing = append(p.Tally.Differing, name)
		}
		switch {
		case expected && len(differences) > 0:
			fmt.Printf("known: machine %s: %s\n", name, reason)
		case !expected && len(differences) == 0:
			p.Passed++
		case expected:
			p.Failed++
			fmt.Printf("not ok machine %s: listed as differing, but agrees\n", name)
		default:
			p.Failed++
			fmt.Printf("not ok machine %s\n", name)
			for _, line := range differences[:min(len(differences), 8)] {
				fmt.Printf("  | %s\n", line)
			}
		}
	}
	return nil
}
