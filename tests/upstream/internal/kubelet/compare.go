// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"nrtd.dev/tests/upstream/internal/apply"
	"nrtd.dev/tests/upstream/internal/managers"
	"sigs.k8s.io/yaml"
)

// Nrtd is the program under test.
type Nrtd struct{ Path string }

// run runs nrtd and returns its standard output. `nrtd fit` exits with 3 when the answer is no, with 1 when it has none.
func (n *Nrtd) run(ctx context.Context, args ...string) ([]byte, error) {
	text, _, err := n.runBoth(ctx, args...)
	return text, err
}

// runBoth returns what it says on standard error as well.
func (n *Nrtd) runBoth(ctx context.Context, args ...string) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, n.Path, args...)
	var said strings.Builder
	command.Stderr = &said
	text, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if len(text) > 0 && (exit.ExitCode() == 1 || exit.ExitCode() == 3) {
			return text, said.String(), nil
		}
		return nil, "", fmt.Errorf("nrtd %s: %w: %s", args[0], err, said.String())
	}
	return text, said.String(), err
}

// Release is the release of the kubelet's code in this program.
func Release() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version
		}
	}
	panic("this program has no kubelet in it")
}

// fit is what `nrtd fit -o json` prints, as far as it is compared.
type fit struct {
	Admitted   *bool
	Reason     string
	Rejection  string
	Containers []managers.Container
	Unchecked  []string // device resources that nrtd did not look at
	WhatFrees  *whatFrees
	Nearest    *nearest
	said       []byte // all of it
}

// Tally counts what was compared.
type Tally struct {
	Sequences, Refused, Wrong, Chance, Admitted, Rejected, Unseen, Unknown, UnknownKnowing, Amounts, Freed, Fewer, Nearest, Objects, Stored, Resized int
	// How the kubelet's code failed; nrtd has predicted so many of these.
	Hangs, HangsPredicted, Panics, PanicsPredicted, ResizesFailed int
}

func (t *Tally) count(f failure, predicted bool) {
	all, told := &t.Hangs, &t.HangsPredicted
	if f == crash {
		all, told = &t.Panics, &t.PanicsPredicted
	}
	*all++
	if predicted {
		*told++
	}
}

func (t Tally) String() string {
	return fmt.Sprintf("%d sequences (%d more refused by the kubelet; in %d it gave a CPU away twice, in %d the kubelet itself answers one way or the other), %d hangs of the kubelet (nrtd predicted %d), %d panics (nrtd predicted %d), %d more sequences ended by a resize that it does not survive; %d pods admitted, %d rejected (%d more for the shared pool's use), nrtd had no answer for %d (with the pods API %d); %d amounts of NUMA nodes; %d sets of pods to move, %d of one pod fewer; %d smaller pods that fit; %d verdicts from the published object alone (%d of them stored by the API server and read back); %d containers resized in place",
		t.Sequences, t.Refused, t.Wrong, t.Chance, t.Hangs, t.HangsPredicted, t.Panics, t.PanicsPredicted, t.ResizesFailed, t.Admitted, t.Rejected, t.Unseen, t.Unknown, t.UnknownKnowing, t.Amounts, t.Freed, t.Fewer, t.Nearest, t.Objects, t.Stored, t.Resized)
}

// Driver compares sequences.
type Driver struct {
	Nrtd     *Nrtd
	Machines map[string]*Machine
	Maker    *Maker        // of drawn machines, or nil
	Work     string        // a short path: sockets live below it
	Verdict  string        // tests/upstream/verdict, or nothing
	Sample   bool          // after a step nrtd is given one of the sources to read, not each
	Server   *apply.Client // stores some of the objects, or nil
	Tally    Tally
	runs     int
}

// Compare compares one sequence. Which of the devices that suit a container equally it gets is left to the order of a map
// in the kubelet; what the pod's next container finds then hangs on chance. A difference in a case where containers of
// one pod ask for the same kind of device counts only if the kubelet's answer is never nrtd's.
func (d *Driver) Compare(ctx context.Context, c Case) ([]string, error) {
	differences, err := d.compareOnce(ctx, c)
	if err != nil || len(differences) == 0 || !sharesDevices(c) {
		return differences, err
	}
	tally := d.Tally
	for range replays {
		again, err := d.compareOnce(ctx, c)
		d.Tally = tally
		if err != nil {
			return nil, err
		}
		if len(again) == 0 {
			d.Tally.Chance++
			return nil, nil
		}
	}
	return differences, nil
}

