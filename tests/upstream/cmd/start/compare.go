// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/component-base/version"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/managers"
)

// reason is a class of reasons, as the kubelet and as nrtd say it.
type reason struct {
	name          string
	kubelet, nrtd *regexp.Regexp
}

func class(name, kubelet, nrtd string) reason {
	return reason{name, regexp.MustCompile(kubelet), regexp.MustCompile(nrtd)}
}

var reasons = []reason{
	class("gate unknown", `unrecognized feature gate`, `unrecognized feature gate`),
	class("gate locked", `feature is locked to`, `feature is locked to`),
	class("gate depends", `depends on features that are disabled`, `depends on features that are disabled`),
	class("policy unknown", `must be one of|unknown policy|is not available for platform`, `is not one of`),
	class("resource", `cannot reserve "`, `cannot reserve "`),
	class("memory zero", `reserved memory may not be zero`, `reservedMemory reserves 0 of .* on NUMA node`),
	class("memory twice", `has a duplicate value for NUMA node`, `reservedMemory reserves .* twice`),
	class("memory type", `the limit type .* is not supported`, `neither memory nor hugepages`),
	class("memory node", `references a NUMA node`, `reservedMemory names NUMA node`),
	class("memory sum", `is not equal to the value|you should specify the system reserved memory`,
		`reservedMemory reserves .* of memory, and kubeReserved|which kubeReserved and systemReserved cannot reserve`),
	class("CPUs offline", `is not a subset of online-cpus`, `reservedSystemCPUs names CPUs .* not online`),
	class("no reserved CPUs", `unable to determine reserved CPU resources|requires systemreserved.cpu`, `policy static needs reserved CPUs`),
	class("amount of CPUs", `unable to reserve the required amount`, `unable to reserve the required amount|CPUs are reserved, and the machine has`),
	class("options under none", `None policy: received unsupported options`, `none takes no cpuManagerPolicyOptions`),
	class("CPU option unknown", `unknown CPU Manager Policy option`, `cpuManagerPolicyOptions: the kubelet has no option`),
	class("CPU option without gate", `CPU Manager Policy (Alpha|Beta)-level Options not enabled`, `cpuManagerPolicyOptions: the option .* needs the feature gate`),
	class("options together", `can not be used at the same time`, `can not be used at the same time`),
	class("align-by-socket", `is incompatible with CPUManager align-by-socket|Align by socket is not compatible`, `align-by-socket is (incompatible|not compatible)`),
	class("topology option unknown", `unknown Topology Manager Policy option`, `topologyManagerPolicyOptions: the kubelet has no option`),
	class("topology option without gate", `(?i)topology manager policy (alpha|beta)-level options not enabled`,
		`topologyManagerPolicyOptions: the option .* needs the feature gate`),
	class("option's value", `unable to convert policy option|bad value for option`, `is not a number|is not a boolean`),
	class("limit too low", `minimum value of "max-allowable-numa-nodes"`, `max-allowable-numa-nodes .* is below`),
	class("NUMA nodes", `unsupported on machines with more than`, `NUMA nodes, max-allowable-numa-nodes is`),
	class("distances", `error getting NUMA distances`, `lists no distances`),
	class("capacity", `Expected capacity >= reservation`, `are reserved, and the machine has`),
}

// judge asks both.
type judge struct {
	ctx      context.Context
	nrtd     string
	maker    string
	work     string
	machines map[string]*kubelet.Machine
	spec     string // of the drawn machine
	drawn    *kubelet.Machine
	tally    map[string]int // reasons, and "starts"
	roots    int
}

func (j *judge) machine(c settingsCase) (*kubelet.Machine, error) {
	if c.Spec == "" {
		m := j.machines[c.Machine]
		if m == nil {
			return nil, fmt.Errorf("no machine %q", c.Machine)
		}
		return m, nil
	}
	if j.drawn != nil && j.spec == c.Spec {
		return j.drawn, nil
	}
	dir := filepath.Join(j.work, "drawn")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := dir + ".spec"
	if err := os.WriteFile(path, []byte(c.Spec), 0o644); err != nil {
		return nil, err
	}
	if said, err := exec.CommandContext(j.ctx, "awk", "-v", "out="+dir, "-f", j.maker, path).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", j.maker, err, said)
	}
	info, err := managers.MachineInfo(dir)
	if err != nil {
		return nil, fmt.Errorf("drawn machine: %w\n%s", err, c.Spec)
	}
	j.spec, j.drawn = c.Spec, &kubelet.Machine{Dir: dir, Info: info}
	return j.drawn, nil
}

