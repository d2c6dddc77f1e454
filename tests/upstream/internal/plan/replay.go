// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/managers"
)

// exits are the exit statuses of the command.
var exits = map[string]int{"full": 0, "partial": 4, "none": 3}

// replay carries the plan out, until something is wrong.
func (p *player) replay(plan *plan) ([]string, error) {
	if p.Verbose {
		fmt.Printf("  | %s: %d of %d placed\n", plan.Outcome, plan.Placed, plan.Wanted)
	}
	if err := p.checkNeed(plan); err != nil {
		return nil, err
	}
	for i, step := range plan.Steps {
		if p.Verbose {
			fmt.Printf("  | %v\n", step)
		}
		wrong, err := p.carryOut(step)
		if err != nil {
			return nil, err
		}
		if wrong != "" {
			return []string{fmt.Sprintf("step %d of %d, %v: %s", i+1, len(plan.Steps), step, wrong)}, nil
		}
	}
	p.Tally.count(plan)
	wrong := p.checkSums(plan)
	if len(wrong) > 0 {
		return wrong, nil
	}
	return p.checkUnplaced(plan)
}

// carryOut does one step, and returns what is wrong about it.
func (p *player) carryOut(s *step) (string, error) {
	key := s.Namespace + "/" + s.Pod
	if s.Action == "start" {
		object := p.wanted[key]
		if object == nil || s.From != nil || s.Cost != nil {
			return "no such pod is wanted", nil
		}
		delete(p.wanted, key)
		return p.start(s, key, object)
	}
	q := p.pods[key]
	if q == nil {
		return "no such pod runs", nil
	}
	if wrong := p.checkLeaving(s, q); wrong != "" {
		return wrong, nil
	}
	delete(p.pods, key)
	if err := q.node.Drop(q.uid); err != nil {
		return "", err
	}
	if s.Action == "evict" {
		if budgets := p.budgetsOf(q.object); len(budgets) > 0 {
			p.allowed[budgets[0]]--
		}
		if s.To != nil {
			return "an evicted pod has a place", nil
		}
		return "", nil
	}
	return p.start(s, key, q.object)
}

// start has the kubelet of the step's destination decide.
func (p *player) start(s *step, key string, object *v1.Pod) (string, error) {
	n := p.nodeNamed(text(s.To))
	if n == nil || s.Verdict == nil || *s.Verdict != "admitted" {
		return "no destination", nil
	}
	if wrong := p.constraint(n, object); wrong != "" {
		return wrong, nil
	}
	object = object.DeepCopy()
	object.Namespace, object.Name = s.Namespace, s.Pod+"-again" // the controller makes another pod
	uid := types.UID("again-" + key)
	verdict, err := n.admit(object, uid)
	if err != nil {
		return "", err
	}
	if !verdict.Admitted {
		p.Tally.Rejected++
		return fmt.Sprintf("the kubelet rejects the pod: %s: %s", verdict.Reason, verdict.Message), nil
	}
	p.Tally.Admitted++
	p.pods[key] = &pod{object: object, uid: uid, node: n, moved: true}
	return n.compare(s, verdict), nil
}

// ---- checks of a step

// checkLeaving returns why the pod must not leave its node.
func (p *player) checkLeaving(s *step, q *pod) string {
	switch {
	case q.moved:
		return "the pod has been moved before"
	case s.Action != "move" && (s.Action != "evict" || !p.cluster.Options.Evict):
		return "no such action"
	case s.Action == "move" && p.cluster.Options.Evict:
		return "with --evict pods are not moved"
	case text(s.From) != q.node.Name:
		return "the pod runs on " + q.node.Name
	case s.UID == nil || *s.UID != string(q.object.UID):
		return "the pod has the UID " + string(q.object.UID)
	case q.node.obstacle() != "":
		return "a pod leaves a node with the obstacle: " + q.node.obstacle()
	case s.Cost == nil || *s.Cost != costOf(q.object):
		return fmt.Sprintf("the move costs %d", costOf(q.object))
	}
	return p.fixed(q.object)
}

// fixed returns why the pod must not be moved at all.
func (p *player) fixed(object *v1.Pod) string {
	o := &p.cluster.Options
	var controller string
	for _, owner := range object.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			controller = owner.Kind
		}
	}
	budgets := p.budgetsOf(object)
	switch {
	case object.Annotations[mirrorAnnotation] != "":
		return "a static pod"
	case controller == "DaemonSet":
		return "a pod of a DaemonSet"
	case controller == "" && !o.AllowBare:
		return "a pod without a controller"
	case object.DeletionTimestamp != nil:
		return "a pod that is being deleted"
	case slices.Contains(o.Keep, object.Namespace):
		return "a pod of a kept namespace"
	case o.BelowPriority != nil && priorityOf(object) >= *o.BelowPriority:
		return "a pod of a high priority"
	case len(object.Spec.Volumes) > 0 && !o.AllowLocalStorage:
		return "a pod with local storage"
	case len(budgets) > 1:
		return "a pod with several budgets"
	case len(budgets) == 1 && p.allowed[budgets[0]] <= 0:
		return "a pod whose budget allows no disruption"
	}
	return ""
}

