// SPDX-License-Identifier: Apache-2.0

// Package fleet runs one `nrtd run` for each of many nodes, changes their states at random and compares their objects.
package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// Options are what the nodes of a fleet have in common.
type Options struct {
	Dir        string   // where their folders go
	Machines   []string // their machines' folders, in turn
	Nrtd       string
	Kubeconfig func(node string) string
	Flags      []string // of `nrtd run`
}

// Member is one node of a fleet.
type Member struct {
	*daemon.Node
	Machine string // its name
	zones   []daemon.Zone
	held    []cpuset.CPUSet
}

// Fleet is many nodes, fleet-0 and on.
type Fleet []*Member

// New prepares n nodes, each on a machine whose lowest CPU is reserved; nothing runs yet.
func New(ctx context.Context, r *rand.Rand, n int, options *Options) (f Fleet, err error) {
	for i := range n {
		m, err := options.member(ctx, r, Name(i), options.Machines[i%len(options.Machines)])
		if err != nil {
			return nil, err
		}
		f = append(f, m)
	}
	return f, nil
}

// Name of a node.
func Name(i int) string { return fmt.Sprintf("fleet-%d", i) }

func (o *Options) member(ctx context.Context, r *rand.Rand, name, machine string) (*Member, error) {
	m := &Member{Machine: filepath.Base(machine)}
	node, err := daemon.New(o.Dir, name, machine, o.Nrtd, o.Kubeconfig(name), "0", o.Flags...)
	if err != nil {
		return nil, err
	}
	m.Node = node
	reserved := cpuset.New(0)
	object, err := node.Dump(ctx)
	if err != nil { // a machine without CPU 0
		reserved = cpuset.New()
		node.Settings = slices.DeleteFunc(node.Settings, func(s string) bool { return s == "--reserved-cpus" || s == "0" })
		if object, err = node.Dump(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Machine, err)
		}
	}
	if m.zones, err = daemon.ZonesOf(object, reserved); err != nil {
		return nil, err
	}
	return m, m.Change(r)
}

// Change gives the node's CPUs to other containers.
func (m *Member) Change(r *rand.Rand) error {
	before := m.held
	for range 10 { // where there are none the draw has no choice
		m.held = daemon.Draw(r, m.zones)
		if !slices.EqualFunc(before, m.held, cpuset.CPUSet.Equals) {
			break
		}
	}
	_, err := m.Hold(daemon.All(m.zones), m.held...)
	return err
}

// Start starts every daemon.
func (f Fleet) Start() error {
	for _, m := range f {
		if err := m.Node.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Kill ends every daemon without any ceremony.
func (f Fleet) Kill() {
	for _, m := range f {
		m.Node.Kill()
	}
}

// Stop ends every daemon by SIGTERM; each has to end well, in time.
func (f Fleet) Stop() error {
	var stopped sync.WaitGroup
	errs := make(chan error, len(f))
	for _, m := range f {
		stopped.Add(1)
		go func() {
			defer stopped.Done()
			errs <- m.Node.Stop()
		}()
	}
	stopped.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// AllRight waits until each object is what `nrtd dump` says, and compares its CPUs with what was given away.
func (f Fleet) AllRight(ctx context.Context, watch *daemon.Watch, within time.Duration) error {
	until := time.Now().Add(within)
	for _, m := range f {
		want, err := m.Dump(ctx)
		if err != nil {
			return err
		}
		if _, err := watch.Wait(ctx, m.Name, max(time.Until(until), time.Second), daemon.SameAs(want)); err != nil {
			return fmt.Errorf("%s: %w\n%s", m.Machine, err, m.Log())
		}
		if overlapping(m.zones) {
			continue // one CPU in two NUMA nodes; what is right there is another test's business
		}
		if wrong := daemon.CPUsWrong(m.zones, m.held)(want); wrong != "" {
			return fmt.Errorf("%s: %s: %s", m.Name, m.Machine, wrong)
		}
	}
	return nil
}

func overlapping(zones []daemon.Zone) bool {
	seen := cpuset.New()
	for _, zone := range zones {
		if !seen.Intersection(zone.CPUs).IsEmpty() {
			return true
		}
		seen = seen.Union(zone.CPUs)
	}
	return false
}

// Totals is what the processes of a fleet have and have used, and what went wrong in them.
type Totals struct {
	daemon.Usage                    // of all together
	Most         int64              // resident bytes of the largest
	Largest      string             // the machine that one is for
	Failures     map[string]float64 // publications that failed, by their series in /metrics
	Errors       []string           // lines that were logged as errors
}

// Totals adds up.
func (f Fleet) Totals() (t Totals, err error) {
	t.Failures = map[string]float64{}
	for _, m := range f {
		usage, err := daemon.UsageOf(m.PID())
		if err != nil {
			return t, err
		}
		t.RSS, t.PSS, t.CPU, t.Files = t.RSS+usage.RSS, t.PSS+usage.PSS, t.CPU+usage.CPU, t.Files+usage.Files
		if usage.RSS > t.Most {
			t.Most, t.Largest = usage.RSS, m.Machine
		}
		samples, err := m.Metrics()
		if err != nil {
			return t, err
		}
		for series, value := range samples {
			if value > 0 && strings.HasPrefix(series, "nrtd_publishes_total{") && !strings.Contains(series, `"written"`) &&
				!strings.Contains(series, `"unchanged"`) {
				t.Failures[series] += value
			}
		}
		t.Errors = append(t.Errors, m.Node.Errors()...)
	}
	return t, nil
}
