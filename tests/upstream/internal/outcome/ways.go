// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Way is a way to schedule.
type Way struct {
	Name  string
	Title string
	// Flags are what `nrtd run` gets more than its defaults.
	Flags []string
	// Extender: `nrtd-extender` runs beside the scheduler.
	Extender bool
	// plan: `kubectl numa plan --pending --apply` runs while a pod waits.
	plan bool
	// hints: the scheduler needs what nrtd writes to Nodes.
	hints    bool
	profiles string
	// extenderFlags are what `nrtd-extender` gets more than its defaults.
	extenderFlags []string
	// denied: the extender's account has no right to nominate, when Full gives it its own.
	denied bool
	// prioritize: the scheduler asks for scores too.
	prioritize bool
	// all: the scheduler sends the extender all nodes (percentageOfNodesToScore 100), not a sample.
	all bool
	// choose: a plugin of the scheduler asks the extender about all nodes, and the scheduler itself asks about preemption only.
	choose bool
	// two: the scheduler with the extender is for Guaranteed pods, and a stock scheduler for all others.
	two bool
	// prepare puts into a pod what its owner has to write for this way.
	prepare func(pod *v1.Pod, s *Slot)
}

const (
	oneNUMA  = "nrtd.dev/max-exclusive-cpus.1-numa"
	profileN = "fit-score-%d"
	// The client's default of 50 requests a second would be what is measured.
	client = "clientConnection: {qps: 5000, burst: 10000}\n"
	head   = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + client
	stock  = "profiles:\n- schedulerName: default-scheduler\n"
	// aligner is the scheduler of Guaranteed pods, where there are two.
	aligner = "numa-aware"
	// batched is a profile whose pods kube-scheduler can schedule together, if no extender is configured.
	batched = stock + "  pluginConfig:\n  - name: PodTopologySpread\n    args: {defaultingType: List, defaultConstraints: []}\n"
)

// match is a profile in which NodeResourceTopologyMatch filters and alone scores.
const match = `profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: NodeResourceTopologyMatch
        weight: 1
    score:
      disabled:
      - name: "*"
      enabled:
      - name: NodeResourceTopologyMatch
        weight: 1
  pluginConfig:
  - name: NodeResourceTopologyMatch
    args:
      scoringStrategy: {type: LeastNUMANodes}
      cacheResyncPeriodSeconds: %d
`

// chooser is a profile with the example of a plugin that asks /v1/choose. The weight lets its order outweigh all other scores.
const chooser = `profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: KubeletAdmission
        weight: 100
    postFilter:
      enabled:
      - name: KubeletAdmission
  pluginConfig:
  - name: KubeletAdmission
    args: {url: "http://%s"}
`

// Ways in the order of the table.
var Ways = []Way{
	{Name: "stock", Title: "stock kube-scheduler", profiles: stock},
	// What it costs that the scheduler looks at every node.
	{Name: "stock-all", Title: "stock kube-scheduler, percentageOfNodesToScore 100", profiles: "percentageOfNodesToScore: 100\n" + stock},
	{Name: "labels", Title: "labels, preferred affinity", profiles: stock, Flags: []string{"--labels"}, hints: true, prepare: prefer},
	{Name: "nodemetadata", Title: "NodeMetadata on fit-score", profiles: byScore(), Flags: shapes(), hints: true,
		prepare: func(pod *v1.Pod, s *Slot) {
			if s.Guaranteed {
				pod.Spec.SchedulerName = fmt.Sprintf(profileN, s.CPUs())
			}
		}},
	{Name: "passthrough", Title: "NodeResourceTopologyMatch, no cache", profiles: fmt.Sprintf(match, 0)},
	{Name: "overreserve", Title: "NodeResourceTopologyMatch, cache", profiles: fmt.Sprintf(match, 5)},
	{Name: "extender", Title: "nrtd-extender", profiles: stock, Extender: true},
	{Name: "choose", Title: "a scheduler plugin with nrtd-extender's /v1/choose", profiles: chooser, Extender: true, choose: true},
	{Name: "extender-plan", Title: "nrtd-extender, kubectl numa plan --apply", profiles: stock, Extender: true, plan: true},
}