func priorityOf(object *v1.Pod) int32 {
	if object.Spec.Priority == nil {
		return 0
	}
	return *object.Spec.Priority
}

// budgetsOf returns the keys of the pod's budgets.
func (p *player) budgetsOf(object *v1.Pod) (keys []string) {
	for _, b := range p.cluster.Budgets {
		if b.Namespace == object.Namespace && b.Spec.Selector.MatchLabels["app"] == object.Labels["app"] {
			keys = append(keys, b.Namespace+"/"+b.Name)
		}
	}
	return keys
}

// costOf is the cost of a move as the manual page defines it.
func costOf(object *v1.Pod) int64 {
	weight := int64(1)
	for rest := priorityOf(object); rest > 0; rest /= 10 {
		weight++
	}
	return weight * (16 + exclusiveCPUs(object))
}

// exclusiveCPUs is the most exclusive CPUs that the pod needs at one time.
func exclusiveCPUs(object *v1.Pod) int64 {
	if v1qos.GetPodQOS(object) != v1.PodQOSGuaranteed {
		return 0
	}
	object = object.DeepCopy()
	for _, list := range [][]v1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range list {
			requests := v1.ResourceList{}
			if cpus := list[i].Resources.Requests[v1.ResourceCPU]; cpus.MilliValue()%1000 == 0 {
				requests[v1.ResourceCPU] = cpus
			}
			list[i].Resources.Requests = requests
		}
	}
	cpus := resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{})[v1.ResourceCPU]
	return cpus.Value()
}

// obstacle returns why no pod may leave the node and none may start there.
func (n *node) obstacle() string {
	if n.spoilt {
		return "its kubelet has rejected a pod that is bound to it"
	}
	if n.setup.Without != "" {
		return "no " + n.setup.Without
	}
	return ""
}

// constraint returns why no scheduler binds the pod to the node.
func (p *player) constraint(n *node, object *v1.Pod) string {
	if obstacle := n.obstacle(); obstacle != "" {
		return obstacle
	}
	if n.setup.Cordoned {
		return "the node is cordoned"
	}
	for key, value := range object.Spec.NodeSelector {
		if n.setup.Labels[key] != value {
			return "the pod selects other nodes"
		}
	}
	for name, amount := range resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{}) {
		if _, known := n.amounts[name]; !known && !amount.IsZero() {
			return "the node has no " + string(name)
		}
	}
	there := int64(0)
	for _, q := range p.pods {
		if q.node != n {
			continue
		}
		there++
		if q.object.Spec.Affinity != nil && object.Labels["app"] == "lone" || object.Spec.Affinity != nil && q.object.Labels["app"] == "lone" {
			return "the pod keeps apart from " + keyOf(q.object)
		}
	}
	if amount := n.amounts[v1.ResourcePods]; there >= amount.Value() {
		return fmt.Sprintf("the node has %d pods already", there)
	}
	return ""
}

// compare compares what the step says that the pod gets with what the managers gave.
func (n *node) compare(s *step, verdict *managers.Verdict) string {
	cpus, near, chosen := cpuset.New(), []int{}, []int{}
	for _, c := range verdict.Containers {
		own, err := cpuset.Parse(c.CPUs)
		if err != nil {
			return err.Error()
		}
		cpus = cpus.Union(own)
		near = append(near, c.MemoryNodes...)
		for _, d := range n.setup.Devices {
			given := c.Devices[d.Resource]
			for i, nodes := range d.NUMA {
				if !c.Preferred && len(given) > 0 && len(given) < len(d.NUMA) {
					chosen = append(chosen, nodes...)
				} else if slices.Contains(given, d.ID(i)) {
					near = append(near, nodes...)
				}
			}
		}
	}
	for _, numa := range n.machine.Info.Topology {
		for _, core := range numa.Cores {
			if !cpus.Intersection(cpuset.New(core.Threads...)).IsEmpty() {
				near = append(near, numa.Id)
			}
		}
	}
	saidCPUs, err := cpuset.Parse(s.CPUs)
	if err != nil || !saidCPUs.Equals(cpus) {
		return fmt.Sprintf("the kubelet gives the CPUs %v: %+v", cpus, verdict.Containers)
	}
	// Without alignment the kubelet takes any of the free devices (manager.go, devicesToAllocate: a set without an order).
	saidNear, err := cpuset.Parse(s.NUMANodes)
	if certain := cpuset.New(near...); err != nil || !certain.IsSubsetOf(saidNear) || !saidNear.IsSubsetOf(certain.Union(cpuset.New(chosen...))) {
		return fmt.Sprintf("the kubelet gives what is near the NUMA nodes %v: %+v", certain, verdict.Containers)
	}
	return ""
}

