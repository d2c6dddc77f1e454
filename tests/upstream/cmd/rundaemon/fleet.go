// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// member is one node of the fleet.
type member struct {
	node     *daemon.Node
	machine  string
	reserved cpuset.CPUSet
	zones    []daemon.Zone
	held     []cpuset.CPUSet
}

// fleet runs one nrtd for each of many nodes, all on machines of different kinds, and changes their states at random.
func (b *bench) fleet(ctx context.Context) error {
	names, err := os.ReadDir(b.machines)
	if err != nil {
		return err
	}
	var fleet []*member
	defer func() {
		for _, m := range fleet {
			m.node.Kill()
		}
	}()
	r := rand.New(rand.NewPCG(b.seed, 2))
	for i := range b.agents {
		m, err := b.member(ctx, r, fmt.Sprintf("fleet-%d", i), names[i%len(names)].Name())
		if err != nil {
			return err
		}
		fleet = append(fleet, m)
	}
	begin := time.Now()
	for _, m := range fleet {
		if err := m.node.Start(); err != nil {
			return err
		}
	}
	if err := b.allRight(ctx, fleet, b.within(time.Minute)); err != nil {
		return fmt.Errorf("after the start: %w", err)
	}
	fmt.Printf("fleet: %d nodes on %d machines, all published %.1f s after the first start\n", len(fleet), min(len(fleet), len(names)),
		time.Since(begin).Seconds())

	begin = time.Now()
	span, changes := b.pick(time.Minute, 10*time.Minute), 0
	for time.Since(begin) < span && ctx.Err() == nil {
		m := fleet[r.IntN(len(fleet))]
		m.held = daemon.Draw(r, m.zones)
		if _, err := m.node.Hold(daemon.All(m.zones), m.held...); err != nil {
			return err
		}
		changes++
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	}
	writes := 0
	err = b.allRight(ctx, fleet, b.within(10*time.Second))
	for _, m := range fleet {
		writes += len(b.watch.Writes(m.node.Name, begin))
	}
	if err != nil {
		return err
	}
	b.check(writes <= changes, "fleet: objects", "all %d right after %d changes in %v: %d new versions (at most one a change)", len(fleet),
		changes, span, writes)
	return b.dismiss(ctx, fleet)
}

// member prepares a node on a machine whose lowest CPU is reserved.
func (b *bench) member(ctx context.Context, r *rand.Rand, name, machine string) (*member, error) {
	m := &member{machine: machine}
	node, err := daemon.New(b.dir, name, filepath.Join(b.machines, machine), b.nrtd, b.kubeconfig("agent-"+name), "0", "--poll", "2s") // more than 128 processes of one user: some do without inotify
	if err != nil {
		return nil, err
	}
	m.node = node
	object, err := node.Dump(ctx)
	if err != nil { // a machine without CPU 0
		node.Settings = slices.DeleteFunc(node.Settings, func(s string) bool { return s == "--reserved-cpus" || s == "0" })
		if object, err = node.Dump(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", machine, err)
		}
	} else {
		m.reserved = cpuset.New(0)
	}
	if m.zones, err = daemon.ZonesOf(object, m.reserved); err != nil {
		return nil, err
	}
	m.held = daemon.Draw(r, m.zones)
	_, err = node.Hold(daemon.All(m.zones), m.held...)
	return m, err
}

// allRight waits until each object is what `nrtd dump` says, and compares its CPUs with what was given away.
func (b *bench) allRight(ctx context.Context, fleet []*member, within time.Duration) error {
	until := time.Now().Add(within)
	for _, m := range fleet {
		want, err := m.node.Dump(ctx)
		if err != nil {
			return err
		}
		if _, err := b.watch.Wait(ctx, m.node.Name, max(time.Until(until), time.Second), daemon.SameAs(want)); err != nil {
			return fmt.Errorf("%s: %w\n%s", m.machine, err, m.node.Log())
		}
		if overlapping(m.zones) {
			continue // one CPU in two NUMA nodes; what is right there is another test's business
		}
		if wrong := daemon.CPUsWrong(m.zones, m.held)(want); wrong != "" {
			return fmt.Errorf("%s: %s: %s", m.node.Name, m.machine, wrong)
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

// dismiss adds up what the processes have and say, and ends them.
func (b *bench) dismiss(ctx context.Context, fleet []*member) error {
	var most, rss int64
	largest := ""
	failures := map[string]float64{}
	for _, m := range fleet {
		usage, err := daemon.UsageOf(m.node.PID())
		if err != nil {
			return err
		}
		if rss += usage.RSS; usage.RSS > most {
			most, largest = usage.RSS, m.machine
		}
		samples, err := m.node.Metrics()
		if err != nil {
			return err
		}
		for series, value := range samples {
			if value > 0 && strings.HasPrefix(series, "nrtd_publishes_total{") && !strings.Contains(series, `"written"`) &&
				!strings.Contains(series, `"unchanged"`) {
				failures[series] += value
			}
		}
	}
	var logged []string
	var stopped sync.WaitGroup
	errs := make(chan error, len(fleet))
	for _, m := range fleet {
		logged = append(logged, m.node.Errors()...)
		stopped.Add(1)
		go func() {
			defer stopped.Done()
			errs <- m.node.Stop()
		}()
	}
	stopped.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	b.check(len(failures) == 0 && len(logged) == 0, "fleet: errors", "publications that failed %v, %d lines of errors %q", failures,
		len(logged), logged[:min(3, len(logged))])
	// The limit is for machines of two sockets; here are some of 64 NUMA nodes and 1024 CPUs.
	b.check(rss/int64(len(fleet)) < memoryLimit, "fleet: memory", "RSS %.1f MiB a process (limit 12 MiB), %.1f at most, on %s",
		daemon.MiB(rss)/float64(len(fleet)), daemon.MiB(most), largest)
	return nil
}
