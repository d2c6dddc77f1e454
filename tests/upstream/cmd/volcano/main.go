// SPDX-License-Identifier: Apache-2.0

// volcano compares Volcano's plugin numaaware with `nrtd score --strategy Volcano` on random nodes and pods. The plugin, in
// a program of its own (../volcano), reads the Numatopology objects of `nrtd dump`, and nrtd its NodeResourceTopology
// objects of the same nodes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/quiet"
)

// nodeCase is a node: a machine with CPU 0 reserved, its policies, and what containers hold.
type nodeCase struct {
	Machine, CPUManager, Policy string
	Held                        []string
}

// testCase is a pod for some nodes.
type testCase struct {
	Nodes      []nodeCase
	Containers []string // what each asks for of CPUs
	Guaranteed bool
	Policy     string // the pod's annotation; "" = it has none
	Weight     int
}

// verdict is the plugin's answer about one node.
type verdict struct {
	Passes bool    `json:"passes"`
	Reason string  `json:"reason"`
	Score  float64 `json:"score"`
	numa   int     // NUMA nodes that the pod would use
}

// noNode is the exit status of `nrtd score` where no node takes the pod.
const noNode = 3

var policies = []string{"none", "best-effort", "restricted", "single-numa-node"}

type comparer struct {
	ctx      context.Context
	nrtd     string
	dir      string
	zones    map[string][]daemon.Zone // by machine
	machines []string
	in       *json.Encoder
	out      *json.Decoder
	open     int // cases that differ where the plugin is not determined
}

func main() {
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	judge := flag.String("judge", "build/upstream/volcano-1.15", "the program with Volcano's plugin")
	machines := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	replay := flag.String("replay", "", "folder of saved cases to compare first")
	timeout := flag.Duration("timeout", time.Hour, "give up after this time")
	s := differential.Settings{Out: os.Stdout, MaxFails: 5}
	s.Flags()
	flag.IntVar(&s.Cases, "cases", 1000, "number of random cases")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	failed, err := run(ctx, *nrtd, *judge, *machines, *replay, s)
	if err != nil {
		fmt.Println("not ok volcano:", err)
	}
	if failed > 0 || err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, nrtd, judge, machines, replay string, s differential.Settings) (int, error) {
	dir, err := os.MkdirTemp("", "nrtd-volcano-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	c := &comparer{ctx: ctx, nrtd: nrtd, dir: dir, zones: map[string][]daemon.Zone{}}
	if err := c.load(machines); err != nil {
		return 0, err
	}
	process := exec.CommandContext(ctx, judge)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := process.Start(); err != nil {
		return 0, err
	}
	defer process.Wait()
	defer in.Close()
	c.in, c.out = json.NewEncoder(in), json.NewDecoder(out)
	name := filepath.Base(judge)
	fmt.Printf("%s: seed %d, %d cases on %d machines\n", name, s.Seed, s.Cases, len(c.machines))
	problem := differential.Problem[testCase]{Name: name, Random: c.random, Smaller: smaller, Compare: c.compare}
	passed, failed, err := differential.ReplayAndRun(problem, replay, s)
	fmt.Printf("%s: %d cases differ where the plugin itself is not determined\n", name, c.open)
	fmt.Printf("%s: %d passed, %d failed\n", name, passed, failed)
	return failed, err
}

// load makes a node of each machine, and learns which CPUs it has. A NUMA node without CPUs, or an id above 63, is none for
// the plugin.
func (c *comparer) load(folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "sys"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		machine := filepath.Dir(path)
		name := filepath.Base(machine)
		node, err := daemon.New(c.dir, name, machine, c.nrtd, "", "0")
		if err != nil {
			return err
		}
		node.Name = "node"
		object, err := node.Dump(c.ctx)
		if err != nil {
			return err
		}
		zones, err := daemon.ZonesOf(object, cpuset.New(0))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(zones, func(z daemon.Zone) bool { return z.CPUs.IsEmpty() }) || !daemon.All(zones).Contains(0) || len(zones) > 8 {
			continue
		}
		c.zones[name] = zones
		c.machines = append(c.machines, name)
	}
	if len(c.machines) == 0 {
		return fmt.Errorf("no machine in %s", folder)
	}
	return nil
}

