// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/timing"
)

// How nrtd is run here, and what it is given.
const (
	poll  = 100 * time.Millisecond
	quiet = time.Second // the object is right so long after the last change at the latest
	grace = 60 * time.Millisecond
	// lifetime is how long a pod lives at least, and a kubelet runs before its file is edited. nrtd has looked at it by then.
	lifetime = 2 * poll
)

// Tally counts what was tried.
type Tally struct {
	Sequences, GivenUp, Steps, Admitted, Rejected, Cut, Restarts, Objects, Equal, Bounded int
	Done                                                                                  map[string]int
	Times                                                                                 map[string]Times // by source
}

// Times say how long after each step the object was right, and for how long after it one was there that has more than the
// kubelet has free, if so.
type Times struct{ Right, TooHigh []time.Duration }

func (t Times) String() string {
	return fmt.Sprintf("%v, %d times too high for %v", spread(t.Right), len(t.TooHigh), spread(t.TooHigh))
}

func spread(times []time.Duration) string {
	at := func(quantile float64) time.Duration {
		return timing.Quantile(times, quantile).Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v p99 %v max %v", at(0.5), at(0.99), at(1))
}

func (t Tally) String() string {
	return fmt.Sprintf("%d steps of %d sequences (%d ended by the kubelet's code), %v; %d pods admitted, %d rejected, %d cut off; %d objects; %d times equal, after %v; %d times only bounded",
		t.Steps, t.Sequences, t.GivenUp, t.Done, t.Admitted, t.Rejected, t.Cut, t.Objects, t.Equal, t.Times, t.Bounded)
}

// Driver plays sequences.
type Driver struct {
	Nrtd     string
	Managers string // the program
	Machines map[string]*kubelet.Machine
	Work     string // a short path: sockets live below it
	Slack    int64  // times longer may everything take, on a busy machine
	Goal     int    // no more sequences after so many steps; 0 = no end
	Coalesce string // nrtd's --coalesce
	Source   string // all sequences have this one; "" = their own
	Verbose  bool
	Tally    Tally
	runs     int
}

// player plays one.
type player struct {
	*Driver
	node
	nrtd    *publisher
	since   map[string]time.Time // when a pod was admitted
	want    Amounts              // what the kubelet has free
	also    Amounts              // what it had free on the way there
	lost    bool                 // nothing that nrtd reads tells of the pods that are to come back to a kubelet that starts
	torn    bool                 // an admission was cut off: until the kubelet is back nobody decides who has what it gave
	judged  int                  // objects
	newest  *object
	changed time.Time // when the last step was done
}

// Play plays a sequence. It returns what is wrong at the first step where something is.
func (d *Driver) Play(ctx context.Context, s Sequence) (wrong []string, err error) {
	if d.Tally.Done == nil {
		d.Tally.Done, d.Tally.Times = map[string]int{}, map[string]Times{}
	}
	if d.Source != "" {
		s.Source = d.Source
	}
	machine, known := d.Machines[s.Machine]
	if !known {
		return nil, fmt.Errorf("no machine %q here", s.Machine)
	}
	if d.Goal > 0 && d.Tally.Steps >= d.Goal {
		return nil, nil
	}
	d.runs++
	tree, err := daemon.New(d.Work, fmt.Sprint(d.runs), machine.Dir, d.Nrtd, "", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tree.Dir)
	p := &player{Driver: d, node: node{Node: tree, program: d.Managers, machine: machine.Dir, sequence: &s,
		completed: map[string]types.UID{}, pid: 1000}, since: map[string]time.Time{}}
	if err := os.RemoveAll(filepath.Join(tree.Dir, "proc/stat")); err != nil { // it may be the machine's own
		return nil, err
	}
	if _, err := kubelet.OfferPCI(tree.Dir, s.Devices); err != nil {
		return nil, err
	}
	d.Tally.Sequences++
	wrong, err = p.play(ctx)
	if errors.Is(err, errKubelet) {
		d.Tally.GivenUp++
		if d.Verbose {
			fmt.Println(err)
		}
		return nil, nil
	}
	if len(wrong) > 0 {
		wrong = append(wrong, "nrtd's log: "+p.nrtd.logged())
	}
	return wrong, err
}

func (p *player) play(ctx context.Context) ([]string, error) {
	if err := os.MkdirAll(p.Kubelet(), 0o755); err != nil {
		return nil, err
	}
	if err := p.writeConfig(p.sequence.Config); err != nil {
		return nil, err
	}
	defer func() {
		if p.kubelet != nil {
			p.kubelet.Kill()
		}
	}()
	if err := p.start(func() error { return nil }); err != nil {
		return nil, err
	}
	if err := p.settle(); err != nil {
		return nil, err
	}
	var err error
	if p.want, err = p.free(); err != nil {
		return nil, err
	}
	flags := []string{"--node-name", "node", "--sysroot", p.Dir, "--lock", "none", "--http", "off", "--coalesce", p.Coalesce, "--poll", poll.String()}
	switch p.sequence.Source {
	case files:
		flags = append(flags, "--pod-resources", "none")
	case api:
		flags = append(flags, "--state-files", "none", "--pod-resources", p.socket())
	default:
		flags = append(flags, "--pod-resources", p.socket())
	}
	if p.nrtd, err = publish(filepath.Join(p.Dir, "nrtd.log"), p.Nrtd, flags...); err != nil {
		return nil, err
	}
	defer p.nrtd.stop()
	if wrong, err := p.await("start", p.want); len(wrong) > 0 || err != nil {
		return at(-1, "start", wrong), err
	}
	for i, step := range slices.Concat(p.sequence.Steps, []Step{{Do: resume}, {Do: restart}}) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		wrong, err := p.step(step)
		if len(wrong) > 0 || err != nil {
			return at(i, step.Do+" "+step.Name, wrong), err
		}
	}
	return nil, nil
}

