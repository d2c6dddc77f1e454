// SPDX-License-Identifier: Apache-2.0

// scheduler runs kube-scheduler by itself, with NodeResourceTopologyMatch and NodeMetadata's stand-in registered, until
// its standard input ends or SIGTERM. Its last line is what its metrics say, as JSON: how many times it tried a pod, and
// how long its search for a node took.
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

	"k8s.io/component-base/metrics/legacyregistry"
	"nrtd.dev/tests/upstream/internal/controlplane"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	config := flag.String("config", "", "its configuration file, without a kubeconfig")
	kubeconfig := flag.String("kubeconfig", "", "where the API server is")
	dir := flag.String("dir", "", "folder for its log and its whole configuration")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *config, *kubeconfig, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config, kubeconfig, dir string) error {
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
	schedule, err := controlplane.Scheduler(ctx, config, kubeconfig, dir)
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
