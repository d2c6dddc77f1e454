// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nrtd.dev/tests/upstream/internal/managers"
)

const (
	// shortTime is the time below which neither the prediction nor the measurement counts: calls of device plugins and writing the state
	// files take some ten milliseconds, which nrtd does not predict.
	shortTime = 250 * time.Millisecond
	// timeFactor is the largest factor between the prediction and the measurement.
	timeFactor = 3
	// drawsPerTime bounds how many sequences are drawn for each one that is compared.
	drawsPerTime = 40
)

// Times compares the time that nrtd predicts for a pod with the CPU time of the managers.
type Times struct {
	Driver   *Driver
	Machines map[string]*Machine
	Seed     uint64
	Cases    int           // how many pods are compared
	Longest  time.Duration // pods with a longer prediction are not admitted, except the last one
	Out      io.Writer
}

// prediction is what `nrtd fit -o json` prints about the kubelet's time.
type prediction struct {
	Admitted            *bool
	Rejection           string
	KubeletMilliseconds *int64
	HintPermutations    *int64
}

// Run compares Cases pods for which the managers need a noticeable time, and returns how many differ. It ends with a pod for which
// they need much longer: its admission is still under way when the process ends.
func (t *Times) Run(ctx context.Context) (failed int, err error) {
	suitable := map[string]*Machine{}
	for name, machine := range t.Machines {
		// With ids that have holes the managers panic (K7).
		if n := machine.nodes(); n >= 3 && n <= maxNUMANodes && slices.Max(machine.nodeIDs()) == n-1 {
			suitable[name] = machine
		}
	}
	if len(suitable) == 0 {
		return 0, errors.New("no machine has 3 to 8 NUMA nodes without holes in their ids")
	}
	fmt.Fprintf(t.Out, "kubelet's time: seed %d\n", t.Seed)
	compared, worst := 0, 1.0
	var beyond *Case
	for i := 0; compared < t.Cases && i < drawsPerTime*t.Cases; i++ {
		c := slowCase(rand.New(rand.NewPCG(t.Seed, uint64(i))), suitable)
		r, err := t.play(ctx, c, t.Longest)
		if err != nil {
			return failed, fmt.Errorf("seed %d case %d: %w", t.Seed, i, err)
		}
		if r.predicted > max(t.Longest, 15*time.Second) && beyond == nil {
			beyond = &c
		}
		if !r.played || max(r.predicted, r.measured) < shortTime {
			continue
		}
		compared++
		factor := max(r.predicted.Seconds()/r.measured.Seconds(), r.measured.Seconds()/r.predicted.Seconds())
		worst = max(worst, factor)
		if factor > timeFactor {
			failed++
			text, _ := json.Marshal(c)
			fmt.Fprintf(t.Out, "not ok kubelet's time: case %d: predicted %v, measured %v of CPU time (%d permutations)\n  | %s\n", i, r.predicted, r.measured, r.permutations, text)
		}
	}
	fmt.Fprintf(t.Out, "kubelet's time: %d pods of at least %v compared, the largest factor is %.1f\n", compared, shortTime, worst)
	if compared < t.Cases {
		return failed, fmt.Errorf("only %d of %d pods were found", compared, t.Cases)
	}
	if beyond == nil {
		return failed, errors.New("no pod takes longer than the longest time")
	}
	return failed, t.tooSlow(ctx, *beyond)
}

// result is the prediction for the last pod of a sequence, and unless that is longer than the longest time, the measurement.
type result struct {
	predicted, measured time.Duration
	permutations        int64
	played              bool
}

