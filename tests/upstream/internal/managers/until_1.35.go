// SPDX-License-Identifier: Apache-2.0

//go:build !since_1.36

package managers

import (
	"k8s.io/apimachinery/pkg/types"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
)

func (m *Managers) setAllocated(uid types.UID, info allocationstate.PodResourceInfo) error {
	return m.admitted.SetPodResourceInfo(uid, info)
}
