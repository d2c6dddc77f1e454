// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"nrtd.dev/tests/upstream/internal/manifests"
)

const (
	judgedTimeout = 60 * time.Second // of the pods of a manifest
	quietFor      = 2 * time.Second  // pods that no node is found for may still be scheduled
	silentFor     = 10 * time.Second // the scheduler says nothing of a pod whose claims are not created
	freeTimeout   = 40 * time.Second // until the nodes' objects are as before
)

// Verdict is what `kubectl numa fit` says of a manifest, and what then happens to its pods.
type Verdict struct {
	Name    string // file and object
	Wanted  int
	Answer  string // of fit: "fits", "unknown", "refused"
	Placed  int    // pods that fit
	Said    string // by fit
	Without string // what fit has not evaluated
	Refused string // by the API server, on creation
	// Admitted pods by kubelets, Rejected by kubelets, Waiting for a node.
	Admitted, Rejected, Waiting int
	Why                         string // a pod is rejected or waits
}

// Class is the comparison: "equal", "unknown" (no verdict), "not evaluated" (pods wait, and fit says what it has not evaluated), "too many" (fit
// says that more pods fit than are admitted, or that a refused one fits), "too few".
func (v *Verdict) Class() string {
	switch {
	case v.Answer == "unknown":
		return "unknown"
	case v.Rejected == 0 && v.Placed > v.Admitted && v.Without != "":
		return "not evaluated"
	case v.Rejected > 0 || v.Placed > v.Admitted || (v.Refused != "") != (v.Answer == "refused"):
		return "too many"
	case v.Placed < v.Admitted:
		return "too few"
	}
	return "equal"
}

func (v *Verdict) String() string {
	text := fmt.Sprintf("%s: %d pods wanted, %s %d; admitted %d, rejected %d, waiting %d", v.Name, v.Wanted, v.Answer, v.Placed, v.Admitted, v.Rejected, v.Waiting)
	for _, said := range []string{v.Said, v.Without, v.Refused, v.Why} {
		if said != "" {
			text += "; " + said
		}
	}
	return text
}

// Verdicts asks about each manifest, creates its pods as its controller would, and waits until they are admitted, rejected or found
// unschedulable. Before that, pods of the workload fill the nodes in part.
func (d *Driver) Verdicts(ctx context.Context, workload *Workload, seed uint64, cases []manifests.Case, each func(*Verdict)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ways, err := WaysNamed([]string{"extender"})
	if err != nil {
		return err
	}
	p, err := d.newPlay(&ways[0], workload)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.start(ctx); err != nil {
		return err
	}
	p.saw, p.admitted, p.refused = func(*v1.Pod) {}, func(*v1.Pod, int) {}, func(*v1.Pod, string, string) {}
	if err := p.schedule(ctx); err != nil {
		return err
	}
	if err := p.occupy(ctx, seed); err != nil {
		return err
	}
	for _, c := range cases {
		verdict, err := p.verdict(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		each(verdict)
	}
	return p.failure()
}

// occupy creates pods of the workload, and deletes those that do not run.
func (p *play) occupy(ctx context.Context, seed uint64) error {
	var pods []*v1.Pod
	for i, slot := range p.workload.Draw(seed, p.Pods, p.Burst, p.Share, p.Nodes) {
		pods = append(pods, slot.Pod(podName(i, 0)))
	}
	if _, err := p.create(ctx, pods); err != nil {
		return err
	}
	states, err := p.judged(ctx, pods)
	if err != nil {
		return err
	}
	for i, state := range states {
		if state.Status.Phase != v1.PodRunning {
			if err := p.delete(ctx, pods[i:i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// create creates the pods and sets their names. The error is about the experiment, the text is the API server's refusal.
func (p *play) create(ctx context.Context, pods []*v1.Pod) (string, error) {
	for i, pod := range pods {
		created, err := p.client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
			return err.Error(), p.delete(ctx, pods[:i])
		}
		if err != nil {
			return "", err
		}
		pod.Name, pod.UID = created.Name, created.UID
	}
	return "", nil
}

// delete deletes the pods and waits until they are gone.
func (p *play) delete(ctx context.Context, pods []*v1.Pod) error {
	client := p.client.CoreV1().Pods(metav1.NamespaceDefault)
	for _, pod := range pods {
		if err := client.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	for _, pod := range pods {
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, judgedTimeout, true, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, pod.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			return fmt.Errorf("%s is not deleted: %w", pod.Name, err)
		}
	}
	return nil
}

// unschedulable is what the scheduler says of a pod for which it finds no node.
func unschedulable(pod *v1.Pod) (string, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
			return c.Reason + ": " + c.Message, true
		}
	}
	return "", false
}

// judged waits until each pod runs, is rejected, or is and stays unschedulable, or the scheduler says nothing of it.
func (p *play) judged(ctx context.Context, pods []*v1.Pod) (states []*v1.Pod, err error) {
	last, since := "", time.Now()
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, judgedTimeout, true, func(ctx context.Context) (bool, error) {
		states = nil
		now, open, waiting, silent := "", 0, 0, 0
		for _, pod := range pods {
			state, err := p.client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, pod.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			_, waits := unschedulable(state)
			switch {
			case state.Status.Phase != v1.PodPending:
			case waits && state.Spec.NodeName == "":
				waiting++
			case p.nodes[state.Spec.NodeName] == nil: // also of a manifest that names another node
				silent++
			default:
				open++
			}
			states = append(states, state)
			now += string(state.Status.Phase) + state.Spec.NodeName + " "
		}
		if now != last {
			last, since = now, time.Now()
		}
		quiet := time.Since(since)
		return open == 0 && (waiting == 0 || quiet > quietFor) && (silent == 0 || quiet > silentFor), nil
	})
	if err != nil {
		return nil, fmt.Errorf("the pods are not judged: %s: %w", last, err)
	}
	return states, nil
}

// free is what each node's object has available.
func (p *play) free() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		object := p.watch.Newest(name)
		if object.NodeResourceTopology == nil {
			continue
		}
		b.WriteString(available(object.NodeResourceTopology))
	}
	return b.String()
}