func (t *Times) play(ctx context.Context, c Case, longest time.Duration) (r result, err error) {
	machine := t.Machines[c.Machine]
	name, root, removeFolders, err := t.Driver.folders(machine)
	if err != nil {
		return r, err
	}
	defer removeFolders()
	remove, err := OfferPCI(machine.Dir, c.Devices)
	defer remove()
	if err != nil {
		return r, err
	}
	m, err := start(ctx, root, machine, c)
	if err != nil {
		return r, nil // as a kubelet would not start with these settings
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	for _, step := range c.Steps {
		if err := settle(m, machine); err != nil {
			return r, err
		}
		got, err := t.Driver.ask(ctx, m, machine, name, step.Admit)
		if err != nil {
			return r, err
		}
		var p prediction
		if err := json.Unmarshal(got.said, &p); err != nil {
			return r, err
		}
		if p.KubeletMilliseconds == nil {
			return r, nil // no verdict
		}
		r = result{predicted: time.Duration(min(*p.KubeletMilliseconds, int64(time.Hour/time.Millisecond))) * time.Millisecond,
			permutations: *p.HintPermutations}
		if r.predicted > longest {
			return r, nil
		}
		runtime.GC()
		before := processCPU()
		m.Admit(step.Admit)
		r.measured, r.played = processCPU()-before, true
	}
	return r, nil
}

// tooSlow begins to admit a pod that takes far too long, and fails if the managers answer within a third of the longest time.
func (t *Times) tooSlow(ctx context.Context, c Case) error {
	answered := make(chan error, 1)
	before := processCPU()
	go func() {
		_, err := t.play(ctx, c, time.Duration(1<<62))
		answered <- err
	}()
	for processCPU()-before < 5*time.Second {
		select {
		case err := <-answered:
			return fmt.Errorf("the managers answered at once for a pod that should take them long (%v)", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// processCPU is the CPU time of all threads of this process.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// slowCase draws settings and pods for which the Topology Manager may have many permutations of hints.
func slowCase(r *rand.Rand, machines map[string]*Machine) Case {
	name := pick(r, slices.Sorted(maps.Keys(machines))...)
	m := machines[name]
	c := Case{Machine: name, Config: randomConfig(r, m)}
	c.Config.FeatureGates = map[string]bool{"CPUManagerPolicyAlphaOptions": true}
	c.Config.TopologyManagerPolicy = pick(r, "best-effort", "restricted", "restricted", "single-numa-node")
	c.Config.CPUManagerPolicy = "static"
	c.Config.CPUManagerPolicyOptions = nil
	// About as many resources as take the managers from some milliseconds to some minutes.
	resources := []string{"vendor.com/a", "vendor.com/b", "vendor.com/c", "vendor.com/d", "vendor.com/e", "vendor.com/f", "vendor.com/g"}
	for _, resource := range resources[:min(len(resources), max(0, 24/m.nodes()-2+r.IntN(3)))] {
		d := managers.Devices{Resource: resource}
		for _, node := range m.nodeIDs() {
			if chance(r, 85) {
				d.NUMA = append(d.NUMA, slices.Repeat([][]int{{node}}, 1+r.IntN(2))...)
			}
		}
		if len(d.NUMA) > 0 {
			c.Devices = append(c.Devices, d)
		}
	}
	for i := range r.IntN(4) {
		c.Steps = append(c.Steps, Step{Admit: slowPod(r, m, fmt.Sprintf("before-%d", i), nil, 1)})
	}
	c.Steps = append(c.Steps, Step{Admit: slowPod(r, m, "slow", c.Devices, 1+r.IntN(3))})
	return c
}

// slowPod draws a Guaranteed pod whose containers request most of the devices.
func slowPod(r *rand.Rand, m *Machine, name string, devices []managers.Devices, containers int) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	perNode := max(1, m.cpus()/m.nodes())
	for i := range containers {
		limits := v1.ResourceList{
			v1.ResourceCPU:    *resource.NewQuantity(int64(pick(r, 1, 2, perNode/2+1, perNode+1, 2*perNode)), resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(int64(m.Info.MemoryCapacity)/int64(m.nodes())*int64(1+r.IntN(10))/16, resource.BinarySI)}
		for _, d := range devices {
			if chance(r, 85) {
				limits[v1.ResourceName(d.Resource)] = *resource.NewQuantity(int64(pick(r, 1, 1, 2)), resource.DecimalSI)
			}
		}
		container := v1.Container{Name: fmt.Sprintf("c-%d", i), Image: "none",
			Resources: v1.ResourceRequirements{Limits: limits, Requests: limits.DeepCopy()}}
		if i > 0 && chance(r, 30) {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
	}
	return pod
}
