// SPDX-License-Identifier: Apache-2.0

// Package managers runs the kubelet's own topology, CPU, memory and device managers and its pod-resources server, on
// any machine's description and in a folder of its own.
package managers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/version"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// Managers are the managers of one kubelet.
type Managers struct {
	Root     string // the kubelet's --root-dir
	topology topologymanager.Manager
	dieAt    int // see DieAt
	cpus     cpumanager.Manager
	memory   memorymanager.Manager
	devices  *devicemanager.ManagerImpl
	handlers []lifecycle.PodAdmitHandler
	node     *v1.Node
	config   *kubeletconfig.KubeletConfiguration
	stop     []func()

	mu        sync.Mutex
	pods      []*v1.Pod // those that are there or being admitted
	completed []*v1.Pod // those that have ended and are not deleted

	admitted allocationstate.State // as the kubelet's allocation manager keeps it
	cleaner  memorymanager.Policy  // gives memory back in copies of the state; nil without the static policy

	returning  atomic.Bool  // not all pods of before the restart have come back
	lists      atomic.Int64 // how often the pod-resources server was asked for the pods
	stopServer func()       // ends the pod-resources server
	running    bool         // see RestartRunning
}

// Start puts the managers together as the kubelet's container manager does and starts them. Their state files go to
// root, as does the pod-resources socket; what is there already is their state, as after a restart.
func Start(ctx context.Context, root string, machine *cadvisorapi.MachineInfo, config *kubeletconfig.KubeletConfiguration) (*Managers, error) {
	return start(ctx, &Managers{Root: root}, machine, config)
}

// Restart does the same for a kubelet that has pods from before: until Returned is called it has not heard of all of
// them, and cleans up nothing.
func Restart(ctx context.Context, root string, machine *cadvisorapi.MachineInfo, config *kubeletconfig.KubeletConfiguration) (*Managers, error) {
	m := &Managers{Root: root}
	m.returning.Store(true)
	return start(ctx, m, machine, config)
}

// RestartRunning is Restart of a kubelet whose container runtime says that the containers with devices still run. Such containers are
// admitted before their devices' plugins have registered.
func RestartRunning(ctx context.Context, root string, machine *cadvisorapi.MachineInfo, config *kubeletconfig.KubeletConfiguration) (*Managers, error) {
	m := &Managers{Root: root, running: true}
	m.returning.Store(true)
	return start(ctx, m, machine, config)
}

func start(ctx context.Context, m *Managers, machine *cadvisorapi.MachineInfo, config *kubeletconfig.KubeletConfiguration) (*Managers, error) {
	root := m.Root
	for _, dir := range []string{"device-plugins", "pod-resources", "pods"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o750); err != nil {
			return nil, err
		}
	}
	capacity := cadvisor.CapacityFromMachineInfo(machine)
	reserved, reservedCPUs, err := reservation(config, capacity)
	if err != nil {
		return nil, err
	}
	m.node, m.config = nodeOf(capacity, reserved), config
	if m.topology, err = newTopologyManager(ctx, machine.Topology, config.TopologyManagerPolicy, config.TopologyManagerScope,
		config.TopologyManagerPolicyOptions); err != nil {
		return nil, err
	}
	if m.devices, err = newDeviceManager(ctx, filepath.Join(root, "device-plugins", "kubelet.sock"), machine.Topology, m.topology); err != nil {
		return nil, err
	}
	m.addHintProvider(ctx, mortal{m.devices, m})
	// The reconciler only tells a container runtime; there is none.
	if m.cpus, err = newCPUManager(ctx, cpuSettings{config.CPUManagerPolicy, config.CPUManagerPolicyOptions, 24 * time.Hour, machine,
		reservedCPUs, reserved, root, m.topology}); err != nil {
		return nil, err
	}
	m.addHintProvider(ctx, mortal{m.cpus, m})
	if m.memory, err = newMemoryManager(ctx, config.MemoryManagerPolicy, machine, reserved, config.ReservedMemory, root, m.topology); err != nil {
		return nil, err
	}
	m.addHintProvider(ctx, mortal{m.memory, m})
	if config.MemoryManagerPolicy == string(memorymanager.PolicyTypeStatic) {
		some := map[int]map[v1.ResourceName]uint64{0: {v1.ResourceMemory: 1}} // it insists; giving back does not look at it
		if m.cleaner, err = newMemoryPolicy(ctx, machine, some, m.topology); err != nil {
			return nil, err
		}
	}
	if m.admitted, err = newAllocationState(ctx, root, "allocated_pods_state"); err != nil {
		return nil, err
	}
	m.handlers = []lifecycle.PodAdmitHandler{m.topology, m.newPredicateHandler()}
	if err := m.start(ctx); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

