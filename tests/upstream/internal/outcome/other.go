// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
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

// startOther starts a scheduler without extender, if the workload or the way has one.
func (p *play) startOther() (err error) {
	profiles := "profiles:\n- schedulerName: " + otherScheduler + "\n"
	if p.way.two {
		profiles = stock
	}
	if !p.workload.Other && !p.way.two {
		return nil
	}
	dir := filepath.Join(p.dir, otherScheduler)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p.other, err = startScheduler(p.program("scheduler"), head+profiles, p.kubeconfig("admin"), dir)
	return err
}

// schedulers are those that run, by the schedulerName of their pods.
func (p *play) schedulers() map[string]*process {
	switch {
	case p.way.two:
		return map[string]*process{v1.DefaultSchedulerName: p.other, aligner: p.scheduler}
	case p.workload.Other:
		return map[string]*process{v1.DefaultSchedulerName: p.scheduler, otherScheduler: p.other}
	}
	return map[string]*process{v1.DefaultSchedulerName: p.scheduler}
}