func at(i int, what string, wrong []string) []string {
	for j := range wrong {
		wrong[j] = fmt.Sprintf("step %d (%s): %s", i, what, wrong[j])
	}
	return wrong
}

// step does one and judges what nrtd publishes then.
func (p *player) step(step Step) ([]string, error) {
	if wrong, err := p.judge(p.want); len(wrong) > 0 || err != nil {
		return wrong, err
	}
	before := p.want
	p.also, p.lost = before, false
	did, err := p.do(step)
	if !did || err != nil {
		return nil, err
	}
	p.changed = time.Now()
	p.Tally.Steps++
	p.Tally.Done[step.Do]++
	if p.now == running {
		if p.want, err = p.free(); err != nil {
			return nil, err
		}
		if err := p.settle(); err != nil {
			return nil, err
		}
	}
	if wrong, err := p.await(step.Do, most(p.want, before, p.also)); len(wrong) > 0 || err != nil {
		return wrong, err
	}
	time.Sleep(time.Duration(step.Wait) * time.Millisecond)
	return nil, nil
}

// do does it, unless that is impossible as things are.
func (p *player) do(step Step) (bool, error) {
	switch step.Do {
	case resume:
		if p.now != paused {
			return false, nil
		}
		p.now = running
		p.kubelet.Signal(syscall.SIGCONT)
		return true, nil
	case restart, adopt:
		return p.doStart(step.Do)
	case edit:
		time.Sleep(time.Until(p.started.Add(lifetime)))
		return true, p.writeConfig(step.Config)
	case remove:
		// The kubelet writes a file twice a change, and what nrtd read last of it holds.
		time.Sleep(time.Until(p.decided.Add(3 * lifetime)))
		err := os.Remove(p.path(step.Name))
		if os.IsNotExist(err) {
			return false, nil
		}
		return true, err
	case quietly:
		return true, nil
	case kill:
		if p.now == dead {
			return false, nil
		}
		if err := p.heard(quiet * time.Duration(p.Slack)); err != nil {
			return false, err
		}
		return true, p.kill()
	}
	if p.now != running {
		return false, nil
	}
	return p.doRunning(step)
}

// doRunning does what takes a kubelet that runs.
func (p *player) doRunning(step Step) (bool, error) {
	switch step.Do {
	case pause:
		if err := p.heard(quiet * time.Duration(p.Slack)); err != nil {
			return false, err
		}
		p.now = paused
		p.kubelet.Signal(syscall.SIGSTOP)
		return true, nil
	case admit:
		admitted, err := p.admit(step.Pod)
		if admitted {
			p.since[step.Pod.Name] = time.Now()
			p.Tally.Admitted++
		} else {
			p.Tally.Rejected++
		}
		return true, err
	case cut:
		return true, p.doCut(step)
	case tidy:
		p.decided = time.Now()
		return true, p.ask(map[string]any{"tidyCPUs": true}, &struct{}{})
	case serve:
		return true, p.ask(map[string]any{"serve": true}, &struct{}{})
	}
	i := slices.IndexFunc(p.active, func(pod *v1.Pod) bool { return pod.Name == step.Name })
	_, done := p.completed[fullName(step.Name)]
	if i < 0 && !(done && step.Do == drop) {
		return false, nil
	}
	if i >= 0 {
		time.Sleep(time.Until(p.since[step.Name].Add(lifetime)))
		p.active = slices.Delete(p.active, i, i+1)
	}
	delete(p.completed, fullName(step.Name))
	if step.Do == complete {
		p.completed[fullName(step.Name)] = uidOf(step.Name)
	}
	return true, p.ask(map[string]any{step.Do: fullName(step.Name)}, &struct{}{})
}