func (m *Managers) start(ctx context.Context) error {
	containers := containermap.NewContainerMap()
	if err := m.startCPUs(ctx, containers); err != nil {
		return err
	}
	if err := m.memory.Start(ctx, m.activePods, m, noStatus{}, noRuntime{}, containers); err != nil {
		return err
	}
	m.stop = append(m.stop, func() { m.stopDevices(ctx) })
	holders, running, err := m.runningContainers()
	if err != nil {
		return err
	}
	if err := m.startDevices(ctx, holders, running); err != nil {
		return err
	}
	return errors.Join(m.servePods(), m.ServePodResources(ctx))
}

// runningContainers are the containers with devices that the kubelet finds running at its start, and their IDs.
func (m *Managers) runningContainers() (containermap.ContainerMap, sets.Set[string], error) {
	containers, ids := containermap.NewContainerMap(), sets.New[string]()
	if !m.running {
		return containers, ids, nil
	}
	text, err := os.ReadFile(filepath.Join(m.Root, "device-plugins", "kubelet_internal_checkpoint"))
	if errors.Is(err, os.ErrNotExist) {
		return containers, ids, nil
	} else if err != nil {
		return nil, nil, err
	}
	var checkpoint struct {
		Data struct {
			PodDeviceEntries []struct{ PodUID, ContainerName string }
		}
	}
	if err := json.Unmarshal(text, &checkpoint); err != nil {
		return nil, nil, err
	}
	for _, entry := range checkpoint.Data.PodDeviceEntries {
		id := entry.PodUID + "/" + entry.ContainerName
		containers.Add(entry.PodUID, entry.ContainerName, id)
		ids.Insert(id)
	}
	return containers, ids, nil
}

// Stop ends the servers; the state files stay.
func (m *Managers) Stop() error {
	if m.stopServer != nil {
		m.stopServer()
	}
	for _, stop := range m.stop {
		stop()
	}
	return nil
}

func nodeOf(capacity, reserved v1.ResourceList) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.Capacity = capacity.DeepCopy()
	node.Status.Capacity[v1.ResourcePods] = resource.MustParse("1000")
	node.Status.Allocatable = v1.ResourceList{}
	for name, amount := range node.Status.Capacity {
		left := amount.DeepCopy()
		left.Sub(reserved[name])
		if left.Sign() < 0 {
			left.Set(0)
		}
		node.Status.Allocatable[name] = left
	}
	// Pages that are set aside are not memory for pods, as in the kubelet's node status.
	memory := node.Status.Allocatable[v1.ResourceMemory]
	for name, amount := range capacity {
		if isHugePage(name) {
			memory.Sub(amount)
		}
	}
	if memory.Sign() < 0 {
		memory.Set(0)
	}
	node.Status.Allocatable[v1.ResourceMemory] = memory
	return node
}

func isHugePage(name v1.ResourceName) bool {
	return len(name) > len(v1.ResourceHugePagesPrefix) && name[:len(v1.ResourceHugePagesPrefix)] == v1.ResourceHugePagesPrefix
}

// currentNode is the Node with the devices registered by now.
func (m *Managers) currentNode() *v1.Node {
	node := m.node.DeepCopy()
	capacity, allocatable := m.deviceCapacity()
	for name, amount := range capacity {
		node.Status.Capacity[name] = amount
	}
	for name, amount := range allocatable {
		node.Status.Allocatable[name] = amount
	}
	return node
}

