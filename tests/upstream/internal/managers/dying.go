// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"os"
	"syscall"

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

// live kills the process if it is this manager's turn.
func (p mortal) live() {
	if p.m.dieAt > 0 {
		if p.m.dieAt--; p.m.dieAt == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
