// SPDX-License-Identifier: Apache-2.0

// Package timing measures how long a function takes, and says what was measured in a form that another program can
// repeat.
package timing

import (
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Case is one question: its input, the answer, and how long the real code took for it.
type Case struct {
	Name   string  `json:"name"`
	GoNS   float64 `json:"goNs"`
	Runs   int     `json:"runs"`          // timed runs, of which GoNS is the median
	Fit    any     `json:"fit,omitempty"` // one of these three is set
	Merge  any     `json:"merge,omitempty"`
	Assign any     `json:"assign,omitempty"`
}

const (
	samples = 7
	sample  = 60 * time.Millisecond // how long one timed run lasts at least
	once    = 2 * time.Second       // what takes longer is run once
)

// Measure fills GoNS and Runs: the median of several runs, each of many calls; of a slow function one call.
func (c *Case) Measure(f func()) {
	took := run(f, 1)
	if took > once {
		c.GoNS, c.Runs = float64(took.Nanoseconds()), 1
		return
	}
	calls := 1
	for took < sample {
		calls *= 2
		took = run(f, calls)
	}
	var list []float64
	for range samples {
		list = append(list, float64(run(f, calls).Nanoseconds())/float64(calls))
	}
	slices.Sort(list)
	c.GoNS, c.Runs = list[samples/2], samples
}

// run says what CPU time the calling thread took. Other programs do not disturb that, and what the garbage collector
// does beside it on another CPU is not held against the code.
func run(f func(), calls int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	for range calls {
		f()
	}
	return threadTime() - start
}

func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Quantile of some times; 0 of none.
func Quantile(times []time.Duration, quantile float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(quantile*float64(len(sorted))), len(sorted)-1)]
}