// NodeStatus is what the kubelet would report of the node: its release, capacity and allocatable, with the devices registered
// by now.
func (m *Managers) NodeStatus() v1.NodeStatus {
	status := m.currentNode().Status
	status.NodeInfo.KubeletVersion = version.Get().GitVersion
	return status
}

func (m *Managers) activePods() []*v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*v1.Pod(nil), m.pods...)
}

// Container is what one container of an admitted pod got.
type Container struct {
	Name        string              `json:"name"`
	NUMANodes   []int               `json:"numaNodes"` // of the Topology Manager's hint, null = any
	Preferred   bool                `json:"preferred"`
	CPUs        string              `json:"cpus"`
	MemoryNodes []int               `json:"memoryNUMANodes"`
	Devices     map[string][]string `json:"devices,omitempty"`
}

// Verdict is the kubelet's answer about a pod.
type Verdict struct {
	Pod        string      `json:"pod"`
	Admitted   bool        `json:"admitted"`
	Reason     string      `json:"reason"`
	Message    string      `json:"message"`
	Containers []Container `json:"containers"`
}

// Admit asks the admission handlers in the kubelet's order: the managers, then what the node has in all.
func (m *Managers) Admit(pod *v1.Pod) *Verdict {
	pod = pod.DeepCopy()
	corev1defaults.SetObjectDefaults_Pod(pod)
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "-" + pod.Name)
	}
	verdict := &Verdict{Pod: pod.Namespace + "/" + pod.Name, Admitted: true, Containers: []Container{}}
	others := m.activePods()
	m.add(pod) // the kubelet knows a pod before it admits it, and so it counts as active
	for _, handler := range m.handlers {
		if result := m.ask(handler, pod, others, false); !result.Admit {
			verdict.Admitted, verdict.Reason, verdict.Message = false, result.Reason, result.Message
			m.take(verdict.Pod) // what its first containers got stays in the files for now
			return verdict
		}
	}
	m.there(pod)
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		verdict.Containers = append(verdict.Containers, m.container(pod, container.Name))
	}
	return verdict
}

func (m *Managers) container(pod *v1.Pod, name string) Container {
	uid := string(pod.UID)
	hint := m.affinity(uid, name)
	c := Container{Name: name, Preferred: hint.Preferred, CPUs: m.cpus.GetExclusiveCPUs(uid, name).String()}
	if hint.NUMANodeAffinity != nil {
		c.NUMANodes = hint.NUMANodeAffinity.GetBits()
	}
	nodes := sets.New[int]()
	for _, block := range m.memoryBlocks(uid, name) {
		nodes.Insert(block.NUMAAffinity...)
	}
	c.MemoryNodes = sets.List(nodes)
	for resource, instances := range m.devices.GetDevices(uid, name) {
		if c.Devices == nil {
			c.Devices = map[string][]string{}
		}
		ids := sets.New[string]()
		for id := range instances {
			ids.Insert(id)
		}
		c.Devices[resource] = sets.List(ids)
	}
	return c
}

// there makes what shows on the node that the kubelet has a pod.
func (m *Managers) there(pod *v1.Pod) {
	if err := os.MkdirAll(m.folder(pod), 0o750); err != nil {
		panic(err)
	}
	if err := m.setAllocated(pod); err != nil {
		panic(err)
	}
}

func (m *Managers) folder(pod *v1.Pod) string { return filepath.Join(m.Root, "pods", string(pod.UID)) }

// Drop takes a pod, "namespace/name", away, as when it is deleted: the kubelet has ended it and forgotten it. What it
// held stays in the state files: a kubelet cleans them when it next decides about a pod.
func (m *Managers) Drop(name string) error {
	pod := m.take(name)
	if pod == nil {
		return fmt.Errorf("no pod %s", name)
	}
	if err := m.removeAllocated(pod.UID); err != nil {
		return err
	}
	return os.RemoveAll(m.folder(pod))
}