// MoreWays are those that only throughput is measured with.
var MoreWays = []Way{
	{Name: "with-scores", Title: "nrtd-extender, prioritizeVerb", profiles: stock, Extender: true, prioritize: true},
	{Name: "extender-all", Title: "nrtd-extender, percentageOfNodesToScore 100", profiles: stock, Extender: true, all: true},
	{Name: "extender-off", Title: "nrtd-extender --nominate off", profiles: stock, Extender: true, extenderFlags: []string{"--nominate", "off"}},
	{Name: "extender-denied", Title: "nrtd-extender without the right to nominate", profiles: stock, Extender: true, denied: true},
	{Name: "two", Title: "stock kube-scheduler, and one with nrtd-extender for Guaranteed pods", profiles: "profiles:\n- schedulerName: " + aligner + "\n", Extender: true,
		two: true, prepare: assign},
	{Name: "batched", Title: "stock kube-scheduler, batching", profiles: batched},
	{Name: "batched-best", Title: "nrtd-extender, batching", profiles: batched, Extender: true},
	{Name: "batched-all", Title: "nrtd-extender --answer all, batching", profiles: batched, Extender: true, all: true, extenderFlags: []string{"--answer", "all"}, prioritize: true},
}

// assign gives a Guaranteed pod its scheduler.
func assign(pod *v1.Pod, s *Slot) {
	if s.Guaranteed {
		pod.Spec.SchedulerName = aligner
	}
}

// WaysNamed are some of them; the name of one that has several budgets means all of these.
func WaysNamed(names []string) (ways []Way, err error) {
	for _, name := range names {
		before := len(ways)
		for _, way := range slices.Concat(Ways, MoreWays) {
			if way.Name == name || strings.HasPrefix(way.Name, name+" ") {
				ways = append(ways, way)
			}
		}
		if len(ways) == before {
			return nil, fmt.Errorf("no way is called %q", name)
		}
	}
	return ways, nil
}

// UseBudgets has each way that needs what nrtd writes to Nodes once for each budget of these writes: "6/5s" is six at
// once, and then one in five seconds.
func UseBudgets(budgets []string) error {
	var ways []Way
	for _, way := range Ways {
		if !way.hints {
			ways = append(ways, way)
			continue
		}
		for _, budget := range budgets {
			burst, interval, ok := strings.Cut(budget, "/")
			if !ok {
				return fmt.Errorf("%q is not a budget as 6/5s", budget)
			}
			one := way
			one.Name, one.Title = way.Name+" "+budget, way.Title+", "+budget
			one.Flags = slices.Concat(way.Flags, []string{"--node-write-burst", burst, "--node-write-interval", interval})
			ways = append(ways, one)
		}
	}
	Ways = ways
	return nil
}

// prefer asks for a node whose largest NUMA node by free CPUs has enough.
func prefer(pod *v1.Pod, s *Slot) {
	if !s.Guaranteed {
		return
	}
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
		{Weight: 100, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: oneNUMA, Operator: v1.NodeSelectorOpGt, Values: []string{fmt.Sprint(s.CPUs() - 1)}}}}}}}}
}

// shapes has nrtd score each size of pod.
func shapes() (flags []string) {
	for _, size := range sizes {
		flags = append(flags, "--shape", fmt.Sprintf("c%d=cpu=%d,memory=256Mi", size.cpus, size.cpus))
	}
	return flags
}

// byScore has a profile for each.
func byScore() string {
	var b strings.Builder
	b.WriteString(stock)
	for _, size := range sizes {
		fmt.Fprintf(&b, `- schedulerName: `+profileN+`
  plugins:
    score:
      disabled:
      - name: "*"
      enabled:
      - name: NodeMetadata
        weight: 1
  pluginConfig:
  - name: NodeMetadata
    args:
      metadataKey: nrtd.dev/fit-score.c%d
      metadataSource: Annotation
      metadataType: Number
      scoringStrategy: Highest
`, size.cpus, size.cpus)
	}
	return b.String()
}

// configuration is the scheduler's configuration file; extender is where that answers.
func (w *Way) configuration(extender string) string {
	text := head
	if w.all {
		text += "percentageOfNodesToScore: 100\n"
	}
	if w.Extender {
		text += fmt.Sprintf(`extenders:
- urlPrefix: http://%s
  preemptVerb: preempt
  nodeCacheCapable: true
  httpTimeout: 5s
`, extender)
	}
	if w.choose {
		return text + fmt.Sprintf(w.profiles, extender)
	}
	if w.Extender {
		text += "  filterVerb: filter\n"
	}
	if w.prioritize {
		text += "  prioritizeVerb: prioritize\n  weight: 1\n"
	}
	return text + w.profiles
}
