// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2/helper/numanode"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"nrtd.dev/tests/upstream/internal/programs"
	apiconfig "sigs.k8s.io/scheduler-plugins/apis/config"
)

// Nrtd is the program under test.
type Nrtd struct {
	Path string // of nrtd; kubectl-numa is in the same directory
	Dir  string // for its input files
}

// ScoreOutput is what `kubectl numa score -o json` prints; a score it has no answer for is null.
type ScoreOutput struct {
	Nodes []struct {
		Name   string
		Filter struct {
			Passed *bool
			Reason string
		}
		Scores map[string]*int64
	}
}

// Ask runs kubectl-numa on a pod and the objects of some nodes.
func (n *Nrtd) Ask(ctx context.Context, weights map[string]int64, pod *v1.Pod, objects ...*topologyv1alpha2.NodeResourceTopology) (*ScoreOutput, error) {
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	objectFile, podFile := filepath.Join(n.Dir, "nrt.json"), filepath.Join(n.Dir, "pod.json")
	for path, what := range map[string]any{objectFile: list, podFile: pod} {
		text, err := json.Marshal(what)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	args := []string{"score", "--from", objectFile, "-f", podFile, "-o", "json"}
	for name, weight := range weights {
		args = append(args, "--weight", fmt.Sprintf("%s=%d", name, weight))
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, programs.KubectlNuma(n.Path), args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(text) == 0 {
		return nil, fmt.Errorf("kubectl-numa score: %w: %s", err, exit.Stderr)
	}
	output := &ScoreOutput{}
	if err := json.Unmarshal(text, output); err != nil {
		return nil, fmt.Errorf("kubectl-numa score printed %q: %w", text, err)
	}
	if len(output.Nodes) != len(objects) {
		return nil, fmt.Errorf("kubectl-numa score printed %d nodes, not %d", len(output.Nodes), len(objects))
	}
	return output, nil
}

// Compare asks both sides and returns what differs. Where the real plugin crashes or leaves the range of scores, there
// is nothing to agree with: nrtd then must give a score in range or none.
func Compare(ctx context.Context, real *Real, nrtd *Nrtd, c Case) ([]string, error) {
	if err := real.Publish(ctx, c.NRT); err != nil {
		return nil, err
	}
	pod := c.Pod.DeepCopy()
	corev1defaults.SetObjectDefaults_Pod(pod) // what the API server does to a pod before the scheduler sees it
	want, err := real.Ask(ctx, c.Weights, pod, node(c))
	if err != nil {
		return nil, err
	}
	differences, err := compareRoots(ctx, real, c, pod, node(c), want)
	if err != nil {
		return nil, err
	}
	output, err := nrtd.Ask(ctx, weightSets[c.Weights], c.Pod, c.NRT)
	if err != nil {
		return []string{err.Error()}, nil
	}
	got := output.Nodes[0]
	differ := func(format string, values ...any) {
		differences = append(differences, fmt.Sprintf(format, values...))
	}
	if _, died := want.Panics["Filter"]; !died && !undefined(c, "Filter") {
		switch {
		case got.Filter.Passed == nil:
			differ("filter: real passed %t %q, nrtd has no answer", want.Passed, want.Reason)
		case *got.Filter.Passed != want.Passed || got.Filter.Reason != want.Reason:
			differ("filter: real passed %t %q, nrtd %t %q", want.Passed, want.Reason, *got.Filter.Passed, got.Filter.Reason)
		}
	}
	for _, strategy := range Strategies {
		name := string(strategy)
		wanted, known := want.Scores[name]
		said, told := got.Scores[name]
		switch {
		case !told:
			differ("%s: nrtd does not tell it", name)
		case said != nil && (*said < fwk.MinNodeScore || *said > fwk.MaxNodeScore):
			differ("%s: nrtd says %d, out of range", name, *said)
		case !known || wanted < fwk.MinNodeScore || wanted > fwk.MaxNodeScore || undefined(c, name):
		case said == nil:
			differ("%s: real %d, nrtd has no answer", name, wanted)
		case *said != wanted:
			differ("%s: real %d, nrtd %d", name, wanted, *said)
		}
	}
	return differences, nil
}

// nodeIDs are the NUMA ids of an object's zones in their order.
func nodeIDs(nrt *topologyv1alpha2.NodeResourceTopology) []int {
	var ids []int
	for _, zone := range nrt.Zones {
		if id, err := numanode.NameToID(zone.Name); err == nil && zone.Type == "Node" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Regular tells whether the NUMA ids are 0, 1, 2, ... in the order of the zones. The plugin uses ids as indexes into
// the list of zones: with others it looks at the wrong zone or crashes, and a scheduler with it.
func Regular(nrt *topologyv1alpha2.NodeResourceTopology) bool {
	for i, id := range nodeIDs(nrt) {
		if id != i {
			return false
		}
	}
	return true
}

// undefined tells whether the real answer rests on ids that are not regular, which nrtd does not copy.
func undefined(c Case, what string) bool {
	if Regular(c.NRT) {
		return false
	}
	ids := nodeIDs(c.NRT)
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	unique := len(slices.Compact(sorted)) == len(ids)
	switch what {
	case "Filter":
		return !unique
	case string(apiconfig.LeastNUMANodes):
		return !unique || len(c.Pod.Spec.Containers)+len(c.Pod.Spec.InitContainers) > 1
	default:
		return true
	}
}

// Smaller lists cases with one thing less.
func Smaller(c Case) []Case {
	var out []Case
	edit := func(change func(*Case)) {
		copied := Case{Weights: c.Weights, NRT: c.NRT.DeepCopy(), Pod: c.Pod.DeepCopy()}
		change(&copied)
		out = append(out, copied)
	}
	for i := range c.NRT.Zones {
		if i > 0 || len(c.NRT.Zones) > 1 && c.NRT.Zones[1].Type == "Node" { // nrtd refuses an object without Node zones
			edit(func(c *Case) { c.NRT.Zones = slices.Delete(c.NRT.Zones, i, i+1) })
		}
		for j := range c.NRT.Zones[i].Resources {
			edit(func(c *Case) { c.NRT.Zones[i].Resources = slices.Delete(c.NRT.Zones[i].Resources, j, j+1) })
		}
	}
	for i := range c.NRT.Attributes {
		edit(func(c *Case) { c.NRT.Attributes = slices.Delete(c.NRT.Attributes, i, i+1) })
	}
	if len(c.NRT.TopologyPolicies) > 0 {
		edit(func(c *Case) { c.NRT.TopologyPolicies = nil })
	}
	if c.Weights != 0 {
		edit(func(c *Case) { c.Weights = 0 })
	}
	if c.Pod.Spec.Overhead != nil {
		edit(func(c *Case) { c.Pod.Spec.Overhead = nil })
	}
	if c.Pod.Spec.Resources != nil {
		edit(func(c *Case) { c.Pod.Spec.Resources = nil })
	}
	for i := range c.Pod.Spec.InitContainers {
		edit(func(c *Case) { c.Pod.Spec.InitContainers = slices.Delete(c.Pod.Spec.InitContainers, i, i+1) })
	}
	for i, container := range c.Pod.Spec.Containers {
		if len(c.Pod.Spec.Containers) > 1 {
			edit(func(c *Case) { c.Pod.Spec.Containers = slices.Delete(c.Pod.Spec.Containers, i, i+1) })
		}
		for name := range container.Resources.Limits {
			edit(func(c *Case) {
				delete(c.Pod.Spec.Containers[i].Resources.Limits, name)
				delete(c.Pod.Spec.Containers[i].Resources.Requests, name)
			})
		}
	}
	return out
}
