// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	gib = int64(1) << 30
	// nic is the devices' resource.
	nic = v1.ResourceName("vendor.com/nic")
)

// Device is the resource of the nodes' devices.
const Device = string(nic)

// Slot is one replica that somebody wants: one pod, and another when a kubelet refuses that.
type Slot struct {
	Burst      int   // it is wanted with this burst,
	End        int   // until just before this one; 0 = to the end
	Finishes   bool  // its pod then ends by itself, and is deleted later; else it is deleted
	MilliCPUs  int64 // as are the others: of its pod's only container
	Memory     int64
	NICs       int64
	Guaranteed bool

	gang   *gang // its pod belongs to; nil for none
	urgent bool  // its pod has a high priority
	other  bool  // its pod is scheduled by the other scheduler
}

// CPUs is how many exclusive CPUs its pod gets.
func (s *Slot) CPUs() int64 {
	if !s.Guaranteed {
		return 0
	}
	return s.MilliCPUs / 1000
}

// Workload is a list of slots and the nodes it takes.
type Workload struct {
	Name    string
	Title   string
	Memory  bool // the nodes' memory managers are Static
	Devices bool // some nodes have NICs
	// Gangs: half of the bursts are PodGroups. Needs a Kubernetes that has them, 1.37.
	Gangs bool
	// Priorities: in each burst one pod has a high priority, and no room is made for it.
	Priorities bool
	// Other: a third of the pods are bound by another scheduler, which has no extender.
	Other bool
	// Restarts: kubelets are killed and started again, and nodes return with another policy.
	Restarts bool

	finishes bool // half of the pods that end do so by themselves
	slot     func(r *rand.Rand) Slot
}

// sizes are what Guaranteed pods ask for, and how many of a hundred ask for it.
var sizes = []struct {
	cpus  int64
	share int
}{{1, 5}, {2, 15}, {4, 25}, {6, 10}, {8, 20}, {10, 5}, {12, 10}, {16, 10}}

func drawSize(r *rand.Rand) int64 {
	at := r.IntN(100)
	for _, s := range sizes {
		if at -= s.share; at < 0 {
			return s.cpus
		}
	}
	panic("the shares are not a hundred")
}

// Workloads are those of the experiment.
var Workloads = []Workload{
	{Name: "cpus", Title: "Guaranteed pods that want CPUs", slot: guaranteed},
	{Name: "memory", Title: "Memory Manager Static, devices in a third of the pods", Memory: true, Devices: true, finishes: true,
		slot: withDevices},
	{Name: "mixed", Title: "Guaranteed and Burstable pods", finishes: true,
		slot: func(r *rand.Rand) Slot {
			if r.IntN(5) < 3 {
				return guaranteed(r)
			}
			return burstable(r)
		}},
	{Name: "ordinary", Title: "70 % Burstable and 30 % Guaranteed pods", slot: func(r *rand.Rand) Slot {
		if r.IntN(10) < 3 {
			return guaranteed(r)
		}
		return burstable(r)
	}},
	{Name: "equal", Title: "equal Guaranteed pods", slot: func(*rand.Rand) Slot {
		return Slot{MilliCPUs: 4000, Memory: gib >> 2, Guaranteed: true}
	}},
	{Name: "gangs", Title: "Guaranteed pods, half of them in PodGroups of 4 and 8 over three racks", Gangs: true, slot: guaranteed},
	{Name: "priorities", Title: "Guaranteed pods, one of eight with a high priority and without room", Priorities: true, slot: guaranteed},
	{Name: "other-scheduler", Title: "Guaranteed pods, a third of them bound by a stock scheduler without extender", Other: true, slot: func(r *rand.Rand) Slot {
		s := guaranteed(r)
		s.other = r.IntN(3) == 0
		return s
	}},
	{Name: "restarts", Title: "Memory Manager Static, devices; kubelets restart, and nodes return with another policy", Memory: true, Devices: true, Restarts: true,
		finishes: true, slot: withDevices},
}