// ---- checks of the plan

// checkSums compares the plan's numbers with its steps.
func (p *player) checkSums(plan *plan) (wrong []string) {
	differ := func(format string, values ...any) { wrong = append(wrong, fmt.Sprintf(format, values...)) }
	var cost int64
	moves, placed := 0, 0
	for _, s := range plan.Steps {
		if s.Action == "start" {
			placed++
			continue
		}
		moves++
		cost += *s.Cost
	}
	if wanted := max(len(p.cluster.Wanted), p.cluster.Replicas); plan.Wanted != wanted {
		differ("%d pods are wanted, the plan says %d", wanted, plan.Wanted)
	}
	if plan.Cost != cost || plan.Moves != moves || plan.Placed != placed || plan.Wanted != placed+len(plan.Unplaced) {
		differ("the steps have %d moves with the cost %d and place %d pods; the plan says %d, %d, %d of %d without %d", moves, cost, placed, plan.Moves, plan.Cost,
			plan.Placed, plan.Wanted, len(plan.Unplaced))
	}
	if moves > p.cluster.Options.MaxMoves {
		differ("%d moves, at most %d are wanted", moves, p.cluster.Options.MaxMoves)
	}
	outcome := "partial"
	if placed == plan.Wanted {
		outcome = "full"
	} else if placed == 0 {
		outcome = "none"
	}
	if plan.Outcome != outcome || plan.exit != exits[outcome] {
		differ("the outcome is %s, the plan says %s with exit status %d", outcome, plan.Outcome, plan.exit)
	}
	for _, n := range p.nodes {
		named := false
		for _, left := range plan.LeftAlone {
			named = named || left.Node == n.Name
		}
		if n.setup.Without != "" && !named {
			differ("%s is left alone and not named: no %s", n.Name, n.setup.Without)
		}
	}
	return wrong
}

// checkUnplaced asks every kubelet about the pods that have no place.
func (p *player) checkUnplaced(plan *plan) ([]string, error) {
	for i, u := range plan.Unplaced {
		object := p.wanted[u.Namespace+"/"+u.Pod]
		if object == nil {
			return []string{fmt.Sprintf("the pod %s/%s has a place, or is not wanted", u.Namespace, u.Pod)}, nil
		}
		if i > 0 && p.cluster.Replicas > 0 {
			continue // another copy
		}
		if err := p.askAll(object); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// checkNeed asks every kubelet about the first wanted pod if the plan moves pods for it.
func (p *player) checkNeed(plan *plan) error {
	for i, s := range plan.Steps {
		if s.Action != "start" {
			continue
		}
		if object := p.wanted[s.Namespace+"/"+s.Pod]; i > 0 && object != nil {
			return p.askAll(object)
		}
		return nil
	}
	return nil
}

// askAll counts the kubelets that admit the pod now although the plan starts it on none of them. A kubelet may admit a pod about which nrtd
// has no answer.
func (p *player) askAll(object *v1.Pod) error {
	for _, n := range p.nodes {
		if p.constraint(n, object) != "" || !p.hasRoom(n, object) {
			continue
		}
		asked := object.DeepCopy()
		asked.Name = "asked"
		verdict, err := n.admit(asked, "asked")
		if err != nil {
			return err
		}
		p.Tally.Asked++
		if !verdict.Admitted {
			continue
		}
		p.Tally.Missed++
		if p.Verbose {
			fmt.Printf("  | %s admits %s\n", n.Name, keyOf(object))
		}
		if err := n.Drop("asked"); err != nil {
			return err
		}
	}
	return nil
}

// hasRoom tells whether the requests of the node's pods leave enough for the pod, as a scheduler counts.
func (p *player) hasRoom(n *node, object *v1.Pod) bool {
	left := n.amounts.DeepCopy()
	for _, q := range p.pods {
		if q.node == n {
			for name, amount := range resourcehelper.PodRequests(q.object, resourcehelper.PodResourcesOptions{}) {
				rest := left[name]
				rest.Sub(amount)
				left[name] = rest
			}
		}
	}
	for name, amount := range resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{}) {
		rest := left[name]
		if rest.Cmp(amount) < 0 && amount.Cmp(resource.Quantity{}) > 0 {
			return false
		}
	}
	return true
}