// refusal is the kubelet's error; nil if it starts.
func (j *judge) refusal(m *kubelet.Machine, path string) error {
	config, err := managers.LoadConfig(path)
	if err != nil {
		return err
	}
	j.roots++
	root := filepath.Join(j.work, fmt.Sprint("root-", j.roots))
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(root)
	return managers.Refusal(j.ctx, root, m.Info, config)
}

// problems are the reasons that nrtd check gives for which the kubelet would not start.
func (j *judge) problems(m *kubelet.Machine) ([]string, error) {
	command := exec.CommandContext(j.ctx, j.nrtd, "check", "-o", "json", "--sysroot", m.Dir, "--kubelet-config", "/kubelet.json",
		"--kubelet-version", version.Get().GitVersion, "--node-name", "node")
	text, err := command.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || len(text) == 0) {
		return nil, fmt.Errorf("nrtd check: %w", err)
	}
	var report struct {
		Sources []struct{ Level, Source, Text, Remedy string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("nrtd check: %w", err)
	}
	var problems []string
	for _, item := range report.Sources {
		if (item.Level == "fail" || item.Level == "warn") && item.Remedy == "" {
			return nil, fmt.Errorf("nrtd check: no remedy for %q", item.Text)
		}
		if item.Level == "fail" && (item.Source == "kubelet start" || item.Source == "observation") {
			problems = append(problems, item.Text)
		}
	}
	return problems, nil
}

// classes are the reasons in the texts.
func classes(texts []string, of func(reason) *regexp.Regexp) (names []string) {
	for _, text := range texts {
		for _, r := range reasons {
			if of(r).MatchString(text) && !slices.Contains(names, r.name) {
				names = append(names, r.name)
			}
		}
	}
	return names
}

// tries is how often the kubelet's code is asked: of several wrong options it names the first one of a map.
const tries = 40

func (j *judge) compare(c settingsCase) ([]string, error) {
	m, err := j.machine(c)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(c.Config)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(m.Dir, "kubelet.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	defer os.Remove(path)
	problems, err := j.problems(m)
	if err != nil {
		return nil, err
	}
	ours := classes(problems, func(r reason) *regexp.Regexp { return r.nrtd })
	unreadable := slices.Contains(ours, "policy unknown") || slices.Contains(ours, "option's value")
	var refusal error
	for range tries {
		refusal = j.refusal(m, path)
		if refusal == nil {
			if len(problems) > 0 {
				return []string{fmt.Sprintf("the kubelet starts, and nrtd says: %q", problems)}, nil
			}
			j.tally["starts"]++
			return nil, nil
		}
		theirs := classes([]string{refusal.Error()}, func(r reason) *regexp.Regexp { return r.kubelet })
		for _, name := range theirs {
			if slices.Contains(ours, name) {
				j.tally[name]++
				return nil, nil
			}
		}
	}
	// nrtd ends at the first value that it cannot read; the kubelet may refuse another setting before.
	if unreadable {
		j.tally["refused by both, nrtd by a value that it cannot read"]++
		return nil, nil
	}
	return []string{fmt.Sprintf("the kubelet says: %v; nrtd says: %q", refusal, problems)}, nil
}

// print prints how often each answer was given. Of many cases each reason must have been among the answers; the number of
// those that were not is the result. A release lacks some: their gates are always on, or do not exist.
func (j *judge) print(cases int) (missing int) {
	for _, name := range slices.Sorted(maps.Keys(j.tally)) {
		fmt.Printf("  %s: %d\n", name, j.tally[name])
	}
	var absent []string
	for _, r := range reasons {
		if j.tally[r.name] == 0 && !slices.Contains([]string{"gate depends", "topology option without gate", "gate unknown", "capacity"}, r.name) {
			absent = append(absent, r.name)
		}
	}
	if cases < 1500 || len(absent) == 0 {
		return 0
	}
	fmt.Printf("FAIL no case had the reason: %s\n", strings.Join(absent, ", "))
	return len(absent)
}
