// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// otherScheduler is the scheduler of a third of the pods in the workload other-scheduler. It has no extender.
const otherScheduler = "other-scheduler"

// Group is what became of the pods of one scheduler.
type Group struct {
	Bound, Refused int
	Heals          []time.Duration // from the refusal of a slot's pod until a pod of the slot ran
}

func (g *Group) add(o *Group) {
	g.Bound += o.Bound
	g.Refused += o.Refused
	g.Heals = append(g.Heals, o.Heals...)
}

// PerThousand is refusals per 1000 pods bound.
func (g *Group) PerThousand() float64 { return 1000 * ratio(g.Refused, g.Bound) }

// startOther starts the other scheduler, if the workload has it, and waits until it schedules.
func (p *play) startOther(ctx context.Context) (err error) {
	if !p.workload.Other {
		return nil
	}
	if err := p.startOtherScheduler("profiles:\n- schedulerName: " + otherScheduler + "\n"); err != nil {
		return err
	}
	if err := p.warmUp(ctx, otherScheduler); err != nil {
		return fmt.Errorf("%w: %s", err, p.other.said())
	}
	return nil
}

// startOtherScheduler starts a second scheduler with these profiles, without extender.
func (p *play) startOtherScheduler(profiles string) (err error) {
	dir := filepath.Join(p.dir, otherScheduler)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p.other, err = startScheduler(p.program("scheduler"), head+profiles, p.kubeconfig("admin"), dir)
	return err
}