// replays is how often a sequence is repeated to see whether the kubelet's answer is always the same.
const replays = 24

// sharesDevices tells whether two containers of one pod ask for devices of the same resource.
func sharesDevices(c Case) bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		if s.Admit == nil {
			return false
		}
		return slices.ContainsFunc(c.Devices, func(d managers.Devices) bool {
			asking := 0
			for _, container := range slices.Concat(s.Admit.Spec.InitContainers, s.Admit.Spec.Containers) {
				if _, asked := container.Resources.Limits[v1.ResourceName(d.Resource)]; asked {
					asking++
				}
			}
			return asking > 1
		})
	})
}

// compareOnce plays the sequence to the real managers; before each pod nrtd is asked about it, with the state files that
// the managers have written up to then. It returns the differences of the first step that has any.
func (d *Driver) compareOnce(ctx context.Context, c Case) (differences []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	machine, differences, err := d.machineOf(ctx, c)
	if err != nil || len(differences) > 0 {
		return differences, err
	}
	name, root, removeFolders, err := d.folders(machine)
	if err != nil {
		return nil, err
	}
	defer removeFolders()
	remove, err := OfferPCI(machine.Dir, c.Devices)
	defer remove()
	if err != nil {
		return nil, err
	}
	var m *managers.Managers
	if failed, _ := survive(func() { m, err = start(ctx, root, machine, c) }); failed != "" || err != nil {
		d.Tally.Refused++ // as a kubelet would not start with these settings
		if failed == hang {
			return nil, failed.end()
		}
		return nil, nil
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	d.Tally.Sequences++
	counted := false
	var refused *v1.Pod
	for i, step := range c.Steps {
		var found []string
		if err := settle(m, machine); err != nil {
			return nil, err
		}
		switch {
		case step.Remove != "":
			m.Drop("default/" + step.Remove) // it is not there if it was rejected
		case step.Complete != "":
			m.Complete("default/" + step.Complete)
		case step.Resize != nil:
			var done bool
			failed, _ := survive(func() { done, _ = m.Resize("default/"+step.Resize.Pod, step.Resize.Container, step.Resize.Amounts) })
			if err = failed.end(); err != nil {
				d.Tally.ResizesFailed++
			} else if done {
				d.Tally.Resized++
			}
		default:
			var admitted bool
			found, admitted, err = d.compareStep(ctx, m, machine, name, step.Admit)
			if !admitted {
				refused = step.Admit
			}
		}
		if err == nil && step.TidyCPUs {
			m.TidyCPUs()
		}
		if err == nil && !counted {
			if _, counted = m.Exclusive(); counted {
				d.Tally.Wrong++
			}
		}
		if err == nil && len(found) == 0 {
			found, err = d.compareAmounts(ctx, m, machine, name, c.Devices, d.sourcesAfter(step))
		}
		for j := range found {
			found[j] = fmt.Sprintf("step %d: %s", i, found[j])
		}
		if errors.Is(err, errCrashed) {
			return found, nil
		}
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	if refused == nil || counted {
		return nil, nil
	}
	if d.Tally.Sequences%3 == 0 { // each is a sequence of its own
		differences, err = d.compareNearest(ctx, m, machine, name, c, refused)
	}
	if err == nil && len(differences) == 0 {
		differences, err = d.compareFrees(ctx, m, machine, name, c, refused)
	}
	if errors.Is(err, errCrashed) {
		err = nil
	}
	return differences, err
}

// machineOf is the machine of a case; if it is a drawn one, with the differences that nrtd and the kubelet see in it.
func (d *Driver) machineOf(ctx context.Context, c Case) (*Machine, []string, error) {
	if c.Spec != "" {
		return d.Maker.Machine(ctx, c.Spec)
	}
	machine, known := d.Machines[c.Machine]
	if !known {
		return nil, nil, fmt.Errorf("no machine %q here", c.Machine)
	}
	return machine, nil, nil
}

// folders makes the kubelet's root directory below the machine, where nrtd looks for it, and a link to it: the paths of
// sockets have to be short. It returns the directory's name and the link.
func (d *Driver) folders(machine *Machine) (name, root string, remove func(), err error) {
	d.runs++
	name = fmt.Sprintf("kubelet-%d-%d", os.Getpid(), d.runs)
	inside := filepath.Join(machine.Dir, name)
	root = filepath.Join(d.Work, fmt.Sprint(d.runs))
	if err := os.Mkdir(inside, 0o755); err != nil {
		return "", "", nil, err
	}
	if err := os.Symlink(inside, root); err != nil {
		return "", "", nil, errors.Join(err, os.RemoveAll(inside))
	}
	return name, root, func() {
		os.Remove(root)
		os.RemoveAll(inside)
	}, nil
}

func start(ctx context.Context, root string, machine *Machine, c Case) (*managers.Managers, error) {
	text, err := yaml.Marshal(c.Config)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, "config.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	config, err := managers.LoadConfig(path)
	if err != nil {
		return nil, err
	}
	m, err := managers.Start(ctx, root, machine.Info, config)
	if err != nil {
		return nil, err
	}
	for _, devices := range c.Devices {
		if err := m.Register(ctx, devices); err != nil {
			return nil, errors.Join(err, m.Stop())
		}
	}
	return m, nil
}

// ask is what `nrtd fit` says of the pod.
func (d *Driver) ask(ctx context.Context, m *managers.Managers, machine *Machine, root string, pod *v1.Pod, more ...string) (got fit, err error) {
	stored := pod.DeepCopy()
	if stored.UID == "" {
		stored.UID = "asked" // a pod that the API server has accepted, whatever it requests
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return got, err
	}
	path := filepath.Join(m.Root, "pod.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return got, err
	}
	got.said, err = d.Nrtd.run(ctx, slices.Concat([]string{"fit", "-f", path}, look(m, machine, root), more)...)
	if err != nil {
		return got, err
	}
	return got, json.Unmarshal(got.said, &got)
}

// look is where nrtd finds the kubelet, and how it prints.
func look(m *managers.Managers, machine *Machine, root string) []string {
	args := []string{"--sysroot", machine.Dir, "--kubelet-root", "/" + root,
		"--kubelet-config", "/" + root + "/config.yaml", "--kubelet-version", Release(), "-o", "json"}
	if len(m.Completed()) > 0 { // the files do not tell that they have ended
		args = append(args, "--pod-resources", socketOf(m))
	}
	return args
}

func (d *Driver) compareStep(ctx context.Context, m *managers.Managers, machine *Machine, root string, pod *v1.Pod) (differences []string, admitted bool, err error) {
	got, err := d.ask(ctx, m, machine, root, pod)
	if err != nil {
		return []string{err.Error()}, false, nil
	}
	if found, err := d.compareObject(ctx, m, look(m, machine, root), got.said); err != nil || len(found) > 0 {
		return found, false, err
	}
	var knowing fit // of every pod's requests
	if managers.PodsAPI {
		if knowing, err = d.ask(ctx, m, machine, root, pod, "--pods-api", filepath.Join(m.Root, "pods-api", "pods-api.sock")); err != nil {
			return []string{err.Error()}, false, nil
		}
	}
	lack := lackOf(m, pod)
	want := admit(m, pod)
	if want.failure != "" {
		verdicts := []fit{got}
		if managers.PodsAPI {
			verdicts = append(verdicts, knowing)
		}
		return d.compareFailure(want, pod.Spec.Resources != nil, verdicts...), false, want.failure.end()
	}
	if want.Admitted {
		d.Tally.Admitted++
	} else {
		d.Tally.Rejected++
	}
	if hang.predicted(got) || crash.predicted(got) {
		return []string{fmt.Sprintf("kubelet admitted %t (%s: %s), nrtd predicts a failure: %s", want.Admitted, want.Reason, want.Message, got.Reason)}, want.Admitted, nil
	}
	short, isShort := strings.CutPrefix(want.Reason, "OutOf")
	unseen := isShort && !lack.surely[short]
	if managers.PodsAPI && knowing.Admitted != nil && *knowing.Admitted != want.Admitted &&
		!(unseen && managers.ResizesExclusive() && lack.explains(knowing)) {
		return []string{fmt.Sprintf("kubelet admitted %t (%s: %s), nrtd with the pods API %t (%s)", want.Admitted, want.Reason, want.Message, *knowing.Admitted, knowing.Reason)}, want.Admitted, nil
	}
	if managers.PodsAPI && knowing.Admitted == nil {
		d.Tally.UnknownKnowing++
	}
	if got.Admitted == nil {
		d.Tally.Unknown++
		return nil, want.Admitted, nil
	}
	if unseen && lack.explains(got) {
		d.Tally.Unseen++
		return nil, want.Admitted, nil
	}
	if *got.Admitted != want.Admitted {
		return []string{fmt.Sprintf("kubelet admitted %t (%s: %s), nrtd %t (%s)", want.Admitted, want.Reason, want.Message, *got.Admitted, got.Reason)}, want.Admitted, nil
	}
	if !want.Admitted {
		// The first of several reasons counts, and devices come first.
		if !sameReason(want.Reason, got.Rejection, lack) && len(got.Unchecked) == 0 {
			return []string{fmt.Sprintf("kubelet rejects by %s (%s), nrtd by %q (%s)", want.Reason, want.Message, got.Rejection, got.Reason)}, want.Admitted, nil
		}
		return nil, want.Admitted, nil
	}
	return compareContainers(want.Containers, got.Containers), true, nil
}

// sameReason compares reasons. The kubelet looks at CPUs, then memory, then the other resources in no order: of those
// that lack, each is as good. nrtd names no reason where it knows that the node is short, but not whether the managers,
// who are asked first, refuse the pod too.
func sameReason(want, got string, lack lack) bool {
	short := lack.surely
	if want == got || (got == "" && len(lack.maybe) > 0) {
		return true
	}
	wanted, isShort := strings.CutPrefix(want, "OutOf")
	said, saysShort := strings.CutPrefix(got, "OutOf")
	first := func(name string) bool { return name == string(v1.ResourceCPU) || name == string(v1.ResourceMemory) }
	return isShort && saysShort && !first(wanted) && !first(said) && short[said]
}

// lack tells of which resources the node has too little for the pod even if pods that hold nothing exclusively used
// nothing: only of those can nrtd know.
type lack struct {
	surely map[string]bool
	maybe  map[string]bool // surely, or only if what init containers left behind counts
}

// explains tells whether the answer is right as far as nrtd can know: an admission of a pod for which there is room in
// any case, or a rejection by a resource that is short in any case.
func (l lack) explains(got fit) bool {
	if *got.Admitted {
		return len(l.maybe) == 0
	}
	said, saysShort := strings.CutPrefix(got.Rejection, "OutOf")
	return saysShort && l.surely[said]
}

func lackOf(m *managers.Managers, pod *v1.Pod) lack {
	pod = pod.DeepCopy()
	corev1defaults.SetObjectDefaults_Pod(pod)
	l := lack{map[string]bool{}, map[string]bool{}}
	for name, amount := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		most, least := m.Held(name)
		short := func(held int64) bool {
			left := m.Allocatable(name)
			left.Sub(*resource.NewQuantity(held, resource.DecimalSI))
			return !amount.IsZero() && left.Cmp(amount) < 0
		}
		if short(least) {
			l.surely[string(name)] = true
		}
		if short(most) {
			l.maybe[string(name)] = true
		}
	}
	return l
}

// compareContainers compares what the containers got, by name. Which devices of several equal ones a container gets is
// left to the kubelet's random order, so devices are not compared.
func compareContainers(want, got []managers.Container) []string {
	var differences []string
	byName := map[string]managers.Container{}
	for _, c := range got {
		byName[c.Name] = c
	}
	for _, w := range want {
		g, told := byName[w.Name]
		w.Devices = nil
		if len(w.MemoryNodes) == 0 {
			w.MemoryNodes = nil
		}
		if len(g.MemoryNodes) == 0 {
			g.MemoryNodes = nil
		}
		if !told || !reflect.DeepEqual(w, g) {
			differences = append(differences, fmt.Sprintf("container %s: kubelet %+v, nrtd %+v (told %t)", w.Name, w, g, told))
		}
	}
	return differences
}
