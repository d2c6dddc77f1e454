// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"os"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// DieAt has the process kill itself before the n-th time from now that a manager is asked to allocate: the state files of
// the managers before it are written, those of the others not yet. 0 = never.
func (m *Managers) DieAt(n int) { m.dieAt = n }

// mortal is a manager whose process may be killed before it allocates.
type mortal struct {
	topologymanager.HintProvider
	m *Managers
}

func (p mortal) Allocate(pod *v1.Pod, container *v1.Container) error {
	if p.m.dieAt > 0 {
		if p.m.dieAt--; p.m.dieAt == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return p.HintProvider.Allocate(pod, container)
}