// Complete ends a pod that is not deleted: it holds nothing any more and its folder stays.
func (m *Managers) Complete(name string) error {
	pod := m.takeActive(name)
	if pod == nil {
		return fmt.Errorf("no active pod %s", name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.completed = append(m.completed, pod)
	return nil
}

// TidyCPUs is what the CPU manager's loop does every 10 s: it takes pods that have ended out of its state.
func (m *Managers) TidyCPUs() {
	m.cpuHints(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}}}})
}

// TidyMemory is what the memory manager does whenever the kubelet admits a pod: it takes pods that have ended out of its state.
func (m *Managers) TidyMemory() {
	m.memoryHints(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}}}})
}

// Completed lists the pods that have ended and are not deleted.
func (m *Managers) Completed() []*v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.completed)
}

func (m *Managers) add(pod *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods = append(m.pods, pod)
}

// take takes a pod out of the list it is in; nil if it is in none.
func (m *Managers) take(name string) *v1.Pod {
	if pod := m.takeActive(name); pod != nil {
		return pod
	}
	return m.takeFrom(&m.completed, name)
}

func (m *Managers) takeActive(name string) *v1.Pod { return m.takeFrom(&m.pods, name) }

func (m *Managers) takeFrom(list *[]*v1.Pod, name string) (taken *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = slices.DeleteFunc(*list, func(p *v1.Pod) bool {
		if p.Namespace+"/"+p.Name != name {
			return false
		}
		taken = p
		return true
	})
	return taken
}

// Held is how much of a resource the managers say that pods hold: exclusive CPUs, memory blocks, devices. What pods use
// of the shared pool is not in it, and in no file or socket of the kubelet either. least counts of each pod only what
// its greediest container holds: the others may be init containers, whose requests the kubelet may not add.
func (m *Managers) Held(name v1.ResourceName) (most, least int64) {
	for _, pod := range m.activePods() {
		whole := m.heldAsWhole(pod.UID, name)
		cpus := cpuset.New()
		ids := sets.New[string]() // the containers after an init container may have its devices
		var sum, greediest int64
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			var own int64
			if name == v1.ResourceCPU {
				exclusive := m.cpus.GetExclusiveCPUs(string(pod.UID), c.Name)
				cpus = cpus.Union(exclusive)
				own = int64(exclusive.Size())
			} else {
				for _, block := range m.memoryBlocks(string(pod.UID), c.Name) {
					if block.Type == name {
						own += int64(block.Size)
					}
				}
				sum += own
				for id := range m.devices.GetDevices(string(pod.UID), c.Name)[string(name)] {
					ids.Insert(id)
					own++
				}
			}
			greediest = max(greediest, own)
		}
		most += max(whole, sum+int64(cpus.Size())+int64(ids.Len()))
		least += max(whole, greediest)
	}
	return most, least
}

// heldAsWhole is what the managers gave to a pod with amounts of its own. What its containers have is in it.
func (m *Managers) heldAsWhole(uid types.UID, name v1.ResourceName) (sum int64) {
	if name == v1.ResourceCPU {
		return int64(m.podCPUs(uid).Size())
	}
	for _, block := range m.podMemory(uid) {
		if block.Type == name {
			sum += int64(block.Size)
		}
	}
	return sum
}

// Exclusive is the CPUs that pods hold. wrong tells whether two pods hold the same one, or one holds a CPU that is
// reserved or in the shared pool: on machines whose cores have different numbers of CPUs (hybrid ones, or with CPUs
// offline) the kubelet may take a core for wholly free when a part of it is, and then assigns all of it.
func (m *Managers) Exclusive() (cpus cpuset.CPUSet, wrong bool) {
	for _, pod := range m.activePods() {
		own := m.podCPUs(pod.UID)
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			own = own.Union(m.cpus.GetExclusiveCPUs(string(pod.UID), c.Name))
		}
		wrong = wrong || !cpus.Intersection(own).IsEmpty()
		cpus = cpus.Union(own)
	}
	shared := m.cpus.State().GetDefaultCPUSet()
	return cpus, wrong || !cpus.IsSubsetOf(m.cpus.GetAllocatableCPUs()) || !cpus.Intersection(shared).IsEmpty()
}

