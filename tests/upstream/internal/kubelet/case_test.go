// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"

	"nrtd.dev/tests/upstream/internal/managers"
)

func asks(name, device string) v1.Container {
	limits := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceName(device): resource.MustParse("2")}
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: limits, Requests: limits.DeepCopy()}}
}

// TestSmallerKeepsDevicesThatPodsAskFor: a kubelet leaves a device that its node does not have out of what a pod asks
// for, nrtd says that the node has none; a difference of that kind would hide the one that was found.
func TestSmallerKeepsDevicesThatPodsAskFor(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{asks("init-0", "vendor.com/nic")},
		Containers: []v1.Container{asks("app-0", "vendor.com/nic"), asks("app-1", "vendor.com/gpu")}}}
	c := Case{Config: &kubeletconfigv1beta1.KubeletConfiguration{}, Steps: []Step{{Admit: pod}, {Remove: "other"}},
		Devices: []managers.Devices{{Resource: "vendor.com/nic"}, {Resource: "vendor.com/gpu"}}}
	fewer := 0
	for _, smaller := range Smaller(c) {
		if len(smaller.Devices) < len(c.Devices) {
			fewer++
		}
		for _, step := range smaller.Steps {
			if step.Admit == nil {
				continue
			}
			for _, container := range slices.Concat(step.Admit.Spec.InitContainers, step.Admit.Spec.Containers) {
				for _, asked := range []v1.ResourceList{container.Resources.Limits, container.Resources.Requests} {
					for name := range asked {
						if name != v1.ResourceCPU && !slices.ContainsFunc(smaller.Devices, func(d managers.Devices) bool { return d.Resource == string(name) }) {
							t.Errorf("%s asks for %s, which the node does not have", container.Name, name)
						}
					}
				}
			}
		}
	}
	if fewer != len(c.Devices) {
		t.Errorf("%d smaller sequences have fewer devices, want %d", fewer, len(c.Devices))
	}
	if _, still := pod.Spec.Containers[0].Resources.Limits["vendor.com/nic"]; !still {
		t.Error("the sequence itself was changed")
	}
}
