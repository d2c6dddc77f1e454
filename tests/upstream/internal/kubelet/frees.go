// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"nrtd.dev/tests/upstream/internal/managers"
)

// whatFrees is what `nrtd fit --what-frees` answers.
type whatFrees struct {
	Answer   string
	Smallest *bool
	Pods     []struct{ Namespace, Name, UID string }
}

func (w *whatFrees) String() string {
	if w == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s %v", w.Answer, w.Pods)
}

// agrees tells whether an answer is one that may be given by those who know less than the other.
func (w *whatFrees) agrees(more *whatFrees) bool {
	return w == nil || w.Answer == "unknown" || (more != nil && w.Answer == more.Answer && len(w.Pods) == len(more.Pods))
}

// mostFreed is how many pods a set may have whose smaller sets are tried too: each is a sequence of its own.
const mostFreed = 3

// compareFrees asks nrtd, at the end of a sequence, which pods would have to go so that a pod that was refused is
// admitted. Where the node has devices it is asked by the files alone and with the API. They go, and the managers must admit it. On a node of its own each is left there, and they must refuse it.
func (d *Driver) compareFrees(ctx context.Context, m *managers.Managers, machine *Machine, root string, c Case, pod *v1.Pod) ([]string, error) {
	if err := settle(m, machine); err != nil {
		return nil, err
	}
	pod = pod.DeepCopy()
	pod.Name = "asked"
	got, err := d.ask(ctx, m, machine, root, pod, "--what-frees")
	if err != nil {
		return []string{err.Error()}, nil
	}
	if len(c.Devices) > 0 { // the files alone do not say where the devices are that nobody holds
		alone := got
		if got, err = d.ask(ctx, m, machine, root, pod, "--what-frees", "--pod-resources", socketOf(m)); err != nil {
			return []string{err.Error()}, nil
		}
		if got.WhatFrees != nil && got.WhatFrees.Answer == "unknown" {
			got = alone // what containers hold that the API does not list makes nrtd less sure; the files' set is tried
		} else if !alone.WhatFrees.agrees(got.WhatFrees) {
			return []string{fmt.Sprintf("nrtd would move %v by the files alone, %v by the API", alone.WhatFrees, got.WhatFrees)}, nil
		}
	}
	if got.WhatFrees == nil || got.WhatFrees.Answer != "set" {
		return nil, nil
	}
	names := []string{}
	for _, freed := range got.WhatFrees.Pods {
		at := slices.IndexFunc(m.GetActivePods(), func(p *v1.Pod) bool {
			return (freed.UID != "" && string(p.UID) == freed.UID) || (p.Namespace == freed.Namespace && p.Name == freed.Name)
		})
		if at < 0 {
			return []string{fmt.Sprintf("nrtd would move %v, which is not there", freed)}, nil
		}
		there := m.GetActivePods()[at]
		names = append(names, there.Namespace+"/"+there.Name)
	}
	for _, name := range names {
		if err := m.Drop(name); err != nil {
			return nil, err
		}
	}
	unseen := len(lackOf(m, pod).maybe) > 0
	want := admit(m, pod)
	if want.failure != "" {
		d.Tally.count(want.failure, false)
		return []string{fmt.Sprintf("without %v %s (%s)", names, want.failure, want.said)}, want.failure.end()
	}
	if !want.Admitted && (unseen || strings.HasPrefix(want.Reason, "OutOf")) {
		return nil, nil // what pods use of the shared pool is not known to nrtd
	}
	d.Tally.Freed++
	if !want.Admitted {
		return []string{fmt.Sprintf("without %v the kubelet still refuses the pod: %s: %s", names, want.Reason, want.Message)}, nil
	}
	if len(names) > mostFreed || len(c.Devices) > 0 || got.WhatFrees.Smallest == nil || !*got.WhatFrees.Smallest {
		return nil, nil
	}
	for i := range names {
		fewer := slices.Delete(slices.Clone(names), i, i+1)
		verdict, err := d.decideWithout(ctx, machine, c, fewer, pod)
		if err != nil {
			return nil, err
		}
		d.Tally.Fewer++
		if verdict.Admitted {
			return []string{fmt.Sprintf("nrtd would move %v, the kubelet admits the pod without %v", names, fewer)}, nil
		}
	}
	return nil, nil
}

// decideWithout plays the sequence on a node of its own, ends these pods, and asks the managers about the pod.
func (d *Driver) decideWithout(ctx context.Context, machine *Machine, c Case, gone []string, pod *v1.Pod) (verdict decision, err error) {
	_, root, remove, err := d.folders(machine)
	if err != nil {
		return decision{}, err
	}
	defer remove()
	m, err := start(ctx, root, machine, c)
	if err != nil {
		return decision{}, err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	for _, step := range c.Steps {
		switch {
		case step.Remove != "":
			m.Drop("default/" + step.Remove)
		case step.Complete != "":
			m.Complete("default/" + step.Complete)
		case step.Resize != nil:
			m.Resize("default/"+step.Resize.Pod, step.Resize.Container, step.Resize.Amounts)
		default:
			if err := admit(m, step.Admit).failure.end(); err != nil {
				return decision{}, err
			}
		}
		if step.TidyCPUs {
			m.TidyCPUs()
		}
	}
	for _, name := range gone {
		if err := m.Drop(name); err != nil {
			return decision{}, err
		}
	}
	verdict = admit(m, pod)
	return verdict, verdict.failure.end()
}
