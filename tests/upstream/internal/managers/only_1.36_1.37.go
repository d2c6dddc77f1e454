// SPDX-License-Identifier: Apache-2.0

//go:build since_1.36 && !since_1.38

package managers

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
)

func (m *Managers) setAllocated(pod *v1.Pod) error {
	return m.admitted.SetPodResourceInfo(klog.Background(), pod.UID, allocationstate.PodResourceInfo{})
}