// WorkloadNamed is one of them.
func WorkloadNamed(name string) (*Workload, error) {
	for i := range Workloads {
		if Workloads[i].Name == name {
			return &Workloads[i], nil
		}
	}
	return nil, fmt.Errorf("no workload is called %q", name)
}

func guaranteed(r *rand.Rand) Slot {
	return Slot{MilliCPUs: 1000 * drawSize(r), Memory: gib >> 2, Guaranteed: true}
}

func burstable(r *rand.Rand) Slot {
	return Slot{MilliCPUs: []int64{250, 500, 1000, 1500, 2500, 4000}[r.IntN(6)], Memory: gib >> 1}
}

func withDevices(r *rand.Rand) Slot {
	s := guaranteed(r)
	s.Memory = s.CPUs() * gib << r.IntN(3)
	if r.IntN(8) == 0 { // much memory for few CPUs
		s.Memory = min(s.CPUs()*16, 28) * gib
	}
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4, 5:
		s.NICs = 1
	case 6:
		s.NICs = 2
	}
	return s
}

// load is what slots ask for in all.
type load struct{ milliCPUs, memory, nics int64 }

func (l *load) add(s Slot, sign int64) {
	l.milliCPUs += sign * s.MilliCPUs
	l.memory += sign * s.Memory
	l.nics += sign * s.NICs
}

func (l load) within(limit load) bool {
	return l.milliCPUs <= limit.milliCPUs && l.memory <= limit.memory && l.nics <= limit.nics
}

// Draw draws the slots: bursts of the size given. Once `share` of a resource of the nodes is asked for, slots end by
// chance, as many as make room for the next burst. Every way to schedule gets the same.
func (w *Workload) Draw(seed uint64, pods, burst int, share float64, nodes []*Kind) []Slot {
	r := rand.New(rand.NewPCG(seed, 3))
	limit := load{}
	for _, kind := range nodes {
		limit.add(Slot{MilliCPUs: int64(share * 1000 * cpusOfNode), Memory: int64(share * memoryOfNode)}, 1)
		if w.Devices {
			limit.nics += int64(share * float64(len(kind.nics)))
		}
	}
	var slots []Slot
	var alive []int
	sum := load{}
	for number := 0; len(slots) < pods; number++ {
		var coming []Slot
		for range min(burst, pods-len(slots)) {
			s := w.DrawSlot(r)
			s.Burst = number
			coming = append(coming, s)
		}
		if w.Gangs {
			drawGangs(r, coming)
		}
		if w.Priorities {
			drawUrgent(r, coming)
		}
		for _, s := range coming {
			if !s.urgent {
				sum.add(s, 1)
			}
		}
		for !sum.within(limit) && len(alive) > 0 {
			i := r.IntN(len(alive))
			ending := &slots[alive[i]]
			ending.End, ending.Finishes = number, w.finishes && r.IntN(2) == 0
			sum.add(*ending, -1)
			alive = slices.Delete(alive, i, i+1)
		}
		for _, s := range coming {
			if !s.urgent {
				alive = append(alive, len(slots))
			}
			slots = append(slots, s)
		}
	}
	return slots
}

// DrawSlot draws one slot.
func (w *Workload) DrawSlot(r *rand.Rand) Slot { return w.slot(r) }

// Pod is the slot's pod of that name.
func (s *Slot) Pod(name string) *v1.Pod {
	requests := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(s.MilliCPUs, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(s.Memory, resource.BinarySI),
	}
	if s.NICs > 0 {
		requests[nic] = *resource.NewQuantity(s.NICs, resource.DecimalSI)
	}
	limits := requests
	if !s.Guaranteed {
		limits = nil
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "example.com/app",
			Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}}}}
}

// podName names the pods of a slot one after the other.
func podName(slot, attempt int) string { return fmt.Sprintf("slot-%d-%d", slot, attempt) }
