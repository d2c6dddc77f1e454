// SPDX-License-Identifier: Apache-2.0

// volcano compares Volcano's plugin numaaware with `kubectl numa score --strategy Volcano`, on the examples of Volcano's
// documentation and on random nodes and pods. The plugin, in a program of its own (../volcano), reads the Numatopology
// objects of `nrtd dump`, and nrtd its NodeResourceTopology objects of the same nodes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/made"
	"nrtd.dev/tests/upstream/internal/volcano"
)

// testCase is a pod for some nodes.
type testCase struct {
	Nodes []made.Node
	volcano.Pod
	Weight int
}

var policies = []string{"none", "best-effort", "restricted", "single-numa-node"}

type comparer struct {
	ctx   context.Context
	maker *made.Maker
	judge *differential.Judge
	open  int // cases that differ where the plugin is not determined
}

func main() {
	s := differential.Settings{Out: os.Stdout, MaxFails: 5}
	s.Flags()
	judge := flag.String("judge", "build/upstream/volcano-1.15", "the program with Volcano's plugin")
	examples := flag.String("examples", "", "file of examples to compare first")
	flag.IntVar(&s.Cases, "cases", 300, "number of random cases")
	differential.Main("volcano", &s, func(ctx context.Context) (int, error) { return run(ctx, *judge, *examples, s) })
}

func run(ctx context.Context, judge, examples string, s differential.Settings) (int, error) {
	dir, err := os.MkdirTemp("", "nrtd-volcano-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	c := &comparer{ctx: ctx}
	if c.maker, err = made.NewMaker(ctx, s.Nrtd, dir, s.Machines); err != nil {
		return 0, err
	}
	if c.judge, err = differential.StartJudge(ctx, judge); err != nil {
		return 0, err
	}
	defer c.judge.Stop()
	name := filepath.Base(judge)
	different, err := c.examples(name, examples)
	if err != nil {
		return different, err
	}
	fmt.Printf("%s: seed %d, %d cases on %d machines\n", name, s.Seed, s.Cases, len(c.maker.Machines))
	problem := differential.Problem[testCase]{Name: name, Random: c.random, Smaller: smaller, Compare: c.compare}
	passed, failed, err := differential.ReplayAndRun(problem, s.Replay, s)
	fmt.Printf("%s: %d cases differ where the plugin itself is not determined\n", name, c.open)
	fmt.Printf("%s: %d passed, %d failed\n", name, passed, failed)
	return different + failed, err
}

// examples compares both with what the documentation says, and counts the examples that differ.
func (c *comparer) examples(name, path string) (failed int, err error) {
	if path == "" {
		return 0, nil
	}
	list, err := made.ReadExamples[*volcano.Example](path)
	if err != nil {
		return 0, err
	}
	for _, e := range list.Examples {
		_, got, want, err := c.ask(&testCase{Nodes: list.Tables[e.Table], Pod: *e.Pod(), Weight: max(e.Weight, 1)})
		if err != nil {
			return failed, fmt.Errorf("%s: %w", e.Name, err)
		}
		failed += made.Report(name, e, e.Differences(got, want))
	}
	return failed, nil
}

func (c *comparer) random(r *rand.Rand) testCase {
	t := testCase{Pod: volcano.Pod{Guaranteed: r.IntN(8) > 0}, Weight: 1 + r.IntN(10)}
	largest := 0
	for i := range 1 + r.IntN(4) {
		node := made.Node{Name: fmt.Sprintf("node-%d", i), Machine: c.maker.Machines[r.IntN(len(c.maker.Machines))],
			CPUManager: "static", Policy: policies[r.IntN(len(policies))]}
		if r.IntN(8) == 0 {
			node.CPUManager = "none"
		}
		zones := c.maker.Zones[node.Machine]
		if node.CPUManager == "static" {
			for _, held := range daemon.Draw(r, zones) {
				node.Held = append(node.Held, held.String())
			}
		}
		largest = max(largest, daemon.All(zones).Size())
		t.Nodes = append(t.Nodes, node)
	}
	if i := r.IntN(len(policies) + 1); i < len(policies) {
		t.Policy = policies[i]
	}
	for i := range 1 + r.IntN(3) {
		switch {
		case r.IntN(10) == 0:
			t.Containers = append(t.Containers, "1500m")
		case i == 0:
			t.Containers = append(t.Containers, fmt.Sprint(1+r.IntN(largest+1)))
		default:
			t.Containers = append(t.Containers, fmt.Sprint(1+r.IntN(4)))
		}
	}
	return t
}

func smaller(t testCase) (list []testCase) {
	for i := range t.Nodes {
		if len(t.Nodes) > 1 {
			one := t
			one.Nodes = slices.Delete(slices.Clone(t.Nodes), i, i+1)
			list = append(list, one)
		}
		if len(t.Nodes[i].Held) > 0 {
			one := t
			one.Nodes = slices.Clone(t.Nodes)
			one.Nodes[i].Held = t.Nodes[i].Held[1:]
			list = append(list, one)
		}
	}
	if len(t.Containers) > 1 {
		one := t
		one.Containers = t.Containers[:len(t.Containers)-1]
		list = append(list, one)
	}
	return list
}

// isOpen tells whether a container that is not the last one would have CPUs of several NUMA nodes somewhere. Which ones the
// plugin takes then is not determined (its order of single CPUs is none), and with it what is left for the others.
func (c *comparer) isOpen(t testCase, nrts []json.RawMessage) (bool, error) {
	if len(t.Containers) == 1 {
		return false, nil
	}
	t.Containers = t.Containers[:len(t.Containers)-1]
	verdicts, err := volcano.Score(c.ctx, c.maker, nrts, t.Object(), t.Weight)
	for _, v := range verdicts {
		if v.NUMA > 1 {
			c.open++
			return true, err
		}
	}
	return false, err
}

// ask asks both: got is nrtd's answer, want the plugin's.
func (c *comparer) ask(t *testCase) (nrts []json.RawMessage, got, want map[string]volcano.Verdict, err error) {
	nrts, topologies, err := c.maker.Objects(c.ctx, t.Nodes)
	if err != nil {
		return nil, nil, nil, err
	}
	pod := t.Object()
	if got, err = volcano.Score(c.ctx, c.maker, nrts, pod, t.Weight); err != nil {
		return nil, nil, nil, err
	}
	want, err = c.plugin(topologies, pod, t.Weight)
	return nrts, got, want, err
}

func (c *comparer) plugin(topologies []json.RawMessage, pod *v1.Pod, weight int) (answer map[string]volcano.Verdict, err error) {
	err = c.judge.Ask(map[string]any{"nodes": topologies, "pod": pod, "weight": weight}, &answer)
	return answer, err
}

func (c *comparer) compare(t testCase) (differences []string, err error) {
	nrts, got, want, err := c.ask(&t)
	if err != nil {
		return nil, err
	}
	for _, node := range t.Nodes {
		g, w := got[node.Name], want[node.Name]
		if g.Passes != w.Passes || g.Score != w.Score {
			differences = append(differences, fmt.Sprintf("%s: nrtd %+v, Volcano %+v", node.Name, g, w))
		}
	}
	if len(differences) == 0 {
		return nil, nil
	}
	if open, err := c.isOpen(t, nrts); err != nil || open {
		return nil, err
	}
	return differences, nil
}
