// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/kubeletnode"
)

// On larger machines the kubelet's code takes long for a pod.
const maxCPUs, maxNUMANodes = 128, 8

// maxID is the highest NUMA id in the kubelet's sets of NUMA nodes.
const maxID = 63

// fewNUMANodes is up to how many NUMA nodes the pods of a cluster may request hugepages: the kubelet tries every combination of one hint
// for each resource.
const fewNUMANodes = 4

// hasHugepages tells whether pods may request hugepages in a cluster with this machine. The kubelet's code panics if a NUMA node has no
// pool of the size (K8 in scoring/DEFECTS.md).
func hasHugepages(m *kubelet.Machine) bool {
	for _, node := range m.Info.Topology {
		if len(node.HugePages) != len(m.Info.HugePages) {
			return false
		}
	}
	return len(m.Info.Topology) <= fewNUMANodes
}

// hasHoles tells whether the ids of the NUMA nodes are not 0, 1, 2, ...; prefer-closest-numa-nodes can then panic (K7).
func hasHoles(m *kubelet.Machine) bool {
	for i, node := range m.Info.Topology {
		if node.Id != i {
			return true
		}
	}
	return false
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// Suits tells whether a machine is one for which clusters are drawn. Without distances a kubelet does not start with every policy option.
// Where cores have different numbers of CPUs the kubelet may give one CPU to two pods (K29 in scoring/DEFECTS.md). A NUMA id above maxID
// crashes the kubelet's code (K6).
func Suits(m *kubelet.Machine) bool {
	for _, node := range m.Info.Topology {
		if node.Id > maxID {
			return false
		}
	}
	return len(m.Info.Topology) <= maxNUMANodes && m.Info.NumCores <= maxCPUs && kubeletnode.IsRegular(m)
}

// drawer draws one cluster.
type drawer struct {
	r         *rand.Rand
	cluster   *Cluster
	drawn     []kubelet.Node // of cluster.Nodes
	hugepages bool           // pods may request some
	pods      int
}

// Random draws a cluster of 2 to 12 nodes, of one to three machines.
func Random(r *rand.Rand, machines map[string]*kubelet.Machine) *Cluster {
	d := &drawer{r: r, cluster: &Cluster{}, hugepages: true}
	few := map[string]*kubelet.Machine{}
	names := slices.Sorted(maps.Keys(machines))
	for range 1 + r.IntN(3) {
		name := pick(r, names...)
		few[name] = machines[name]
		d.hugepages = d.hugepages && hasHugepages(machines[name])
	}
	for i := range 2 + r.IntN(11) {
		d.addNode(few, i)
	}
	for i := range d.cluster.Nodes {
		d.fill(i)
	}
	d.r.Shuffle(len(d.cluster.Steps), func(i, j int) {
		d.cluster.Steps[i], d.cluster.Steps[j] = d.cluster.Steps[j], d.cluster.Steps[i]
	})
	d.endSome()
	d.addLate()
	d.setTimes()
	d.addBudgets()
	d.want()
	d.setOptions()
	return d.cluster
}

func (d *drawer) addNode(machines map[string]*kubelet.Machine, i int) {
	r := d.r
	drawn := kubelet.RandomNode(r, machines, true)
	if i > 0 && chance(r, 60) { // the nodes of a pool are alike
		drawn = pick(r, d.drawn...)
	}
	drawn.Config = drawn.Config.DeepCopy()
	// The gates are the process's: all its kubelets have the same.
	drawn.Config.FeatureGates = map[string]bool{"CPUManagerPolicyAlphaOptions": true}
	// With this option the kubelet may hunt for CPUs for ever (K1 in scoring/DEFECTS.md).
	delete(drawn.Config.CPUManagerPolicyOptions, cpumanager.DistributeCPUsAcrossNUMAOption)
	if chance(r, 50) { // most nodes admit what they have room for otherwise
		drawn.Config.CPUManagerPolicy, drawn.Config.TopologyManagerPolicy = "static", pick(r, "restricted", "single-numa-node")
	}
	if hasHoles(machines[drawn.Machine]) {
		delete(drawn.Config.TopologyManagerPolicyOptions, topologymanager.PreferClosestNUMANodes)
	}
	if drawn.Config.TopologyManagerPolicy == "single-numa-node" {
		delete(drawn.Config.CPUManagerPolicyOptions, cpumanager.AlignBySocketOption) // the kubelet does not start with both
	}
	drawn.Devices = kubeletnode.NearOneNode(drawn.Devices)
	d.drawn = append(d.drawn, drawn)
	n := &Node{Setup: kubeletnode.Setup{Machine: drawn.Machine, Config: drawn.Config, Devices: drawn.Devices}, Name: fmt.Sprintf("node-%02d", i)}
	n.Labels = map[string]string{"kubernetes.io/hostname": n.Name, "pool": pick(r, "a", "a", "b")}
	n.Cordoned = chance(r, 8)
	if chance(r, 15) {
		n.Pods = int64(2 + r.IntN(10))
	}
	if chance(r, 15) {
		n.Without = pick(r, withoutState, withoutState, withoutObject, withoutNode)
	}
	d.cluster.Nodes = append(d.cluster.Nodes, n)
}

// fill has so many pods come to the node that few CPUs remain. The kubelet rejects most of the large ones.
func (d *drawer) fill(node int) {
	left := int64(float64(d.drawn[node].CPUs()) * (0.7 + 0.6*d.r.Float64()))
	for range 60 {
		if left <= 0 {
			return
		}
		pod := d.pod(node)
		d.cluster.Steps = append(d.cluster.Steps, Step{Admit: pod})
		if len(pod.Spec.Containers) == 1 {
			left -= min(exclusiveCPUs(pod), d.largest(node))
		}
	}
}

// largest is the number of CPUs of a large pod that still is one of several on a NUMA node.
func (d *drawer) largest(node int) int64 {
	return int64(max(2, d.drawn[node].CPUs()/d.drawn[node].NUMANodes()/2))
}

// pod draws a pod that runs on the node.
func (d *drawer) pod(node int) *v1.Pod {
	d.pods++
	r, name := d.r, fmt.Sprintf("pod-%d", d.pods)
	pod := d.drawn[node].Pod(r, name)
	if chance(r, 75) {
		pod.Spec = small(1+r.Int64N(d.largest(node)), int64(1+r.IntN(16)))
	}
	d.simplify(&pod.Spec)
	pod.UID, pod.Namespace = types.UID("uid-"+name), pick(r, "default", "default", "team", "kube-system")
	app := pick(r, "web", "db", "batch")
	pod.Labels = map[string]string{"app": app}
	d.own(pod, node)
	d.constrain(pod)
	pod.Spec.NodeName = d.cluster.Nodes[node].Name
	if chance(r, 30) {
		pod.Spec.Priority = ptr.To(pick(r, int32(-5), 0, 7, 1000, 2000000000))
	}
	if chance(r, 8) {
		pod.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	}
	if chance(r, 4) {
		pod.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	return pod
}

// small is a pod of one container.
func small(cpus, memory int64) v1.PodSpec {
	limits := v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(memory<<24, resource.BinarySI)}
	return v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "none", Resources: v1.ResourceRequirements{Requests: limits, Limits: limits.DeepCopy()}}}}
}

