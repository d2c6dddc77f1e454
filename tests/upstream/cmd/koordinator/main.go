// SPDX-License-Identifier: Apache-2.0

// koordinator compares what Koordinator's scheduler does on objects of `nrtd dump --koordinator on` with what it does on
// koordlet's of the same node: random machines, kubelets and pods. koordlet's own code and the scheduler's real plugin
// NodeNUMAResource are in a program of their own (../koordinator).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/differential"
)

// kubeletVersion is a release with the choice of reserved CPUs that koordlet copies. 1.38 chooses other CPUs if a core has offline
// threads.
const kubeletVersion = "v1.35.2"

// machine is what is known of a machine before anything is compared.
type machine struct {
	zones    []daemon.Zone
	memory   int64                    // of NUMA node 0
	reserved map[string]cpuset.CPUSet // the CPUs that koordlet takes for the kubelet's, by kubeReserved
	agree    bool                     // the kubelet and lscpu have the same cores
	spans    bool                     // there are more sockets than NUMA nodes
	pages    bool                     // there are hugepages of another size than 2Mi and 1Gi
}

type comparer struct {
	ctx      context.Context
	nrtd     string
	dir      string
	found    map[string]*machine
	machines []string
	judge    *differential.Judge
	reasons  map[string]int // how many cases differ for a known reason
	pods     int
	refused  int
	bound    int // pods with CPUs
	placed   int // pods with NUMA nodes
	rooted   int // cases with zones of PCIe roots
}

func main() {
	s := differential.Settings{Out: os.Stdout, MaxFails: 5}
	s.Flags()
	judge := flag.String("judge", "build/upstream/koordinator-judge", "the program with Koordinator's code")
	flag.IntVar(&s.Cases, "cases", 300, "the number after the last random case's")
	differential.Main("koordinator", &s, func(ctx context.Context) (int, error) { return run(ctx, *judge, s) })
}

