// SPDX-License-Identifier: Apache-2.0

// bench times the scheduler plugin's and the kubelet's own functions, and writes what it asked them, what they
// answered, and how long they took, for a C program that asks nrtd's functions the same.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"k8s.io/klog/v2"
	"nrtd.dev/tests/upstream/internal/plugin"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/timing"
	"nrtd.dev/tests/upstream/internal/vectors"
)

func main() {
	out := flag.String("o", "bench.json", "file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	quiet.LogTo(io.Discard)
	if err := vectors.EnableAllOptions(); err != nil {
		return err
	}
	var cases []timing.Case
	report := func(c timing.Case) {
		fmt.Fprintf(os.Stderr, "%s: %.0f ns\n", c.Name, c.GoNS)
		cases = append(cases, c)
	}
	plugin.Time(report)
	if err := vectors.TimeMerges(klog.Background(), report); err != nil {
		return err
	}
	if err := vectors.TimeAssignments(klog.Background(), report); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"versions": versions(), "cases": cases})
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// versions says what was measured.
func versions() string {
	text := runtime.Version()
	if info, known := debug.ReadBuildInfo(); known {
		for _, m := range info.Deps {
			if m.Path == "k8s.io/kubernetes" || m.Path == "sigs.k8s.io/scheduler-plugins" {
				text += ", " + m.Path + " " + m.Version
			}
		}
	}
	return text
}