// simplify takes out of the pod what makes the kubelet's answer a matter of chance, or of minutes.
func (d *drawer) simplify(spec *v1.PodSpec) {
	for _, n := range d.drawn {
		kubeletnode.ShareNoDevice(spec, n.Devices)
	}
	if d.hugepages {
		return
	}
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for _, amounts := range []v1.ResourceList{list[i].Resources.Requests, list[i].Resources.Limits} {
				maps.DeleteFunc(amounts, func(name v1.ResourceName, _ resource.Quantity) bool {
					return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
				})
			}
		}
	}
}

// own gives the pod a controller, or none; a static pod has its mirror pod's annotations.
func (d *drawer) own(pod *v1.Pod, node int) {
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: pod.Labels["app"], UID: "rs", Controller: ptr.To(true)}
	switch n := d.r.IntN(100); {
	case n < 5:
		owner.Kind = "DaemonSet"
	case n < 15:
		return
	case n < 18:
		owner.Controller = nil
	case n < 21:
		owner.APIVersion, owner.Kind, owner.Name = "v1", "Node", d.cluster.Nodes[node].Name
		pod.Annotations = map[string]string{mirrorAnnotation: "file-" + pod.Name, "kubernetes.io/config.hash": "file-" + pod.Name,
			"kubernetes.io/config.source": "file"}
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
}