func available(object *topologyv1alpha2.NodeResourceTopology) string {
	var b strings.Builder
	for _, zone := range object.Zones {
		for _, r := range zone.Resources {
			fmt.Fprintf(&b, "%s %s %s %s\n", object.Name, zone.Name, r.Name, r.Available.String())
		}
	}
	return b.String()
}

// settled waits until the objects have not changed for a second.
func (p *play) settled(ctx context.Context) (string, error) {
	last, since := p.free(), time.Now()
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, freeTimeout, true, func(context.Context) (bool, error) {
		if now := p.free(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > time.Second, nil
	})
	return last, err
}

// tidy has the kubelets' CPU managers look after their state, so that ended pods are in no file.
func (p *play) tidy() {
	for _, n := range p.nodes {
		n.tasks <- func(context.Context) error {
			return n.managers.Ask(map[string]any{"tidyCPUs": true}, &struct{}{})
		}
	}
}

// verdict compares one manifest. Afterwards the nodes are as before.
func (p *play) verdict(ctx context.Context, c manifests.Case) (*Verdict, error) {
	if err := p.prepare(ctx, c); err != nil {
		return nil, err
	}
	before, err := p.settled(ctx)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Name: c.Name}
	if err := p.askFit(ctx, c, v); err != nil {
		return nil, err
	}
	pods := c.Pods(NodeNames(p.Nodes))
	v.Wanted = len(pods)
	if v.Refused, err = p.create(ctx, pods); err != nil || v.Refused != "" {
		return v, err
	}
	states, err := p.judged(ctx, pods)
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		why, waits := unschedulable(state)
		switch {
		case state.Status.Phase == v1.PodFailed:
			v.Rejected++
			v.Why = state.Status.Reason + ": " + state.Status.Message
		case state.Status.Phase == v1.PodRunning:
			v.Admitted++
		default:
			v.Waiting++
			if v.Why = why; !waits {
				v.Why = "the scheduler says nothing"
			}
		}
	}
	if err := p.delete(ctx, pods); err != nil {
		return nil, err
	}
	p.tidy()
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, freeTimeout, true, func(context.Context) (bool, error) { return p.free() == before, nil })
	if err != nil {
		return nil, errors.New("the nodes' objects still have resources of deleted pods")
	}
	return v, nil
}

// prepare creates what the manifest's pods name: the ServiceAccount, the PriorityClass, the RuntimeClass.
func (p *play) prepare(ctx context.Context, c manifests.Case) error {
	var errs []error
	spec := &c.Template.Spec
	if name := spec.ServiceAccountName; name != "" {
		_, err := p.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		errs = append(errs, err)
	}
	if name := spec.PriorityClassName; name != "" && !strings.HasPrefix(name, "system-") {
		_, err := p.client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		errs = append(errs, err)
	}
	if name := spec.RuntimeClassName; name != nil {
		_, err := p.client.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: *name}, Handler: "runc"}, metav1.CreateOptions{})
		errs = append(errs, err)
	}
	for _, err := range errs {
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsInvalid(err) {
			return err
		}
	}
	return nil
}

// askFit runs `kubectl numa fit` with a dry run.
func (p *play) askFit(ctx context.Context, c manifests.Case, v *Verdict) error {
	path := filepath.Join(p.dir, "manifest.json")
	if err := os.WriteFile(path, c.JSON, 0o644); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(p.Nrtd), "kubectl-numa"), "fit", "-f", path, "--dry-run=server", "-o", "json",
		"--kubeconfig", p.kubeconfig("admin"))
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if command.ProcessState == nil {
		return err
	}
	v.Said = strings.TrimSpace(stderr.String())
	if command.ProcessState.ExitCode() == 2 {
		v.Answer = "refused"
		return nil
	}
	var answer struct {
		Fits, Unknown int
		Replicas      *struct{ Wanted, Placed int }
		NotEvaluated  []string
		Unchecked     []string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return fmt.Errorf("fit: %w: %s%s", err, out, v.Said)
	}
	v.Answer = "fits"
	switch {
	case answer.Replicas != nil:
		v.Placed = answer.Replicas.Placed
	case c.Kind == "DaemonSet":
		v.Placed = answer.Fits
	default:
		v.Placed = min(answer.Fits, 1)
	}
	if command.ProcessState.ExitCode() == 1 {
		v.Answer = "unknown"
	}
	if without := append(answer.NotEvaluated, answer.Unchecked...); len(without) > 0 {
		v.Without = "not evaluated: " + strings.Join(without, ", ")
	}
	return nil
}
