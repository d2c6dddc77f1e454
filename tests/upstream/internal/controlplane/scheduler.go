// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"nrtd.dev/tests/upstream/internal/nodemetadata"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // the plugin's arguments in the configuration file
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
	"sigs.k8s.io/yaml"
)

// startScheduler starts the real kube-scheduler. It serves no port.
func (c *ControlPlane) startScheduler(ctx context.Context) error {
	if err := c.certKubeconfig("scheduler", "system:kube-scheduler", "system:masters"); err != nil {
		return err
	}
	run, err := Scheduler(ctx, c.options.Scheduler, c.Kubeconfig("scheduler"), c.options.Dir)
	if err != nil {
		return err
	}
	c.run(ctx, "kube-scheduler", func() error { return run(ctx) })
	return nil
}

// Scheduler prepares the real kube-scheduler with the NodeResourceTopologyMatch plugin and NodeMetadata's stand-in
// registered; which profiles use them is the configuration file's business. What it returns runs it. The configuration
// with the kubeconfig in it goes to DIR/scheduler.yaml.
func Scheduler(ctx context.Context, configuration, kubeconfig, dir string) (func(context.Context) error, error) {
	config, err := schedulerConfig(configuration, kubeconfig, dir)
	if err != nil {
		return nil, err
	}
	opts := options.NewOptions()
	flags := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	for _, f := range opts.Flags.FlagSets {
		flags.AddFlagSet(f)
	}
	if err := flags.Parse([]string{
		"--config=" + config,
		"--secure-port=0",
	}); err != nil {
		return nil, err
	}
	cc, scheduler, err := app.Setup(ctx, opts,
		app.WithPlugin(noderesourcetopology.Name, noderesourcetopology.New),
		app.WithPlugin(nodemetadata.Name, nodemetadata.New))
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	return func(ctx context.Context) error { return app.Run(ctx, cc, scheduler) }, nil
}

// schedulerConfig writes the given configuration with the kubeconfig in it: beside a file, the scheduler takes neither
// that nor leader election from flags.
func schedulerConfig(configuration, kubeconfig, dir string) (string, error) {
	text, err := os.ReadFile(configuration)
	if err != nil {
		return "", err
	}
	config := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return "", fmt.Errorf("%s: %w", configuration, err)
	}
	client, _ := config["clientConnection"].(map[string]any)
	if client == nil {
		client = map[string]any{}
	}
	client["kubeconfig"] = kubeconfig
	config["clientConnection"] = client
	config["leaderElection"] = map[string]any{"leaderElect": false}
	if text, err = yaml.Marshal(config); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "scheduler.yaml")
	return path, os.WriteFile(path, text, 0o600)
}
