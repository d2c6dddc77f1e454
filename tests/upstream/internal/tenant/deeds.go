// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// rights tries what the role edit does not have: what follows rests on it.
func (t *Test) rights(ctx context.Context) {
	pods := t.user.CoreV1().Pods(userNamespace)
	pod, err := pods.Create(ctx, guaranteed("rights", "1", "1Mi"), metav1.CreateOptions{})
	if !t.check(err == nil, "the user creates a pod", "%v", err) {
		return
	}
	t.made = append(t.made, pod.Name)
	for subresource, patch := range map[string]string{
		"status":              `{"status":{"phase":"Failed","reason":"Evicted"}}`,
		"ephemeralcontainers": `{"spec":{"ephemeralContainers":[{"name":"e","image":"x"}]}}`,
		"resize":              `{"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}]}}`,
	} {
		_, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresource)
		word := "may"
		if apierrors.IsForbidden(err) {
			word = "may not"
		}
		fmt.Printf("the role edit %s write pods/%s\n", word, subresource)
		t.check(subresource != "status" || apierrors.IsForbidden(err), "the user writes no status", "%v", err)
	}
	_, err = t.user.CoreV1().Pods(victimNamespace).List(ctx, metav1.ListOptions{Limit: 1})
	t.check(apierrors.IsForbidden(err), "the user has no rights beside his namespace", "%v", err)
}

// place creates a pod on a node, as the user.
func (t *Test) place(ctx context.Context, pod *v1.Pod, node string) (*v1.Pod, error) {
	pod.Spec.NodeName = node
	pod, err := t.user.CoreV1().Pods(userNamespace).Create(ctx, pod, metav1.CreateOptions{})
	if err == nil {
		t.made = append(t.made, pod.Name)
	}
	return pod, err
}

// mirrors are pods that say that they are another tenant's, and end.
func (t *Test) mirrors(ctx context.Context, before string) error {
	made := 0
	for i, victim := range t.victims {
		for k, said := range []string{string(victim.UID), victim.Name} {
			pod := podOf(fmt.Sprintf("mirror-%d-%d", i, k), v1.Container{Name: "app", Image: "x"})
			pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: said, "kubernetes.io/config.hash": said, "kubernetes.io/config.source": "file"}
			if _, err := t.place(ctx, pod, victim.Spec.NodeName); err == nil {
				made++
			} else if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				return err
			}
		}
	}
	t.rows = append(t.rows, row{name: "mirror pods", made: made, refused: 2*len(t.victims) - made})
	t.followed(ctx, "mirror pods")
	t.same(ctx, "mirror pods that are there: others' verdicts", before)
	for _, name := range t.made { // some end, as their kubelet says, before they are deleted
		if err := t.reject(ctx, name, v1.PodSucceeded, ""); err != nil {
			return err
		}
	}
	t.followed(ctx, "mirror pods that have ended")
	t.same(ctx, "mirror pods that have ended: others' verdicts", before)
	if err := t.remove(ctx); err != nil {
		return err
	}
	t.followed(ctx, "mirror pods that are gone")
	return nil
}

// reject is what the kubelet writes of a pod that it does not run, or does not run any more.
func (t *Test) reject(ctx context.Context, name string, phase v1.PodPhase, reason string) error {
	patch := fmt.Sprintf(`{"status":{"phase":%q,"reason":%q,"message":"x"}}`, phase, reason)
	_, err := t.admin.CoreV1().Pods(userNamespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// rejected are pods like others' that the user binds himself and kubelets reject.
func (t *Test) rejected(ctx context.Context, before string) error {
	reasons := []string{"NodeAffinity", "OutOfpods", "DeadlineExceeded", "Evicted", "OutOfcpu", "TopologyAffinityError", "UnexpectedAdmissionError", "Preempting"}
	for i, node := range t.names {
		pod, err := t.place(ctx, podOf(fmt.Sprint("rejected-", i), container("app", probes[0])), node)
		if err != nil {
			return err
		}
		if i%2 == 0 { // the extender sees it bound before it ends, or not
			t.followed(ctx, "rejected pods: bound")
		}
		if err := t.reject(ctx, pod.Name, v1.PodFailed, reasons[i%len(reasons)]); err != nil {
			return err
		}
	}
	t.rows = append(t.rows, row{name: "rejected pods", made: len(t.names)})
	t.followed(ctx, "rejected pods")
	t.same(ctx, "rejected pods that are there: others' verdicts", before)
	if err := t.remove(ctx); err != nil {
		return err
	}
	t.followed(ctx, "rejected pods that are gone")
	return nil
}

// loop creates and deletes pods; the scheduler sends a request for each pod before or after its deletion.
func (t *Test) loop(ctx context.Context, before string) error {
	const count = 40
	pods := t.user.CoreV1().Pods(userNamespace)
	c := client(patience)
	defer c.CloseIdleConnections()
	for i := range count {
		pod, err := pods.Create(ctx, guaranteed(fmt.Sprint("loop-", i), "7", "1Gi"), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		late := i%2 == 0
		if !late {
			_, err = ask(t.extender, c, filterOf(pod, t.names))
		}
		if err == nil {
			err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		}
		if err == nil && late {
			if i%8 == 0 {
				t.followed(ctx, "create and delete")
			}
			_, err = ask(t.extender, c, filterOf(pod, t.names))
		}
		if err != nil {
			return err
		}
	}
	t.rows = append(t.rows, row{name: "create and delete", made: count})
	t.followed(ctx, "create and delete")
	if err := daemon.Sleep(ctx, assumedLimit); err != nil {
		return err
	}
	assumed, err := metric(t.extender, "nrtd_extender_assumed_pods")
	t.check(err == nil && assumed == 0, "create and delete: assumed pods", "%v still assumed %v after their deletion (%v)", assumed, assumedLimit, err)
	return nil
}

// table prints what each kind of pods cost.
func (t *Test) table() {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
	const format = "%-30s %5v %8v %6v %12s %13s %11s %12s %9v\n"
	fmt.Printf(format, "pods", "made", "refused", "size", "parsing/MiB", "request, CPU", "others, CPU", "others, wall", "RSS, MiB")
	for _, r := range t.rows {
		fmt.Printf(format, r.name, r.made, r.refused, r.size, ms(r.reading), ms(r.request), ms(r.others), ms(r.wall), math.Round(daemon.MiB(r.rss)))
		if r.why != "" {
			fmt.Printf("    refused: %s\n", r.why[max(0, len(r.why)-200):])
		}
	}
}
