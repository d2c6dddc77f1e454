// SPDX-License-Identifier: Apache-2.0

// Package invariant runs `nrtd run` beside the kubelet's own managers while pods come and go and the kubelet meets
// accidents, and holds each object that it publishes against what the managers have free.
package invariant

import (
	"fmt"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/managers"
)

// Sequence is what happens on one node. A step that cannot be done as things are is left out.
type Sequence struct {
	Machine string                                     `json:"machine"`
	Source  string                                     `json:"source"` // what nrtd reads: one of sources
	Config  *kubeletconfigv1beta1.KubeletConfiguration `json:"config"`
	Devices []managers.Devices                         `json:"devices,omitempty"`
	Steps   []Step                                     `json:"steps"`
}

// Step is one thing that happens.
type Step struct {
	Do     string                                     `json:"do"`
	Pod    *v1.Pod                                    `json:"pod,omitempty"`    // admit, cut
	Name   string                                     `json:"name,omitempty"`   // drop, complete: the pod; delete: the file
	At     int                                        `json:"at,omitempty"`     // cut: before the At-th allocation of a manager
	Gone   bool                                       `json:"gone,omitempty"`   // cut: the pod is deleted before the kubelet is back
	Config *kubeletconfigv1beta1.KubeletConfiguration `json:"config,omitempty"` // edit
	Wait   int                                        `json:"wait,omitempty"`   // milliseconds that nothing happens afterwards
}

// What a step does.
const (
	admit    = "admit"    // a pod comes
	drop     = "drop"     // a pod ends and is deleted
	complete = "complete" // a pod ends and is not deleted
	tidy     = "tidy"     // the CPU manager's loop comes round
	serve    = "serve"    // the pod-resources socket is replaced
	pause    = "pause"    // the kubelet is stopped (SIGSTOP)
	resume   = "resume"   // and goes on
	kill     = "kill"     // the kubelet is killed (SIGKILL)
	cut      = "cut"      // a pod comes, and the kubelet is killed in the middle of its admission
	restart  = "restart"  // the kubelet starts again, with the settings it had
	adopt    = "adopt"    // it starts again with the file that was edited; the node was drained for that
	edit     = "edit"     // its configuration file is edited
	remove   = "delete"   // a state file is deleted
	quietly  = "wait"     // nothing
)

// both, files and api are the sources of nrtd.
const (
	both  = "both"
	files = "files"
	api   = "api"
)

// stateFiles are the files that somebody may delete.
var stateFiles = []string{"cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"}

// likely are the steps that may follow while the kubelet runs, is stopped, or is dead, each as often as it is drawn.
var likely = map[condition]map[string]int{
	running: {admit: 42, drop: 22, complete: 6, tidy: 4, serve: 3, pause: 6, kill: 7, cut: 5, edit: 4, remove: 6, quietly: 2},
	paused:  {resume: 60, kill: 10, edit: 10, remove: 12, quietly: 8},
	dead:    {restart: 56, adopt: 8, edit: 10, remove: 14, quietly: 12},
}

type condition int

const (
	running condition = iota
	paused
	dead
)

// after is the kubelet's condition behind a step.
func (c condition) after(do string) condition {
	switch do {
	case pause:
		return paused
	case kill, cut:
		return dead
	case resume, restart, adopt:
		return running
	}
	return c
}

func draw(r *rand.Rand, c condition) string {
	total := 0
	var steps []string
	for step, weight := range likely[c] {
		steps = append(steps, step)
		total += weight
	}
	slices.Sort(steps)
	at := r.IntN(total)
	for _, step := range steps {
		if at -= likely[c][step]; at < 0 {
			return step
		}
	}
	panic("unreachable")
}

// Random draws a sequence of so many steps.
func Random(r *rand.Rand, machines map[string]*kubelet.Machine, steps int) Sequence {
	n := kubelet.RandomNode(r, machines, true)
	tame(n.Config)
	s := Sequence{Machine: n.Machine, Source: both, Config: n.Config, Devices: n.Devices}
	switch at := r.IntN(10); {
	case at < 3:
		s.Source = files
	case at < 5:
		s.Source = api
	}
	var present []string
	now, edited := running, false
	for i := range steps {
		step := Step{Do: draw(r, now)}
		if step.Do == adopt && !edited {
			step.Do = restart
		}
		switch step.Do {
		case drop, complete:
			if len(present) == 0 {
				step.Do = admit
				break
			}
			at := r.IntN(len(present))
			step.Name = present[at]
			if step.Do == drop {
				present = slices.Delete(present, at, at+1)
			}
		case edit:
			step.Config, edited = n.OtherConfig(r), true
			tame(step.Config)
		case remove:
			step.Name = stateFiles[r.IntN(len(stateFiles))]
		case restart, adopt:
			edited = false
		}
		if step.Do == cut {
			step.At, step.Gone = 1+r.IntN(4), r.IntN(3) == 0
		}
		if step.Do == admit || step.Do == cut {
			step.Pod = n.Pod(r, fmt.Sprintf("pod-%d", i))
			present = append(present, step.Pod.Name)
		}
		if step.Do == quietly || r.IntN(100) < 12 {
			step.Wait = 50 + r.IntN(200)
		}
		now = now.after(step.Do)
		s.Steps = append(s.Steps, step)
	}
	return s
}

// tame takes an option away with which the kubelet may hunt for CPUs for ever (K1 in scoring/DEFECTS.md).
func tame(config *kubeletconfigv1beta1.KubeletConfiguration) {
	delete(config.CPUManagerPolicyOptions, cpumanager.DistributeCPUsAcrossNUMAOption)
}

// Smaller lists sequences with fewer steps: half of them, then one less.
func Smaller(s Sequence) []Sequence {
	var out []Sequence
	without := func(from, to int) {
		smaller := s
		smaller.Steps = slices.Delete(slices.Clone(s.Steps), from, to)
		out = append(out, smaller)
	}
	n := len(s.Steps)
	if n > 3 {
		without(n/2, n)
		without(0, n/2)
		without(n/4, n/2)
		without(n/2, n-n/4)
	}
	for i := n - 1; i >= 0 && n > 1; i-- {
		without(i, i+1)
	}
	return out
}
