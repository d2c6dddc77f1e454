// SPDX-License-Identifier: Apache-2.0

//go:build since_1.37 && !since_1.38

package managers

import (
	"context"

	"k8s.io/klog/v2"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
)

func newAllocationState(ctx context.Context, root, name string) (allocationstate.State, error) {
	return allocationstate.NewStateCheckpoint(klog.FromContext(ctx), root, name)
}
