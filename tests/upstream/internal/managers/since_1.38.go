// SPDX-License-Identifier: Apache-2.0

//go:build since_1.38

package managers

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
)

func newAllocationState(ctx context.Context, root, name string) (allocationstate.State, error) {
	return allocationstate.NewStateCheckpoint(klog.FromContext(ctx), root, name, nil)
}

func (m *Managers) setAllocated(pod *v1.Pod) error {
	return m.admitted.SetPod(klog.Background(), pod)
}
