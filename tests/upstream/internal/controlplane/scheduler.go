// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"nrtd.dev/tests/upstream/internal/nodemetadata"
	"nrtd.dev/tests/upstream/internal/scheduler"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // the plugin's arguments in the configuration file
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

// startScheduler starts the real kube-scheduler. It serves no port.
func (c *ControlPlane) startScheduler(ctx context.Context) error {
	if err := c.certKubeconfig("scheduler", "system:kube-scheduler", "system:masters"); err != nil {
		return err
	}
	run, err := scheduler.Prepare(ctx, c.options.Scheduler, c.Kubeconfig("scheduler"), c.options.Dir, SchedulerPlugins()...)
	if err != nil {
		return err
	}
	c.run(ctx, "kube-scheduler", func() error { return run(ctx) })
	return nil
}

// SchedulerPlugins are the NodeResourceTopologyMatch plugin and NodeMetadata's stand-in; which profiles use them is the
// configuration file's business.
func SchedulerPlugins() []app.Option {
	return []app.Option{app.WithPlugin(noderesourcetopology.Name, noderesourcetopology.New),
		app.WithPlugin(nodemetadata.Name, nodemetadata.New)}
}
