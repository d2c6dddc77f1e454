// SPDX-License-Identifier: Apache-2.0

// scheduler-1.36 runs an unmodified kube-scheduler of that release as cmd/scheduler runs the other one: until its standard
// input ends or SIGTERM. Its last line is what its metrics say, as JSON.
package main

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
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"sigs.k8s.io/yaml"
)

func main() {
	config := flag.String("config", "", "its configuration file, without a kubeconfig")
	kubeconfig := flag.String("kubeconfig", "", "where the API server is")
	dir := flag.String("dir", "", "folder for its log and its whole configuration")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *config, *kubeconfig, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler-1.36:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config, kubeconfig, dir string) error {
	log, err := os.Create(filepath.Join(dir, "scheduler.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	klog.LogToStderr(false)
	klog.SetOutput(log)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	path := filepath.Join(dir, "scheduler.yaml")
	if err := complete(config, kubeconfig, path); err != nil {
		return err
	}
	opts := options.NewOptions()
	flags := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	for _, f := range opts.Flags.FlagSets {
		flags.AddFlagSet(f)
	}
	if err := flags.Parse([]string{"--config=" + path, "--secure-port=0"}); err != nil {
		return err
	}
	cc, scheduler, err := app.Setup(ctx, opts)
	if err != nil {
		return err
	}
	if err := app.Run(ctx, cc, scheduler); ctx.Err() == nil {
		return fmt.Errorf("it ended: %w", err)
	}
	return counted()
}

// complete writes the configuration with the kubeconfig in it: beside a file, the scheduler takes neither that nor leader
// election from flags.
func complete(configuration, kubeconfig, path string) error {
	text, err := os.ReadFile(configuration)
	if err != nil {
		return err
	}
	config := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return fmt.Errorf("%s: %w", configuration, err)
	}
	client, _ := config["clientConnection"].(map[string]any)
	if client == nil {
		client = map[string]any{}
	}
	client["kubeconfig"] = kubeconfig
	config["clientConnection"] = client
	config["leaderElection"] = map[string]any{"leaderElect": false}
	if text, err = yaml.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
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
	}{}
	for _, family := range families {
		if family.GetName() != "scheduler_scheduling_algorithm_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			out.Attempts += metric.GetHistogram().GetSampleCount()
			out.SearchedSeconds += metric.GetHistogram().GetSampleSum()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
