// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/features"
)

// Resize asks for other amounts for a container of a pod that is there, "namespace/name", as the kubelet's allocation
// manager does: refused without a word to the managers, or the admission handlers are asked, and on their yes the new
// amounts are the pod's. It tells whether they are.
func (m *Managers) Resize(name, container string, amounts v1.ResourceList) (bool, error) {
	active := m.activePods()
	i := slices.IndexFunc(active, func(p *v1.Pod) bool { return p.Namespace+"/"+p.Name == name })
	if i < 0 {
		return false, fmt.Errorf("no active pod %s", name)
	}
	pod := active[i].DeepCopy()
	if !resize(pod, container, amounts) {
		return false, fmt.Errorf("pod %s has no container %s with amounts", name, container)
	}
	if !m.feasible(pod, amounts) {
		return false, nil
	}
	others := slices.Delete(active, i, i+1)
	for _, handler := range m.handlers {
		if !m.ask(handler, pod, others, true).Admit {
			return false, nil
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range m.pods {
		if p.UID == pod.UID {
			m.pods[i] = pod
		}
	}
	return true, nil
}

// resize changes the container's amounts; what it was admitted with is in the pod's status, as the kubelet reports it.
func resize(pod *v1.Pod, container string, amounts v1.ResourceList) bool {
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = nil, nil
	found := false
	for _, list := range []struct {
		containers []v1.Container
		statuses   *[]v1.ContainerStatus
	}{{pod.Spec.InitContainers, &pod.Status.InitContainerStatuses}, {pod.Spec.Containers, &pod.Status.ContainerStatuses}} {
		for i := range list.containers {
			c := &list.containers[i]
			*list.statuses = append(*list.statuses, v1.ContainerStatus{Name: c.Name, AllocatedResources: c.Resources.Requests.DeepCopy()})
			if c.Name != container || c.Resources.Requests == nil {
				continue
			}
			found = true
			for name, amount := range amounts {
				c.Resources.Requests[name], c.Resources.Limits[name] = amount, amount
			}
		}
	}
	return found
}

// ResizesExclusive is whether exclusive CPUs or memory can be resized in place. nrtd then does not go by the requests of pods.
func ResizesExclusive() bool {
	gates := utilfeature.DefaultFeatureGate
	return gates.Enabled(features.InPlacePodVerticalScalingExclusiveCPUs) || gates.Enabled(features.InPlacePodVerticalScalingExclusiveMemory)
}

// feasible is what the kubelet looks at before it asks the managers.
func (m *Managers) feasible(pod *v1.Pod, amounts v1.ResourceList) bool {
	_, cpu := amounts[v1.ResourceCPU]
	_, memory := amounts[v1.ResourceMemory]
	if v1qos.GetPodQOS(pod) == v1.PodQOSGuaranteed {
		gates := utilfeature.DefaultFeatureGate
		if cpu && m.config.CPUManagerPolicy == "static" && !gates.Enabled(features.InPlacePodVerticalScalingExclusiveCPUs) {
			return false
		}
		if memory && m.config.MemoryManagerPolicy == "Static" && !gates.Enabled(features.InPlacePodVerticalScalingExclusiveMemory) {
			return false
		}
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		all := m.Allocatable(name)
		if amount := requests[name]; amount.Cmp(all) > 0 {
			return false
		}
	}
	return true
}
