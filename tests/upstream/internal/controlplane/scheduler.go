// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"

	"nrtd.dev/tests/upstream/internal/scheduler"
)

// startScheduler starts the real kube-scheduler. It serves no port.
func (c *ControlPlane) startScheduler(ctx context.Context) error {
	if err := c.certKubeconfig("scheduler", "system:kube-scheduler", "system:masters"); err != nil {
		return err
	}
	run, err := scheduler.Prepare(ctx, c.options.Scheduler, c.Kubeconfig("scheduler"), c.options.Dir, c.options.FeatureGates)
	if err != nil {
		return err
	}
	c.run(ctx, "kube-scheduler", func() error { return run(ctx) })
	return nil
}