func (c *comparer) random(r *rand.Rand) testCase {
	t := testCase{Guaranteed: r.IntN(8) > 0, Weight: 1 + r.IntN(10)}
	largest := 0
	for range 1 + r.IntN(4) {
		node := nodeCase{Machine: c.machines[r.IntN(len(c.machines))], CPUManager: "static", Policy: policies[r.IntN(len(policies))]}
		if r.IntN(8) == 0 {
			node.CPUManager = "none"
		}
		zones := c.zones[node.Machine]
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

func (t *testCase) pod() *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "pod", UID: "pod", Annotations: map[string]string{}}}
	if t.Policy != "" {
		pod.Annotations["volcano.sh/numa-topology-policy"] = t.Policy
	}
	for i, cpus := range t.Containers {
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus), v1.ResourceMemory: resource.MustParse("1Mi")}
		container := v1.Container{Name: fmt.Sprintf("c%d", i), Image: "example.com/app", Resources: v1.ResourceRequirements{Requests: amounts}}
		if t.Guaranteed {
			container.Resources.Limits = amounts
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// objects are what nrtd makes of the nodes: its own object and Volcano's of each.
func (c *comparer) objects(t *testCase) (nrts, topologies []json.RawMessage, err error) {
	for i, one := range t.Nodes {
		zones := c.zones[one.Machine]
		node := &daemon.Node{Name: fmt.Sprintf("node-%d", i), Dir: filepath.Join(c.dir, one.Machine), Nrtd: c.nrtd}
		node.Settings = []string{"--cpu-manager-policy", one.CPUManager, "--reserved-cpus", "0", "--memory-manager-policy", "None",
			"--topology-manager-policy", one.Policy, "--topology-manager-scope", "container"}
		var held []cpuset.CPUSet
		for _, text := range one.Held {
			cpus, err := cpuset.Parse(text)
			if err != nil {
				return nil, nil, err
			}
			held = append(held, cpus)
		}
		if _, err := node.Hold(daemon.All(zones), held...); err != nil {
			return nil, nil, err
		}
		nrt, err := node.DumpText(c.ctx)
		if err != nil {
			return nil, nil, err
		}
		topology, err := node.DumpText(c.ctx, "--what", "numatopology")
		if err != nil {
			return nil, nil, err
		}
		nrts, topologies = append(nrts, nrt), append(topologies, topology)
	}
	return nrts, topologies, nil
}

// score is what nrtd says of each node.
func (c *comparer) score(t *testCase, nrts []json.RawMessage, pod *v1.Pod) (map[string]verdict, error) {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": nrts})
	if err != nil {
		return nil, err
	}
	asked, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, "pod.json")
	if err := os.WriteFile(path, asked, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(c.ctx, c.nrtd, "score", "--nrt", "-", "-f", path, "--strategy", "Volcano", "--volcano-weight", fmt.Sprint(t.Weight), "-o", "json")
	command.Stdin = bytes.NewReader(list)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil && command.ProcessState.ExitCode() != noNode {
		return nil, fmt.Errorf("nrtd score: %w: %s", err, stderr.String())
	}
	var answer struct {
		Nodes []struct {
			Name    string
			Scores  struct{ Volcano *float64 }
			Volcano struct {
				Admitted  bool
				Reason    string
				NUMANodes int
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	verdicts := map[string]verdict{}
	for _, node := range answer.Nodes {
		one := verdict{Passes: node.Volcano.Admitted, Reason: node.Volcano.Reason, numa: node.Volcano.NUMANodes}
		if node.Scores.Volcano != nil {
			one.Score = *node.Scores.Volcano
		}
		verdicts[node.Name] = one
	}
	return verdicts, nil
}

// isOpen tells whether a container that is not the last one would have CPUs of several NUMA nodes somewhere. Which ones the
// plugin takes then is not determined (its order of single CPUs is none), and with it what is left for the others.
func (c *comparer) isOpen(t testCase, nrts []json.RawMessage) (bool, error) {
	if len(t.Containers) == 1 {
		return false, nil
	}
	t.Containers = t.Containers[:len(t.Containers)-1]
	verdicts, err := c.score(&t, nrts, t.pod())
	for _, v := range verdicts {
		if v.numa > 1 {
			c.open++
			return true, err
		}
	}
	return false, err
}

func (c *comparer) compare(t testCase) (differences []string, err error) {
	nrts, topologies, err := c.objects(&t)
	if err != nil {
		return nil, err
	}
	pod := t.pod()
	got, err := c.score(&t, nrts, pod)
	if err != nil {
		return nil, err
	}
	if err := c.in.Encode(map[string]any{"nodes": topologies, "pod": pod, "weight": t.Weight}); err != nil {
		return nil, err
	}
	want := map[string]verdict{}
	if err := c.out.Decode(&want); err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		name := fmt.Sprintf("node-%d", i)
		g, w := got[name], want[name]
		if g.Passes != w.Passes || g.Score != w.Score {
			differences = append(differences, fmt.Sprintf("%s: nrtd %+v, Volcano %+v", name, g, w))
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