// constrain gives the pod scheduling constraints. Pods of the app "db" keep apart from each other.
func (d *drawer) constrain(pod *v1.Pod) {
	if chance(d.r, 12) {
		pod.Spec.NodeSelector = map[string]string{"pool": pick(d.r, "a", "b")}
	}
	if pod.Labels["app"] == "db" && chance(d.r, 40) {
		pod.Labels["app"] = "lone"
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: "kubernetes.io/hostname", Namespaces: []string{"default", "team", "kube-system"},
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "lone"}}}}}}
	}
}

// endSome has a part of the pods end, each at some time after its admission.
func (d *drawer) endSome() {
	part := 3 + d.r.IntN(25)
	for i := 0; i < len(d.cluster.Steps); i++ {
		pod := d.cluster.Steps[i].Admit
		if pod == nil || !chance(d.r, part) {
			continue
		}
		step := Step{Remove: keyOf(pod)}
		if chance(d.r, 20) {
			step = Step{Complete: keyOf(pod)}
		}
		at := len(d.cluster.Steps)
		if chance(d.r, 30) { // a later pod may take what this one has
			at = i + 1 + d.r.IntN(at-i)
		}
		d.cluster.Steps = slices.Insert(d.cluster.Steps, at, step)
	}
}

// addLate has some pods come that no object reports yet. None is static: anybody can create a mirror pod, so it holds only what the
// object reports.
func (d *drawer) addLate() {
	for d.r.IntN(3) == 0 {
		if pod := d.pod(d.r.IntN(len(d.drawn))); !isStatic(pod) {
			d.cluster.Steps = append(d.cluster.Steps, Step{Admit: pod, Late: true})
		}
	}
}

// epoch is when the first pod was created.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (d *drawer) setTimes() {
	for i, step := range d.cluster.Steps {
		if step.Admit != nil {
			step.Admit.CreationTimestamp = metav1.Time{Time: epoch.Add(time.Duration(i) * time.Second)}
		}
	}
}

func (d *drawer) addBudgets() {
	for _, app := range []string{"web", "db", "batch"} {
		for i := range d.r.IntN(3) {
			if chance(d.r, 60) {
				continue
			}
			d.cluster.Budgets = append(d.cluster.Budgets, &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
				ObjectMeta: metav1.ObjectMeta{Namespace: pick(d.r, "default", "team"), Name: fmt.Sprintf("%s-%d", app, i)},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
				Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(d.r.IntN(3))}})
		}
	}
}

// want draws the wanted pods: copies of one pod, or pending pods of the cluster.
func (d *drawer) want() {
	r := d.r
	wanted := func(name string) *v1.Pod {
		node := d.drawn[r.IntN(len(d.drawn))]
		pod := node.Pod(r, name)
		if chance(r, 75) {
			perNode := max(1, node.CPUs()/node.NUMANodes())
			pod.Spec = small(int64(max(1, perNode/4+r.IntN(perNode*3/4+2))), int64(1+r.IntN(64)))
		}
		d.simplify(&pod.Spec)
		pod.Labels = map[string]string{"app": pick(r, "wanted", "db")}
		d.constrain(pod)
		return pod
	}
	if chance(r, 70) {
		d.cluster.Wanted, d.cluster.Replicas = []*v1.Pod{wanted("wanted")}, 1+r.IntN(3)
		return
	}
	for i := range 1 + r.IntN(3) {
		pod := wanted(fmt.Sprintf("pending-%d", i))
		pod.UID, pod.CreationTimestamp = types.UID("uid-"+pod.Name), metav1.Time{Time: epoch.Add(time.Duration(1000+i) * time.Second)}
		pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: v1qos.GetPodQOS(pod)}
		pod.Spec.Priority = ptr.To(pick(r, int32(0), 5, 1000))
		d.cluster.Wanted = append(d.cluster.Wanted, pod)
	}
}

func (d *drawer) setOptions() {
	r := d.r
	d.cluster.Options = Options{MaxMoves: pick(r, 1, 2, 3, 5, 20, 20, 20), Evict: chance(r, 20), AllowBare: chance(r, 25), AllowLocalStorage: chance(r, 25)}
	if chance(r, 20) {
		d.cluster.Options.BelowPriority = ptr.To(pick(r, int32(0), 7, 8, 1000))
	}
	if chance(r, 20) {
		d.cluster.Options.Keep = []string{"kube-system"}
	}
}
