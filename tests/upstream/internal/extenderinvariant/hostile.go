// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// hostilePods are pods at the limits of what the API server takes: a request of 3 MiB, an object of 1.5 MiB, int64.
var hostilePods = []struct {
	name string
	make func(p *pod)
}{
	{"many-names", func(p *pod) { // 44 containers with 500 extended resources each
		p.object.Spec.Containers = containers(44, func(i int) v1.ResourceList {
			amounts := v1.ResourceList{}
			for k := range 500 {
				amounts[v1.ResourceName(fmt.Sprintf("%s.example/r%d-%d", p.id, i, k))] = *resource.NewQuantity(1, resource.DecimalSI)
			}
			return amounts
		})
	}},
	{"many-containers", func(p *pod) {
		p.object.Spec.Containers = containers(5000, func(int) v1.ResourceList { return amountsOf("1", "1Mi") })
	}},
	{"many-init-containers", func(p *pod) {
		p.object.Spec.Containers = containers(1, func(int) v1.ResourceList { return amountsOf("1", "1Mi") })
		p.object.Spec.InitContainers = containers(3000, func(i int) v1.ResourceList { return amountsOf(fmt.Sprint(1+i%8), "1Mi") })
		always := v1.ContainerRestartPolicyAlways
		for i := range p.object.Spec.InitContainers {
			p.object.Spec.InitContainers[i].Name = fmt.Sprintf("i%d", i)
			if i%2 == 0 {
				p.object.Spec.InitContainers[i].RestartPolicy = &always
			}
		}
	}},
	{"many-page-sizes", func(p *pod) {
		p.object.Spec.Containers = containers(20, func(int) v1.ResourceList {
			amounts := amountsOf("2", "64Mi")
			for k := range 500 {
				amounts[v1.ResourceName(fmt.Sprintf("%s%dKi", v1.ResourceHugePagesPrefix, k+1))] = *resource.NewQuantity(int64(k+1)<<10, resource.BinarySI)
			}
			return amounts
		})
	}},
	{"largest", func(p *pod) {
		p.object.Spec.Containers = containers(3, func(int) v1.ResourceList {
			amounts := amountsOf("9223372036854775", "9223372036854775807")
			amounts["vendor.com/nic"] = resource.MustParse("9223372036854775807")
			return amounts
		})
	}},
	{"nothing", func(p *pod) {
		p.object.Spec.Containers = containers(2, func(int) v1.ResourceList {
			amounts := amountsOf("0", "0")
			amounts["vendor.com/nic"], amounts["vendor.com/absent"] = resource.MustParse("0"), resource.MustParse("0")
			return amounts
		})
	}},
	{"whole-pod", func(p *pod) {
		p.object.Spec.Containers = containers(1000, func(int) v1.ResourceList { return nil })
		whole := amountsOf("9223372036854775", "9223372036854775807")
		p.object.Spec.Resources = &v1.ResourceRequirements{Requests: whole, Limits: whole.DeepCopy()}
	}},
	{"long-texts", func(p *pod) {
		p.object.Spec.Containers = containers(1, func(int) v1.ResourceList { return amountsOf("1", "1Mi") })
		p.object.Annotations = map[string]string{"kubernetes.io/config.mirror": strings.Repeat("u", 250<<10)}
	}},
}

func amountsOf(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

func containers(n int, amounts func(i int) v1.ResourceList) (list []v1.Container) {
	for i := range n {
		a := amounts(i)
		list = append(list, v1.Container{Name: fmt.Sprintf("c%d", i), Image: "x", Resources: v1.ResourceRequirements{Requests: a, Limits: a.DeepCopy()}})
	}
	return list
}

// hostile makes such a pod. Without a node a scheduler asks about it, and it is deleted at once; with one it stays until
// somebody deletes it or everything comes to rest.
func (p *player) hostile(step Step, n *node) error {
	if p.pods[step.Pod] != nil || step.N >= len(hostilePods) {
		return nil
	}
	pod := newPod(step.Pod, "tenant", step.Pod, v1.PodSpec{})
	hostilePods[step.N].make(pod)
	pod.shape, pod.mirror = -1, true
	p.Tally.Hostile++
	if n != nil {
		p.addBound(pod, n)
		return p.sync()
	}
	p.add(pod)
	if err := p.sync(); err != nil {
		return err
	}
	for _, verb := range []string{"filter", "prioritize", "preempt"} {
		if err := p.sendHostile(verb, pod, hostilePods[step.N].name); err != nil {
			return err
		}
	}
	return p.remove(pod)
}

func (p *player) sendHostile(verb string, pod *pod, name string) error {
	a, err := p.replicas[0].ask(verb, pod.object, nodeNames)
	if err != nil {
		return err
	}
	p.Tally.ask(a.took)
	if a.code/100 == 5 {
		return wrong("answer", "/%s about %s is answered %d: %s", verb, pod.id, a.code, a.Error)
	}
	return p.inTime(verb+" about "+name, a)
}
