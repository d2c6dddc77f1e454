// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

// Change is a cluster, and other settings for its kubelets, which restart with them while their pods run.
type Change struct {
	Cluster *Cluster `json:"cluster"`
	Set     []string `json:"set"` // KEY=VALUE as for `kubectl numa simulate`
}

// ChangeTally is what happened in a run.
type ChangeTally struct {
	Changes, Nodes, Refused, GivenUp int
	Files                            int // state files that had to be removed
	Pods, Lost, Unknown              int // pods that were admitted again, those that were rejected, those of unknown verdict
	LeftAlone                        int // nodes
	Unstarted                        int // kubelets that do not start with the changed settings
}

func (t ChangeTally) String() string {
	return fmt.Sprintf("%d changes on %d nodes (%d more refused by the kubelet; %d clusters given up by its code); %d nodes left alone; %d state files removed, %d kubelets did not start; "+
		"of %d pods %d were rejected; %d of the verdicts unknown", t.Changes, t.Nodes, t.Refused, t.GivenUp, t.LeftAlone, t.Files, t.Unstarted, t.Pods, t.Lost, t.Unknown)
}

const maxChangedNodes = 3

// RandomChange draws a cluster of a few nodes and a change of their settings.
func RandomChange(r *rand.Rand, machines map[string]*kubelet.Machine) *Change {
	c := &Change{Cluster: Random(r, machines)}
	for len(c.Cluster.Nodes) > maxChangedNodes {
		c.Cluster.removeNode(len(c.Cluster.Nodes) - 1)
	}
	for _, n := range c.Cluster.Nodes {
		n.Without, n.Pods = "", 0
	}
	c.Cluster.Steps = slices.DeleteFunc(c.Cluster.Steps, func(s Step) bool { return s.Late })
	for range r.IntN(3) {
		setting := drawSetting(r)
		key, _, _ := strings.Cut(setting, "=")
		// The same key twice is an error.
		if !slices.ContainsFunc(c.Set, func(other string) bool { return strings.HasPrefix(other, key+"=") }) {
			c.Set = append(c.Set, setting)
		}
	}
	return c
}

func drawSetting(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0, 1:
		return "topologyManagerPolicy=" + pick(r, "none", "best-effort", "restricted", "single-numa-node")
	case 2:
		return "topologyManagerScope=" + pick(r, "container", "pod")
	case 3:
		return "cpuManagerPolicy=" + pick(r, "none", "static")
	case 4:
		return "memoryManagerPolicy=" + pick(r, "None", "Static")
	case 5:
		return "full-pcpus-only=" + pick(r, "true", "false")
	case 6:
		return pick(r, "strict-cpu-reservation", "prefer-closest-numa-nodes") + "=" + pick(r, "true", "false")
	}
	return fmt.Sprintf("reservedSystemCPUs=%d-%d", r.IntN(2), 1+r.IntN(3))
}

// SmallerChange lists changes with one thing less.
func SmallerChange(c *Change) (out []*Change) {
	for i := range c.Set {
		out = append(out, &Change{c.Cluster, slices.Delete(slices.Clone(c.Set), i, i+1)})
	}
	for _, cluster := range Smaller(c.Cluster) {
		out = append(out, &Change{cluster, c.Set})
	}
	return out
}

// applied returns the configuration with the settings.
func applied(config *kubeletconfigv1beta1.KubeletConfiguration, set []string) *kubeletconfigv1beta1.KubeletConfiguration {
	config = config.DeepCopy()
	for _, setting := range set {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "topologyManagerPolicy":
			config.TopologyManagerPolicy = value
		case "topologyManagerScope":
			config.TopologyManagerScope = value
		case "cpuManagerPolicy":
			config.CPUManagerPolicy = value
		case "memoryManagerPolicy":
			config.MemoryManagerPolicy = value
		case "reservedSystemCPUs":
			config.ReservedSystemCPUs = value
		case "prefer-closest-numa-nodes":
			config.TopologyManagerPolicyOptions = with(config.TopologyManagerPolicyOptions, key, value)
		default:
			config.CPUManagerPolicyOptions = with(config.CPUManagerPolicyOptions, key, value)
		}
	}
	if config.CPUManagerPolicy != "static" {
		config.CPUManagerPolicyOptions = nil // the kubelet would not start
	}
	return config
}

func with(options map[string]string, key, value string) map[string]string {
	if options == nil {
		options = map[string]string{}
	}
	options[key] = value
	return options
}

// simulation is what the command prints.
type simulation struct {
	Nodes []struct {
		Node            string
		Action, Problem *string
	}
	Pods      []struct{ Namespace, Pod, Node, What, Reason string }
	LeftAlone []struct{ Node, Reason string }
}

// PlayChange returns what was wrong about the simulation, a line each. The cluster counts as right if the kubelet's code gives up.
func (d *Driver) PlayChange(ctx context.Context, c *Change) (wrong []string, err error) {
	p := d.newPlayer(ctx, c.Cluster)
	defer os.RemoveAll(p.dir)
	d.Changed.Changes++
	if err = p.prepare(); err == nil && len(p.nodes) > 0 {
		wrong, err = p.change(c)
	}
	p.close(err == nil)
	if errors.Is(err, kubeletnode.ErrKubelet) {
		d.Changed.GivenUp++
		return nil, nil
	}
	return wrong, err
}

