// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/fleet"
)

// fleet runs one nrtd for each of many nodes, all on machines of different kinds, and changes their states at random.
func (b *bench) fleet(ctx context.Context) error {
	machines, err := filepath.Glob(filepath.Join(b.machines, "*"))
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(b.seed, 2))
	// More than 128 processes of one user: some do without inotify.
	f, err := fleet.New(ctx, r, b.agents, &fleet.Options{Dir: b.dir, Machines: machines, Nrtd: b.nrtd, Flags: []string{"--poll", "2s"},
		Kubeconfig: func(node string) string { return b.kubeconfig("agent-" + node) }})
	if err != nil {
		return err
	}
	defer f.Kill()
	begin := time.Now()
	if err := f.Start(); err != nil {
		return err
	}
	if err := f.AllRight(ctx, b.watch, b.within(time.Minute)); err != nil {
		return fmt.Errorf("after the start: %w", err)
	}
	fmt.Printf("fleet: %d nodes on %d machines, all published %.1f s after the first start\n", len(f), min(len(f), len(machines)),
		time.Since(begin).Seconds())

	begin = time.Now()
	span, changes := b.pick(time.Minute, 10*time.Minute), 0
	for time.Since(begin) < span && ctx.Err() == nil {
		if err := f[r.IntN(len(f))].Change(r); err != nil {
			return err
		}
		changes++
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	}
	writes := 0
	err = f.AllRight(ctx, b.watch, b.within(10*time.Second))
	for _, m := range f {
		writes += len(b.watch.Writes(m.Name, begin))
	}
	if err != nil {
		return err
	}
	b.check(writes <= changes, "fleet: objects", "all %d right after %d changes in %v: %d new versions (at most one a change)", len(f),
		changes, span, writes)
	return b.dismiss(f)
}

// dismiss adds up what the processes have and say, and ends them.
func (b *bench) dismiss(f fleet.Fleet) error {
	t, err := f.Totals()
	if err != nil {
		return err
	}
	if err := f.Stop(); err != nil {
		return err
	}
	b.check(len(t.Failures) == 0 && len(t.Errors) == 0, "fleet: errors", "publications that failed %v, %d lines of errors %q", t.Failures,
		len(t.Errors), t.Errors[:min(3, len(t.Errors))])
	// The limit is for machines of two sockets; here are some of 64 NUMA nodes and 1024 CPUs.
	b.check(t.RSS/int64(len(f)) < memoryLimit, "fleet: memory", "RSS %.1f MiB a process (limit 12 MiB), %.1f at most, on %s",
		daemon.MiB(t.RSS)/float64(len(f)), daemon.MiB(t.Most), t.Largest)
	return nil
}
