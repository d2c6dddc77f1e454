// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// How long the object may take to be what the cgroups say, and how long it must stay so.
const (
	settleLimit = 2 * time.Minute
	settledFor  = 2 * time.Second
)

// Test goes through the steps on one node and says what it finds.
type Test struct {
	Node    string
	Pods    Pods
	Sampler *Sampler
	Out     io.Writer

	Writes      *Writes
	Published   func(since time.Time) []time.Time // when new versions of the object came
	Repetitions int                               // of what is measured

	Passed, Failed int
}

// Step does something, waits until all is quiet, and compares.
func (t *Test) Step(name string, do func() error) bool {
	began := time.Now()
	t.Sampler.Begin(name)
	defer t.Sampler.Changed()
	if err := do(); err != nil {
		t.fail(name, err.Error())
		return false
	}
	done := time.Now()
	for {
		different, since, containers := t.Sampler.State()
		if !since.IsZero() && different == "" && time.Since(since) > settledFor && time.Since(done) > settledFor {
			t.Passed++
			fmt.Fprintf(t.Out, "ok   %s (%.1f s; %s)\n", name, time.Since(began).Seconds(), held(containers))
			if after := since.Sub(done); after > time.Second {
				fmt.Fprintf(t.Out, "     right after %.1f s, before: %s\n", after.Seconds(), t.Sampler.Last())
			}
			return true
		}
		if time.Since(done) > settleLimit {
			t.fail(name, fmt.Sprintf("the object is not right after %v: %s\n     by the cgroups: %s", settleLimit, different, held(containers)))
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (t *Test) fail(name, said string) {
	t.Failed++
	fmt.Fprintf(t.Out, "FAIL %s at %s\n     %s\n", name, time.Now().Format("15:04:05.000"), said)
}

// Check counts what is no step.
func (t *Test) Check(name string, err error) {
	if err != nil {
		t.fail(name, err.Error())
		return
	}
	t.Passed++
	fmt.Fprintln(t.Out, "ok  ", name)
}

// held says what the containers have.
func held(containers []Container) string {
	var parts []string
	for _, container := range containers {
		part := container.Pod + "/" + container.Name
		if !container.running {
			part += " (ended)"
		}
		if !container.CPUs.IsEmpty() {
			part += " CPUs " + container.CPUs.String()
		}
		if container.Bytes["memory"] > 0 && !container.Memory.IsEmpty() {
			part += " memory of " + container.Memory.String()
		}
		if len(container.Devices) > 0 {
			part += " " + strings.Join(container.Devices, ",")
		}
		parts = append(parts, part)
	}
	sort.Strings(parts)
	if len(parts) == 0 {
		return "no containers"
	}
	return strings.Join(parts, ", ")
}

// pod starts one and waits until it is in that state.
func (t *Test) pod(ctx context.Context, state string, pod *v1.Pod) func() error {
	return func() error {
		if err := t.Pods.Create(ctx, pod); err != nil {
			return err
		}
		return t.Pods.Wait(ctx, pod.Name, state, State)
	}
}

// gone deletes pods and waits until they are gone.
func (t *Test) gone(ctx context.Context, names ...string) func() error {
	return func() error {
		for _, name := range names {
			if err := t.Pods.Delete(ctx, name); err != nil {
				return err
			}
		}
		for _, name := range names {
			if err := t.Pods.Wait(ctx, name, "gone", State); err != nil {
				return err
			}
		}
		return nil
	}
}

// shell runs a line, with what it says in the error.
func shell(line string) error {
	output, err := exec.Command("/bin/sh", "-ec", line).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// kubelet changes what is to be changed while the kubelet does not run, and waits until the next one is ready.
func (t *Test) kubelet(stop string, changes ...string) func() error {
	return func() error {
		if err := shell(stop); err != nil {
			return err
		}
		for _, change := range changes {
			if err := shell(change); err != nil {
				return err
			}
		}
		if err := shell("systemctl start kubelet"); err != nil {
			return err
		}
		return t.KubeletReady()
	}
}

// KubeletReady waits until the kubelet serves its pod-resources API and answers.
func (t *Test) KubeletReady() error {
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(300 * time.Millisecond) {
		if shell("bash -c 'exec 3<>/dev/tcp/127.0.0.1/10248; printf \"GET /healthz HTTP/1.0\\r\\n\\r\\n\" >&3; grep -q \"200 OK\" <&3'") == nil {
			return nil
		}
	}
	return fmt.Errorf("the kubelet is not healthy: %s", tail("journalctl -u kubelet -n 5 -o cat"))
}

func tail(line string) string {
	output, _ := exec.Command("/bin/sh", "-c", line).CombinedOutput()
	return strings.TrimSpace(string(output))
}

// write puts text into a file.
func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