// Amounts are one resource of one NUMA node.
type Amounts struct{ Allocatable, Available int64 }

// CPUs is what each NUMA node has of CPUs for exclusive use; nil without the static policy.
func (m *Managers) CPUs(nodes []cadvisorapi.Node) map[int]Amounts {
	all := m.cpus.GetAllocatableCPUs()
	if all.IsEmpty() {
		return nil
	}
	taken, _ := m.Exclusive()
	return amountsOf(nodes, all, taken)
}

func amountsOf(nodes []cadvisorapi.Node, all, taken cpuset.CPUSet) map[int]Amounts {
	out := map[int]Amounts{}
	for _, node := range nodes {
		here := cpuset.New()
		for _, core := range node.Cores {
			here = here.Union(cpuset.New(core.Threads...))
		}
		here = here.Intersection(all)
		out[node.Id] = Amounts{int64(here.Size()), int64(here.Difference(taken).Size())}
	}
	return out
}

// Memory is what each NUMA node has of a kind of memory when the next pod comes; nil without the static policy. It is
// the policy's own code that gives back what pods held that have ended.
func (m *Managers) Memory(name v1.ResourceName) map[int]Amounts {
	if m.cleaner == nil {
		return nil
	}
	after := memorystate.NewMemoryState(klog.Background())
	after.SetMachineState(m.memory.State().GetMachineState())
	after.SetMemoryAssignments(m.memory.State().GetMemoryAssignments())
	m.copyPodMemory(after)
	active := sets.New[string]()
	for _, pod := range m.activePods() {
		active.Insert(string(pod.UID))
	}
	for uid, containers := range m.memory.State().GetMemoryAssignments() {
		for container := range containers {
			if !active.Has(uid) {
				m.giveMemoryBack(after, uid, container)
			}
		}
	}
	out := map[int]Amounts{}
	for id, node := range after.GetMachineState() {
		if table, known := node.MemoryMap[name]; known {
			out[id] = Amounts{int64(table.Allocatable), int64(table.Free)}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Allocatable is what the node has for pods of a resource.
func (m *Managers) Allocatable(name v1.ResourceName) resource.Quantity {
	return m.currentNode().Status.Allocatable[name]
}

// AddSource and AllReady tell the managers whether the kubelet has heard of all its pods.
func (m *Managers) AddSource(string) {}

func (m *Managers) AllReady() bool { return !m.returning.Load() }

// Returned ends a restart: the pods that have been admitted by now and those named here ("namespace/name", with their
// UIDs), which are completed, are all there are. The kubelet forgets the others.
func (m *Managers) Returned(completed map[string]types.UID) error {
	known := sets.New[types.UID]()
	for _, pod := range m.activePods() {
		known.Insert(pod.UID)
	}
	m.mu.Lock()
	for name, uid := range completed {
		namespace, name, _ := strings.Cut(name, "/")
		m.completed = append(m.completed, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}})
		known.Insert(uid)
	}
	m.mu.Unlock()
	m.returning.Store(false)
	m.admitted.RemoveOrphanedPods(known)
	folders, err := os.ReadDir(filepath.Join(m.Root, "pods"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !known.Has(types.UID(folder.Name())) {
			if err := os.RemoveAll(filepath.Join(m.Root, "pods", folder.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

type noStatus struct{}

func (noStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

type noRuntime struct{}

func (noRuntime) UpdateContainerResources(context.Context, string, *runtimeapi.ContainerResources) error {
	return nil
}

// keepFailures lets no pod be evicted to make room for another.
type keepFailures struct{}

// cpuSettings is what a CPU manager is made with.
type cpuSettings struct {
	policy       string
	options      map[string]string
	reconcile    time.Duration
	machine      *cadvisorapi.MachineInfo
	reservedCPUs cpuset.CPUSet
	reserved     v1.ResourceList
	root         string
	topology     topologymanager.Manager
}
