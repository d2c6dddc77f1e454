// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	// planAfter is how long a pod waits before kubectl numa plan --apply runs.
	planAfter = 5 * time.Second
	// protectedLabel marks the pods of a PodDisruptionBudget that allows no disruption.
	protectedLabel = "test.nrtd.dev/protected"
)

// own makes the pod one of a controller, and protects every fourth slot.
func own(pod *v1.Pod, slot int) {
	name := fmt.Sprintf("slot-%d", slot)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name,
		UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", slot)), Controller: ptr.To(true)}}
	if slot%4 == 0 {
		pod.Labels = map[string]string{protectedLabel: "true"}
	}
}

// protect creates the PodDisruptionBudget. Its status stays as created: nothing is allowed.
func (p *play) protect(ctx context.Context, namespace string) error {
	_, err := p.client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "protected"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{protectedLabel: "true"}}}}, metav1.CreateOptions{})
	return err
}

// plans runs `kubectl numa plan --pending --apply` while a pod waits, if the way has it. The function that it returns stops that, and
// returns the exit statuses; -1 = killed.
func (p *play) plans(ctx context.Context, seed uint64) (func() map[int]int, error) {
	if !p.way.plan {
		return func() map[int]int { return nil }, nil
	}
	if err := p.protect(ctx, metav1.NamespaceDefault); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done, statuses := make(chan struct{}), map[int]int{}
	go func() {
		defer close(done)
		r := rand.New(rand.NewPCG(seed, 7))
		for ctx.Err() == nil {
			if p.slots.waits(planAfter) {
				status, err := p.plan(ctx, p.KillPlan && r.IntN(2) == 0, r)
				if err != nil {
					p.failed(err)
				}
				statuses[status]++
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return func() map[int]int {
		cancel()
		<-done
		return statuses
	}, nil
}

// plan runs the program once.
func (p *play) plan(ctx context.Context, kill bool, r *rand.Rand) (int, error) {
	if kill {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(4000))*time.Millisecond)
		defer cancel()
	}
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(p.Nrtd), "kubectl-numa"), "plan", "--pending", "--apply", "--allow-partial",
		"--timeout", "20s", "--extender-lease", lease, "--kubeconfig", p.kubeconfig("admin"))
	said, err := command.CombinedOutput()
	if command.ProcessState == nil {
		return 0, err
	}
	status := command.ProcessState.ExitCode()
	if status == 1 || status == 2 {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		p.slots.story("kubectl numa plan --apply: " + lines[len(lines)-1])
	}
	return status, nil
}