func run(ctx context.Context, judge string, s differential.Settings) (int, error) {
	dir, err := os.MkdirTemp("", "nrtd-koordinator-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	c := &comparer{ctx: ctx, nrtd: s.Nrtd, dir: dir, found: map[string]*machine{}, reasons: map[string]int{}}
	if c.judge, err = differential.StartJudge(ctx, judge, "TMPDIR="+dir); err != nil {
		return 0, err
	}
	defer c.judge.Stop()
	if err := c.load(s.Machines); err != nil {
		return 0, err
	}
	confused, err := c.compareBatch()
	if err != nil {
		return 0, err
	}
	fmt.Printf("koordinator: seed %d, cases %d to %d on %d machines\n", s.Seed, s.First, s.Cases-1, len(c.machines))
	problem := differential.Problem[testCase]{Name: "koordinator", Random: c.random, Smaller: smaller, Compare: c.compare}
	passed, failed, err := differential.ReplayAndRun(problem, s.Replay, s)
	fmt.Printf("koordinator: %d pods: %d were refused, %d bound to CPUs and %d to NUMA nodes; %d cases have PCIe roots\n",
		c.pods, c.refused, c.bound, c.placed, c.rooted)
	for _, reason := range reasons {
		if n := c.reasons[reason.name]; n > 0 {
			fmt.Printf("koordinator: %d cases differ as they must: %s\n", n, reason.name)
		}
	}
	failed += confused
	fmt.Printf("koordinator: %d passed, %d failed\n", passed, failed)
	return failed, err
}

// question and answer are those of the judge.
type question struct {
	Koordlet *koordletNode     `json:"koordlet,omitempty"`
	Objects  []any             `json:"objects,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Bound    []*v1.Pod         `json:"bound,omitempty"`
	Pods     []*v1.Pod         `json:"pods,omitempty"`
	Strategy string            `json:"strategy,omitempty"`
	Batch    bool              `json:"batch,omitempty"`
}

type koordletNode struct {
	Root      string          `json:"root"`
	Config    json.RawMessage `json:"config"`
	HugePages bool            `json:"hugePages"`
	Pods      []*v1.Pod       `json:"pods"`
}

type answer struct {
	Object   *object     `json:"object"`
	Outcomes [][]outcome `json:"outcomes"`
	Batch    []string    `json:"batch"`
	Error    string      `json:"error"`
}

type outcome struct {
	Refused string `json:"refused"`
	Spec    string `json:"spec"`
	Status  string `json:"status"`
}

func (c *comparer) ask(q question) (a answer, err error) {
	err = c.judge.Ask(q, &a)
	return a, err
}

// addFiles makes what koordlet reads and the machines of the tests do not have.
func addFiles(root string, zones []daemon.Zone) error {
	cpuinfo := filepath.Join(root, "proc", "cpuinfo")
	if _, err := os.Stat(cpuinfo); err != nil {
		var list strings.Builder
		for _, cpu := range daemon.All(zones).List() {
			fmt.Fprintf(&list, "processor\t: %d\nflags\t: fpu\n\n", cpu)
		}
		if err := os.MkdirAll(filepath.Dir(cpuinfo), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(cpuinfo, []byte(list.String()), 0o644); err != nil {
			return err
		}
	}
	devices := filepath.Join(root, "sys", "bus", "node", "devices")
	if _, err := os.Stat(devices); err == nil {
		return nil
	}
	if err := os.MkdirAll(devices, 0o755); err != nil {
		return err
	}
	nodes, err := filepath.Glob(filepath.Join(root, "sys", "devices", "system", "node", "node[0-9]*"))
	for _, node := range nodes {
		name := filepath.Base(node)
		if err := os.Symlink(filepath.Join("..", "..", "..", "devices", "system", "node", name), filepath.Join(devices, name)); err != nil {
			return err
		}
	}
	return err
}

// load makes a node of each machine, and learns what it has. One of which koordlet makes no object is left out: where a NUMA
// node has no CPU, and where their ids have holes.
func (c *comparer) load(folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "sys"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		node, err := daemon.New(c.dir, name, filepath.Dir(path), c.nrtd, "", "0")
		if err != nil {
			return err
		}
		node.Name = "node"
		why, err := c.learn(name, node)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if why != "" {
			fmt.Printf("koordinator: without the machine %s: %s\n", name, why)
			continue
		}
		c.machines = append(c.machines, name)
	}
	if len(c.machines) == 0 {
		return fmt.Errorf("no machine in %s", folder)
	}
	return nil
}

// learn reads a machine, and says why it is none for the comparison.
func (c *comparer) learn(name string, node *daemon.Node) (string, error) {
	object, err := node.Dump(c.ctx)
	if err != nil {
		return "", err
	}
	m := &machine{reserved: map[string]cpuset.CPUSet{}}
	if m.zones, err = daemon.ZonesOf(object, cpuset.New()); err != nil {
		return "", err
	}
	if daemon.All(m.zones).Size() < 4 {
		return "it has too few CPUs", nil
	}
	if len(m.zones) > 8 {
		return "the plugin takes too long for so many NUMA nodes", nil
	}
	for _, amount := range object.Zones[0].Resources {
		if amount.Name == string(v1.ResourceMemory) {
			m.memory = amount.Allocatable.Value()
		}
	}
	for _, zone := range object.Zones {
		for _, amount := range zone.Resources {
			m.pages = m.pages || (isOtherPage(amount.Name) && !amount.Capacity.IsZero())
		}
	}
	if err := addFiles(node.Dir, m.zones); err != nil {
		return "", err
	}
	kernel, err := readKernel(node.Dir, m.zones)
	if err != nil {
		return err.Error(), nil
	}
	m.agree = maps.Equal(kernel.names, kernel.siblings)
	m.spans = len(slices.Compact(slices.Sorted(maps.Values(kernel.packages)))) > len(m.zones)
	c.found[name] = m
	for _, reserved := range []string{"1", "1500m", "3"} {
		t := testCase{Machine: name, CPUManager: "static", Policy: "none", Scope: "pod", KubeReserved: reserved}
		object, why, err := c.koordlet(&t)
		if err != nil || why != "" {
			return why, err
		}
		if why, err := kernel.unlike(object.Metadata.Annotations["node.koordinator.sh/cpu-topology"]); err != nil || why != "" {
			return why, err
		}
		var policy struct{ ReservedCPUs string }
		if err := json.Unmarshal([]byte(object.Metadata.Annotations["kubelet.koordinator.sh/cpu-manager-policy"]), &policy); err != nil {
			return "", err
		}
		if m.reserved[reserved], err = cpuset.Parse(policy.ReservedCPUs); err != nil {
			return "", err
		}
	}
	return "", nil
}

// compareBatch asks koord-manager for the CPUs that pods of the class BE may use on each NUMA node. It takes every zone for a NUMA node,
// so that nrtd's object must have no others; with zones of PCIe roots it finds more, as doc/works-with.md says.
func (c *comparer) compareBatch() (failed int, err error) {
	rooted, confused := 0, 0
	for _, name := range c.machines {
		ours, withRoots, err := c.dump(&testCase{Machine: name, CPUManager: "static", Policy: "none", Scope: "pod", KubeReserved: "1"})
		if err != nil {
			return failed, fmt.Errorf("%s: %w", name, err)
		}
		nodes := ours.copy()
		nodes.Zones = slices.DeleteFunc(nodes.Zones, func(z zone) bool { return z.Type != "Node" })
		a, err := c.ask(question{Objects: []any{nodes, ours, withRoots}, Batch: true})
		if err != nil {
			return failed, fmt.Errorf("%s: %w", name, err)
		}
		if a.Batch[0] != a.Batch[1] {
			failed++
			fmt.Printf("not ok koordinator: %s: koord-manager's CPUs: with NUMA nodes %q, with all zones %q\n", name, a.Batch[0], a.Batch[1])
		}
		if len(withRoots.Zones) > len(ours.Zones) {
			rooted++
		}
		if a.Batch[2] != a.Batch[0] {
			confused++
		}
	}
	fmt.Printf("koordinator: koord-manager finds other CPUs with the PCIe roots of %d of %d machines\n", confused, rooted)
	if confused == 0 && rooted > 0 {
		failed++
		fmt.Println("not ok koordinator: koord-manager is not confused by PCIe roots: doc/works-with.md says that it is")
	}
	return failed, nil
}

// koordlet asks for koordlet's object, or why there is none.
func (c *comparer) koordlet(t *testCase) (*object, string, error) {
	config, err := t.config()
	if err != nil {
		return nil, "", err
	}
	held, _ := t.held()
	a, err := c.ask(question{Koordlet: &koordletNode{filepath.Join(c.dir, t.Machine), config, t.HugePages, held}})
	return a.Object, a.Error, err
}

// dump is nrtd's object, and the object with zones of PCIe roots.
func (c *comparer) dump(t *testCase) (ours, rooted *object, err error) {
	node := &daemon.Node{Name: "node", Dir: filepath.Join(c.dir, t.Machine), Nrtd: c.nrtd}
	config, err := t.config()
	if err != nil {
		return nil, nil, err
	}
	var held []cpuset.CPUSet
	for _, one := range t.Held {
		cpus, err := cpuset.Parse(one.CPUs)
		if err != nil {
			return nil, nil, err
		}
		held = append(held, cpus)
	}
	if _, err := node.Hold(daemon.All(c.found[t.Machine].zones), held...); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(node.Dir, daemon.ConfigPath), config, 0o600); err != nil {
		return nil, nil, err
	}
	for roots, o := range map[string]**object{"off": &ours, "on": &rooted} {
		printed, err := node.DumpText(c.ctx, "--kubelet-config", daemon.ConfigPath, "--kubelet-version", kubeletVersion, "--koordinator", "on",
			"--pcie-roots", roots)
		if err != nil {
			return nil, nil, err
		}
		*o = &object{}
		if err := json.Unmarshal(printed, *o); err != nil {
			return nil, nil, err
		}
	}
	return ours, rooted, nil
}

// same tells whether the plugin did the same with each pod: amounts may be written in several ways.
func same(a, b []outcome) bool {
	for i := range a {
		if canonicalReasons(a[i].Refused) != canonicalReasons(b[i].Refused) || a[i].Spec != b[i].Spec || canonical(a[i].Status) != canonical(b[i].Status) {
			return false
		}
	}
	return true
}

// canonicalReasons has the reasons in order; the plugin takes them out of a map.
func canonicalReasons(text string) string {
	where, what, _ := strings.Cut(text, ": ")
	list := strings.Split(what, ", ")
	slices.Sort(list)
	return where + ": " + strings.Join(list, ", ")
}

func canonical(status string) string {
	if status == "" {
		return ""
	}
	var s struct {
		CPUSet            string
		NUMANodeResources []struct {
			Node      int
			Resources map[string]resource.Quantity
		}
	}
	if err := json.Unmarshal([]byte(status), &s); err != nil {
		return err.Error()
	}
	var out strings.Builder
	fmt.Fprint(&out, s.CPUSet)
	for _, node := range s.NUMANodeResources {
		fmt.Fprintf(&out, "; node %d", node.Node)
		names := make([]string, 0, len(node.Resources))
		for name := range node.Resources {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			amount := node.Resources[name]
			fmt.Fprintf(&out, " %s=%d", name, amount.MilliValue())
		}
	}
	return out.String()
}

func (c *comparer) count(outcomes []outcome) {
	for _, o := range outcomes {
		c.pods++
		if o.Refused != "" {
			c.refused++
		}
		if strings.Contains(o.Status, `"cpuset"`) {
			c.bound++
		}
		if strings.Contains(o.Status, `"numaNodeResources"`) {
			c.placed++
		}
	}
}

func (c *comparer) compare(t testCase) (differences []string, err error) {
	ours, rooted, err := c.dump(&t)
	if err != nil {
		return nil, err
	}
	theirs, why, err := c.koordlet(&t)
	if err != nil || why != "" {
		return nil, fmt.Errorf("koordlet: %s %w", why, err)
	}
	q := question{Objects: []any{ours, theirs, rooted}, Labels: t.Labels, Strategy: t.Strategy}
	_, q.Bound = t.held()
	for i := range t.Pods {
		q.Pods = append(q.Pods, t.Pods[i].pod(i))
	}
	a, err := c.ask(q)
	if err != nil {
		return nil, err
	}
	got, want := a.Outcomes[0], a.Outcomes[1]
	c.count(got)
	if len(rooted.Zones) > len(ours.Zones) {
		c.rooted++
	}
	if !same(got, a.Outcomes[2]) {
		return append(differences, fmt.Sprintf("with zones of PCIe roots %+v, without %+v", a.Outcomes[2], got)), nil
	}
	if same(got, want) {
		return nil, nil
	}
	if known, err := c.explain(&t, ours, theirs, q, got); known || err != nil {
		return nil, err
	}
	for i := range got {
		if !same(got[i:i+1], want[i:i+1]) {
			differences = append(differences, fmt.Sprintf("pod %d: on nrtd's object %+v, on koordlet's %+v", i, got[i], want[i]))
		}
	}
	return append(differences, unlike(ours, theirs)...), nil
}