func (p *player) change(c *Change) (wrong []string, err error) {
	said, err := p.simulate(c)
	for _, n := range p.nodes {
		if err == nil {
			var lines []string
			lines, err = p.restart(n, c, said)
			wrong = append(wrong, lines...)
		}
	}
	return wrong, err
}

func (p *player) simulate(c *Change) (*simulation, error) {
	objects, err := p.write("objects.json", p.objects())
	if err != nil {
		return nil, err
	}
	args := []string{"simulate", "--restart", "--from", objects, "-o", "json"}
	for _, setting := range c.Set {
		args = append(args, "--set", setting)
	}
	var stderr bytes.Buffer
	command := exec.CommandContext(p.ctx, p.Numa, args...)
	command.Stderr = &stderr
	text, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(text) > 0 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("kubectl-numa %v: %w: %s", args, err, stderr.String())
	}
	said := &simulation{}
	return said, json.Unmarshal(text, said)
}

// restart restarts the node's kubelet with the changed settings, and compares what becomes of the pods.
func (p *player) restart(n *node, c *Change, said *simulation) (wrong []string, err error) {
	say := func(format string, args ...any) {
		wrong = append(wrong, n.Name+": "+fmt.Sprintf(format, args...))
	}
	var action, problem string
	for _, s := range said.Nodes {
		if s.Node == n.Name {
			action, problem = text(s.Action), text(s.Problem)
		}
	}
	for _, s := range said.LeftAlone {
		if s.Node == n.Name {
			p.Changed.LeftAlone++ // a pod with unusual resources is not reported as nrtd expects
			if p.Verbose {
				fmt.Printf("  | %s is left alone: %s\n", n.Name, s.Reason)
			}
			return nil, nil
		}
	}
	verdicts := map[string]string{}
	for _, s := range said.Pods {
		if s.Node == n.Name && (s.What == "rejected" || s.What == "unknown") {
			verdicts[s.Namespace+"/"+s.Pod] = s.What + ": " + s.Reason
		}
	}
	p.Changed.Nodes++
	n.Managers.TidyCPUs()
	n.Managers.TidyMemory() // otherwise the file lists pods that no object shows
	config := applied(n.setup.Config, c.Set)
	startErr := n.Restart(p.ctx, config, n.setup.Devices)
	if problem == "-" && action != "-" {
		if startErr == nil {
			say("the kubelet starts with its state files; said: %s", action)
			return wrong, nil
		}
		files, _, _ := strings.Cut(strings.TrimPrefix(action, "remove "), ":")
		for _, file := range strings.Split(files, " and ") {
			p.Changed.Files++
			if err := os.Remove(filepath.Join(n.Kubelet(), file)); err != nil {
				return wrong, err
			}
		}
		startErr = n.Restart(p.ctx, config, n.setup.Devices)
	}
	if startErr != nil {
		p.Changed.Unstarted++
		if problem == "-" {
			say("the kubelet does not start: %v; action: %s", startErr, action)
		}
		return wrong, nil
	}
	pods := []*pod{}
	for _, q := range p.pods {
		if q.node == n {
			pods = append(pods, q)
		}
	}
	staticFirst := len(pods)%2 == 0 // the kubelet hears of static pods before or after it hears of the others
	slices.SortFunc(pods, func(a, b *pod) int {
		if static := isStatic(a.object); static != isStatic(b.object) {
			if static == staticFirst {
				return -1
			}
			return 1
		}
		if order := a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(keyOf(a.object), keyOf(b.object))
	})
	for _, q := range pods {
		admitted, reason, err := n.again(q)
		if err != nil {
			return wrong, err
		}
		verdict := verdicts[keyOf(q.object)]
		p.Changed.Pods++
		if !admitted {
			p.Changed.Lost++
		}
		if p.Verbose {
			fmt.Printf("  | %s %s: admitted %v %s; said %q\n", n.Name, keyOf(q.object), admitted, reason, verdict)
		}
		switch {
		case strings.HasPrefix(verdict, "unknown"):
			p.Changed.Unknown++
		case admitted && verdict != "":
			say("%s is admitted again; said %s", keyOf(q.object), verdict)
		case !admitted && verdict == "":
			say("%s is rejected: %s; said nothing", keyOf(q.object), reason)
		}
	}
	return wrong, nil
}

// again has the restarted kubelet decide about a running pod. Its managers do not know the node's labels.
func (n *node) again(q *pod) (admitted bool, reason string, err error) {
	verdict, err := n.admit(q.object, q.uid)
	if err != nil || !verdict.Admitted {
		if verdict != nil {
			reason = verdict.Reason + ": " + verdict.Message
		}
		return false, reason, err
	}
	if isStatic(q.object) || selects(q.object, n.setup.Labels) {
		return true, "", nil
	}
	return false, "NodeAffinity", n.Managers.Drop(keyOf(q.object))
}

func isStatic(object *v1.Pod) bool { return object.Annotations[mirrorAnnotation] != "" }

func selects(object *v1.Pod, labels map[string]string) bool {
	for key, value := range object.Spec.NodeSelector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
