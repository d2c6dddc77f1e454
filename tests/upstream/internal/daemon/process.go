// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has and has used.
type Usage struct {
	RSS, PSS int64 // bytes
	Files    int   // open descriptors
	CPU      time.Duration
}

// userHz is the unit of the CPU times in /proc, the same on every Linux machine.
const userHz = 100

// UsageOf reads /proc.
func UsageOf(pid int) (u Usage, err error) {
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(rollup)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != "kB" {
			continue
		}
		kb, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return u, err
		}
		switch fields[0] {
		case "Rss:":
			u.RSS = kb << 10
		case "Pss:":
			u.PSS = kb << 10
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	u.CPU, err = CPUOf(pid)
	return u, err
}

// CPUOf is the CPU time of a process so far.
func CPUOf(pid int) (total time.Duration, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	for _, field := range fields[11:13] { // utime, stime
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ticks) * time.Second / userHz
	}
	return total, nil
}

// Load is the machine's load average of the last minute, for those who read measured numbers.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// MiB of bytes.
func MiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }
