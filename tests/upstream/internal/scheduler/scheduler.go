// SPDX-License-Identifier: Apache-2.0

// Package scheduler runs the real kube-scheduler, of the release and with the plugins that the module has.
package scheduler

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"nrtd.dev/tests/upstream/internal/quiet"
	"sigs.k8s.io/yaml"
)

// Prepare sets it up without a port. What it returns runs it. The configuration with the kubeconfig in it goes to
// DIR/scheduler.yaml. `gates` is the flag --feature-gates.
func Prepare(ctx context.Context, configuration, kubeconfig, dir, gates string) (func(context.Context) error, error) {
	config, err := complete(configuration, kubeconfig, dir)
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
		"--feature-gates=" + gates,
	}); err != nil {
		return nil, err
	}
	cc, scheduler, err := app.Setup(ctx, opts, plugins()...)
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	return func(ctx context.Context) error { return app.Run(ctx, cc, scheduler) }, nil
}

// complete writes the given configuration with the kubeconfig in it: beside a file, the scheduler takes neither that nor
// leader election from flags.
func complete(configuration, kubeconfig, dir string) (string, error) {
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

// Main is a program that runs it by itself until its standard input ends or SIGTERM. Its last line is what its metrics
// say, as JSON: how many times it tried a pod, how long its search for a node took, and how many pods it placed by the search for the pod
// before (opportunistic batching).
func Main() {
	config := flag.String("config", "", "its configuration file, without a kubeconfig")
	kubeconfig := flag.String("kubeconfig", "", "where the API server is")
	dir := flag.String("dir", "", "folder for its log and its whole configuration")
	gates := flag.String("feature-gates", "", "as of kube-scheduler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *config, *kubeconfig, *dir, *gates); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config, kubeconfig, dir, gates string) error {
	log, err := os.Create(filepath.Join(dir, "scheduler.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	quiet.LogTo(log)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	schedule, err := Prepare(ctx, config, kubeconfig, dir, gates)
	if err != nil {
		return err
	}
	if err := schedule(ctx); ctx.Err() == nil {
		return fmt.Errorf("it ended: %w", err)
	}
	return counted()
}

// counted prints what the scheduler has counted.
func counted() error {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return err
	}
	out := struct {
		Attempts        uint64  `json:"attempts"`
		SearchedSeconds float64 `json:"searchedSeconds"`
		Batched         int     `json:"batched"`
	}{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "scheduler_scheduling_algorithm_duration_seconds":
				out.Attempts += metric.GetHistogram().GetSampleCount()
				out.SearchedSeconds += metric.GetHistogram().GetSampleSum()
			case "scheduler_batch_attempts_total":
				for _, label := range metric.GetLabel() {
					if label.GetValue() == "hint_used" {
						out.Batched += int(metric.GetCounter().GetValue())
					}
				}
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
