// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"fmt"
	"maps"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"nrtd.dev/tests/upstream/internal/managers"
)

// state is how far a pod is.
type state int

const (
	pending  state = iota // no node yet
	bound                 // the kubelet has not decided
	admitted              // by the kubelet
	running
	ended // its phase is Succeeded or Failed
	deleted
)

// pod is a pod of the sequence.
type pod struct {
	id     string // in steps
	shape  int    // in Sequence.Pods; -1 = another one
	object *v1.Pod
	state  state
	uid    types.UID // as the kubelet knows it: a static pod has another one than its mirror
	node   *node     // nil = none
	mirror bool      // a fake mirror pod, or a hostile one: no kubelet ever admits it

	static bool // a static pod: what it holds is read from the node's object alone

	answers []*answer // that assumed the pod on a node, the oldest first
	// resourceVersions of Pod events; never = not yet
	boundAt, endAt int64
	shownAt        int64 // of the first object that can report a static pod
	// orders of what happened on the node; never = not yet
	boundOrder, admitOrder, endOrder int
}

// answer is an answer that assumed a pod on a node.
type answer struct {
	node     *node
	instance int   // of the process that answered
	order    int   // when
	pods     int64 // resourceVersion of the last Pod event that the process had read
	nrts     int64 // and of the last one about an object
	forgot   int   // order at which the process forgot the assumed pod; never = still assumed
	exact    bool  // the node publishes its own state
}

// alive is whether the API server has the pod and it has not ended.
func (p *pod) alive() bool { return p.state < ended }

// last is the newest answer, nil = none.
func (p *pod) last() *answer {
	if len(p.answers) == 0 {
		return nil
	}
	return p.answers[len(p.answers)-1]
}

func (p *pod) String() string {
	r := requestsOf(p.object)
	return fmt.Sprintf("%s (%s, %d containers, %v)", p.id, v1qos.GetPodQOS(p.object), len(p.object.Spec.Containers), brief(r))
}

func brief(r v1.ResourceList) string {
	text := ""
	for i, name := range sorted(maps.Keys(r)) {
		amount := r[v1.ResourceName(name)]
		if i > 0 {
			text += " "
		}
		text += name + "=" + amount.String()
	}
	return text
}

func requestsOf(object *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{})
}

// aligns tells whether a kubelet may have to align the pod. Other pods pass every node.
func aligns(object *v1.Pod) bool {
	if v1qos.GetPodQOS(object) == v1.PodQOSGuaranteed {
		return true
	}
	for name := range requestsOf(object) {
		if strings.Contains(string(name), "/") { // an extended resource
			return true
		}
	}
	return false
}

// newPod is a pod that waits for a node.
func newPod(id, namespace, name string, spec v1.PodSpec) *pod {
	uid := types.UID("uid-" + id)
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: uid, Generation: 1, CreationTimestamp: metav1.Now()},
		Spec: *spec.DeepCopy(), Status: v1.PodStatus{Phase: v1.PodPending}}
	object.Status.QOSClass = v1qos.GetPodQOS(object)
	return &pod{id: id, object: object, uid: uid, boundAt: never, endAt: never, shownAt: never, boundOrder: never, admitOrder: never, endOrder: never}
}

func (p *pod) key() string { return p.object.Namespace + "/" + p.object.Name }

// ---- what the kubelet writes to the status

func (p *pod) setAdmitted() {
	p.object.Status.StartTime = &metav1.Time{Time: time.Now()}
}

func (p *pod) setRunning() {
	p.object.Status.Phase = v1.PodRunning
	p.object.Status.ContainerStatuses = nil
	for _, c := range p.object.Spec.Containers {
		p.object.Status.ContainerStatuses = append(p.object.Status.ContainerStatuses, v1.ContainerStatus{Name: c.Name, Ready: true,
			AllocatedResources: c.Resources.Requests.DeepCopy(), State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}}})
	}
}

func (p *pod) setRejected(verdict *managers.Verdict) {
	p.setFailed(verdict.Reason)
	p.object.Status.Message = verdict.Message
}

func (p *pod) setFailed(reason string) {
	p.object.Status.Phase, p.object.Status.Reason = v1.PodFailed, reason
	p.object.Status.Message = "The pod has failed: " + reason
	if p.object.Status.StartTime == nil {
		p.object.Status.StartTime = &metav1.Time{Time: time.Now()}
	}
}

func (p *pod) setTerminated(phase v1.PodPhase) {
	p.object.Status.Phase = phase
	for i := range p.object.Status.ContainerStatuses {
		s := &p.object.Status.ContainerStatuses[i]
		s.Ready, s.State = false, v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}}
	}
}

// setResize asks for other CPUs of the first container, which the kubelet calls infeasible or grants.
func (p *pod) setResize(cpus v1.ResourceList, infeasible bool) {
	c := &p.object.Spec.Containers[0]
	c.Resources.Requests, c.Resources.Limits = c.Resources.Requests.DeepCopy(), c.Resources.Limits.DeepCopy()
	for name, amount := range cpus {
		c.Resources.Requests[name] = amount
		if _, limited := c.Resources.Limits[name]; limited {
			c.Resources.Limits[name] = amount
		}
	}
	p.object.Generation++
	p.object.Status.Conditions = nil
	if infeasible {
		p.object.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible,
			Message: "the kubelet does not grant it"}}
	} else if len(p.object.Status.ContainerStatuses) > 0 {
		p.object.Status.ContainerStatuses[0].AllocatedResources = c.Resources.Requests.DeepCopy()
	}
}
