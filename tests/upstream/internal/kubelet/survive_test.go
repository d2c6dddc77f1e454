// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSurvive: a call that panics or loops is a failure, and a call that only waits is not.
func TestSurvive(t *testing.T) {
	usual := cpuLimit
	cpuLimit = 300 * time.Millisecond
	defer func() { cpuLimit = usual }()
	var stop atomic.Bool
	defer stop.Store(true)
	for _, test := range []struct {
		name string
		call func()
		want failure
		said string
	}{
		{"returns", func() {}, "", ""},
		{"waits", func() { time.Sleep(2 * time.Second) }, "", ""},
		{"panics", func() { panic("index out of range") }, crash, "index out of range"},
		{"loops", func() {
			for !stop.Load() {
			}
		}, hang, "no answer"},
	} {
		if got, said := survive(test.call); got != test.want || !strings.HasPrefix(said, test.said) {
			t.Errorf("a call that %s: %q (%s), want %q", test.name, got, said, test.want)
		}
	}
}

// TestFailureOfTheKubelet: nrtd must predict the failure or have no verdict; a plain rejection is another decision.
func TestFailureOfTheKubelet(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		got       fit
		podLevel  bool
		differs   bool
		predicted bool
	}{
		{fit{Admitted: &yes}, false, true, false},
		{fit{Admitted: &yes}, true, true, false},
		{fit{Admitted: &no, Reason: "container 'a': not enough CPUs"}, false, true, false},
		{fit{Admitted: &no, Reason: "cpu: 17 wanted, the node has at most 9 left"}, true, false, false},
		{fit{Admitted: &no, Reason: "container 'a': the kubelet would panic: x"}, false, true, false},
		{fit{Admitted: &no, Reason: "container 'a': the kubelet would hang: x"}, false, false, true},
		{fit{}, false, false, false},
	} {
		d := &Driver{}
		differences := d.compareFailure(decision{failure: hang}, test.podLevel, test.got)
		if (len(differences) > 0) != test.differs || d.Tally.Hangs != 1 || (d.Tally.HangsPredicted == 1) != test.predicted {
			t.Errorf("%+v: %q, %d hangs, %d predicted", test.got, differences, d.Tally.Hangs, d.Tally.HangsPredicted)
		}
	}
}
