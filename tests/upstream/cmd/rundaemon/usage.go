// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

const (
	memoryLimit = 12 << 20
	restLimit   = 7 << 20   // with nothing to do
	memoryDrift = 256 << 10 // the allocator's own
	idleLimit   = 0.001     // of one core
)

// memory looks at the process before and after many changes. In the short run as many publications as an hour with one
// in a minute has.
func (b *bench) memory(ctx context.Context) error {
	node, zones, err := b.twoSockets("node-a", "--poll", "200ms", "--refresh", "1s", "--node-write-interval", "200ms", "--labels",
		"--shape", "small=cpu=2,memory=1Gi")
	if err != nil {
		return err
	}
	defer node.Kill()
	if _, err := b.started(ctx, node, zones, nil); err != nil {
		return err
	}
	var held []cpuset.CPUSet
	churn := func(span time.Duration) error {
		for i, until := 0, time.Now().Add(span); time.Now().Before(until); i++ {
			held = of(zones, 1+i%15, 1+i%13)
			if _, err := node.Hold(daemon.All(zones), held...); err != nil {
				return err
			}
			if _, err := node.Metrics(); err != nil {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		return nil
	}
	warm, span := b.pick(15*time.Second, time.Minute), b.pick(45*time.Second, time.Hour)
	if err := churn(warm); err != nil {
		return err
	}
	before, err := daemon.UsageOf(node.PID())
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := churn(span); err != nil {
		return err
	}
	after, err := daemon.UsageOf(node.PID())
	if err != nil {
		return err
	}
	b.check(after.RSS < memoryLimit, "resident memory", "RSS %.2f MiB, PSS %.2f MiB after %d new versions (limit 12 MiB)",
		daemon.MiB(after.RSS), daemon.MiB(after.PSS), len(b.watch.Writes(node.Name, begin)))
	b.check(after.RSS-before.RSS <= memoryDrift, "memory is flat", "RSS went from %d to %d KiB in %v (limit +%d KiB)",
		before.RSS>>10, after.RSS>>10, span, memoryDrift>>10)
	b.check(after.Files <= before.Files, "no growth of open files", "%d, then %d", before.Files, after.Files)
	if _, err := b.watch.Wait(ctx, node.Name, 5*time.Second, daemon.CPUsWrong(zones, held)); err != nil {
		return fmt.Errorf("%w\n%s", err, node.Log())
	}
	return node.Stop()
}

// rests waits until a process that has nothing to do has given its memory back.
func (b *bench) rests(node *daemon.Node) error {
	for until := time.Now().Add(b.within(30 * time.Second)); ; time.Sleep(time.Second) {
		usage, err := daemon.UsageOf(node.PID())
		if err != nil {
			return err
		}
		if usage.RSS < restLimit || time.Now().After(until) {
			b.check(usage.RSS < restLimit, "memory at rest", "RSS %.2f MiB, PSS %.2f MiB (limit 7 MiB)", daemon.MiB(usage.RSS), daemon.MiB(usage.PSS))
			return nil
		}
	}
}

// idle measures CPU time with the defaults while nothing happens. The kernel counts it in hundredths of a second.
func (b *bench) idle(ctx context.Context) error {
	if !b.long {
		fmt.Println("skipped: CPU time when idle takes minutes to measure (-long)")
		return nil
	}
	node, zones, err := b.twoSockets("node-a")
	if err != nil {
		return err
	}
	defer node.Kill()
	if _, err := b.started(ctx, node, zones, nil); err != nil {
		return err
	}
	time.Sleep(10 * time.Second)
	before, err := daemon.UsageOf(node.PID())
	if err != nil {
		return err
	}
	const span = 2 * time.Minute
	time.Sleep(span)
	after, err := daemon.UsageOf(node.PID())
	if err != nil {
		return err
	}
	share := (after.CPU - before.CPU).Seconds() / span.Seconds()
	b.check(share < idleLimit, "CPU when idle", "%v in %v = %.3f %% of a core (limit 0.1 %%), load %s", after.CPU-before.CPU, span,
		share*100, daemon.Load())
	return node.Stop()
}