// doCut kills the kubelet in the middle of an admission. The pod is there when it comes back, unless it was deleted.
func (p *player) doCut(step Step) error {
	admitted, died, err := p.admitAndDie(step.Pod, step.At)
	switch {
	case err != nil:
		return err
	case died:
		p.torn = true
		p.Tally.Cut++
		if !step.Gone {
			p.active = append(p.active, step.Pod)
		}
	case admitted:
		p.active = append(p.active, step.Pod)
		p.Tally.Admitted++
	default:
		p.Tally.Rejected++
		return p.passing()
	}
	p.since[step.Pod.Name] = time.Now()
	return nil
}

func (p *player) doStart(do string) (bool, error) {
	if p.now != dead {
		return false, nil
	}
	p.torn = false
	p.Tally.Restarts++
	p.lost = p.sequence.Source == api
	for _, path := range stateFiles {
		if _, err := os.Stat(p.path(path)); os.IsNotExist(err) {
			p.lost = true
		}
	}
	if do == adopt && p.edited != p.config {
		if err := p.drain(); err != nil {
			return false, err
		}
		err := p.start(p.told)
		if !errors.Is(err, errKubelet) {
			return true, err
		}
		// It does not start with such a file; somebody puts the old one back. What nrtd makes of that one's settings
		// until the next is there is nobody's.
		p.also, p.lost = Amounts{}, true
		if err := os.RemoveAll(filepath.Join(p.Dir, "proc", fmt.Sprint(p.pid))); err != nil {
			return false, err
		}
	}
	if p.edited != p.config {
		if err := p.writeConfig(p.config); err != nil {
			return false, err
		}
	}
	return true, p.start(p.told)
}

// told notes what the kubelet has while the pods come back to it after its start. Until they have, it knows of them from
// its state files alone: the API does not list them.
func (p *player) told() error {
	if !p.lost {
		return nil
	}
	free, err := p.free()
	p.also = most(free, p.also)
	return err
}

// judge holds the objects that have come since against a bound.
func (p *player) judge(bound Amounts) ([]string, error) {
	objects, err := p.nrtd.since(p.judged)
	if err != nil {
		return []string{err.Error()}, nil
	}
	for i := range objects {
		p.judged++
		p.newest = &objects[i]
		p.Tally.Objects++
		if wrong := p.newest.amounts.higher(bound); wrong != "" {
			return []string{wrong}, nil
		}
	}
	return nil, nil
}

// tellsAll tells whether nrtd's source can tell what the kubelet has free: the files do not say that a pod is completed,
// or that the one in them was not admitted.
func (p *player) tellsAll() bool {
	return !p.torn && (p.sequence.Source != files || len(p.completed) == 0)
}

// tooHigh is how long after the last step an object was there that has more than the kubelet has free. Every object
// counts: that one which was there before the step, and those from the n-th on.
func (p *player) tooHigh(was *object, n int) (until time.Duration) {
	objects, _ := p.nrtd.since(n)
	for i := range objects {
		if was != nil && was.amounts.higher(p.want) != "" {
			until = max(until, objects[i].at.Sub(p.changed))
		}
		was = &objects[i]
	}
	return until
}

// await waits until the newest object is as the kubelet's managers have it. On the way none may have more than the bound.
func (p *player) await(what string, bound Amounts) ([]string, error) {
	begun := time.Now()
	first, was := p.judged, p.newest
	for settled := begun; ; {
		// A device plugin's registration has its manager write a file later than the start that it belongs to.
		if time.Since(settled) > 2*poll {
			settled = time.Now()
			if err := p.settle(); err != nil {
				return nil, err
			}
		}
		if wrong, err := p.judge(bound); len(wrong) > 0 || err != nil {
			return wrong, err
		}
		took := time.Since(begun)
		wrong := "nothing is published"
		if p.newest != nil {
			wrong = p.newest.amounts.higher(p.want)
			if wrong == "" {
				wrong = p.newest.amounts.different(p.want, p.tellsAll())
			}
			// An object of what nrtd saw on the way may be still to come.
			if wrong == "" && (p.lost || !p.tellsAll()) && took < 2*poll+grace {
				wrong = "it was not waited for another"
			}
		}
		if wrong == "" {
			high := p.tooHigh(was, first)
			times := p.Tally.Times[p.sequence.Source]
			times.Right = append(times.Right, took)
			if high > 0 {
				times.TooHigh = append(times.TooHigh, high)
			}
			p.Tally.Times[p.sequence.Source] = times
			if p.Verbose {
				fmt.Printf("%s %s: right after %v, too high until %v\n", p.sequence.Source, what, took, high)
			}
			if p.tellsAll() {
				p.Tally.Equal++
			} else {
				p.Tally.Bounded++
			}
			return nil, nil
		}
		if took > quiet*time.Duration(p.Slack) {
			return []string{fmt.Sprintf("%v after: %s", took.Round(time.Millisecond), wrong)}, nil
		}
		time.Sleep(time.Millisecond)
	}
}
