// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/managers"
)

// failure is how a call of the kubelet's code failed to return, in the words that nrtd's reason for such a verdict has.
type failure string

const (
	hang  failure = "the kubelet would hang"
	crash failure = "the kubelet would panic"
)

// Limits of the CPU time of one call, and of the time that a call waits without using any: another goroutine of the managers
// has ended then, or holds a lock forever. A loaded machine does not make a call use more CPU time.
var cpuLimit = 100 * time.Second

const (
	loopLimit = 10 * time.Second // in the loop of K1 in scoring/DEFECTS.md
	waitLimit = 10 * time.Minute
	// userHZ is the unit of /proc/PID/stat.
	userHZ = 100
)

// survive calls the kubelet's code. It returns how the call failed, "" if it returned, and what it said. Go cannot end a call
// that hangs: the process is to be replaced.
func survive(call func()) (failure, string) {
	done := make(chan any, 1) // what the call panicked with
	thread := make(chan int, 1)
	var before time.Duration // what the thread had used for other calls
	go func() {
		runtime.LockOSThread() // the thread's CPU time is the call's
		defer runtime.UnlockOSThread()
		id := syscall.Gettid()
		before = cpuTime(id)
		thread <- id
		defer func() { done <- recover() }()
		call()
	}()
	id := <-thread
	begun := time.Now()
	for {
		select {
		case said := <-done:
			if said != nil {
				return crash, fmt.Sprint(said)
			}
			return "", ""
		case <-time.After(time.Second):
		}
		used := cpuTime(id) - before
		if used > cpuLimit || time.Since(begun) > waitLimit || (used > loopLimit && distributing()) {
			return hang, fmt.Sprintf("no answer after %v of CPU time", used.Round(time.Second))
		}
	}
}

// distributing tells whether the kubelet's code is distributing CPUs over NUMA nodes.
func distributing() bool {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Contains(stacks, []byte("cpumanager.takeByTopologyNUMADistributed"))
}

// cpuTime is what a thread of this process has used.
func cpuTime(thread int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
	if err != nil {
		return 0 // it has just ended
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	const user, system = 11, 12 // after the name
	ticks := 0
	for _, field := range fields[user : system+1] {
		count, _ := strconv.Atoi(field)
		ticks += count
	}
	return time.Duration(ticks) * time.Second / userHZ
}

// decision is what the managers make of a pod: a verdict, or a failure.
type decision struct {
	*managers.Verdict
	failure failure
	said    string // by the failure
}

// admit asks the managers about a pod, and survives their panics and endless loops.
func admit(m *managers.Managers, pod *v1.Pod) decision {
	var verdict *managers.Verdict
	failure, said := survive(func() { verdict = m.Admit(pod) })
	if failure != "" {
		verdict = &managers.Verdict{Pod: pod.Namespace + "/" + pod.Name} // the call may still go on
	}
	return decision{verdict, failure, said}
}

// errCrashed ends a sequence: the kubelet would be gone.
var errCrashed = errors.New("the kubelet's code panicked")

// end is the error that ends a sequence after a failure.
func (f failure) end() error {
	switch f {
	case hang:
		return differential.ErrStuck
	case crash:
		return errCrashed
	}
	return nil
}

// predicted tells whether a verdict of nrtd is that the kubelet fails in this way.
func (f failure) predicted(got fit) bool {
	return got.Admitted != nil && !*got.Admitted && strings.Contains(got.Reason, string(f))
}

// compareFailure compares how the kubelet's code failed with nrtd's verdicts. "Unknown" is no promise. nrtd does not model how the managers place
// a pod with pod-level resources: it may reject the pod because the node has too little, before it could say how the kubelet fails.
func (d *Driver) compareFailure(want decision, podLevel bool, verdicts ...fit) (differences []string) {
	predicted := true
	for _, got := range verdicts {
		predicted = predicted && want.failure.predicted(got)
		if got.Admitted != nil && !want.failure.predicted(got) && (*got.Admitted || !podLevel) {
			differences = append(differences, fmt.Sprintf("%s (%s), nrtd admitted %t (%s)", want.failure, want.said, *got.Admitted, got.Reason))
		}
	}
	d.Tally.count(want.failure, predicted)
	return differences
}
