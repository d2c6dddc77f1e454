// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"encoding/json"
	"os"
	"slices"
	"syscall"
)

// Progress is what a process of a run has counted when another process goes on: the kubelet's code is stuck, or has taken
// memory that it does not give back.
type Progress[Tally any] struct {
	Seed           uint64
	Kept, Next     int // the numbers of the next saved case and of the next random one
	Passed, Failed int
	Tally          Tally
}

// ParseProgress reads what GoOn has passed on; "" = nothing.
func ParseProgress[Tally any](text string) (p Progress[Tally], err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &p)
	}
	return p, err
}

// GoOn replaces this process by one that has the flag -resume as well.
func (p *Progress[Tally]) GoOn() error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	// The last of several -resume counts.
	return syscall.Exec("/proc/self/exe", append(slices.Clone(os.Args), "-resume", string(text)), os.Environ())
}
