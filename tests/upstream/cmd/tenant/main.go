// SPDX-License-Identifier: Apache-2.0

// tenant has a user with the role edit create pods at every limit that the API server has, and measures how that affects the
// requests for another user's pods that `nrtd-extender` answers. It prints a table, and as its last line how many checks
// passed and failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/tenant"
)

func main() {
	t := &tenant.Test{}
	flag.StringVar(&t.Cluster, "cluster", "", "the control plane's folder")
	flag.StringVar(&t.Machines, "machines", "", "folder of the machines")
	flag.StringVar(&t.Programs, "programs", "build/upstream", "folder of the program managers")
	flag.StringVar(&t.Nrtd, "nrtd", "build/nrtd", "the program under test")
	flag.IntVar(&t.Nodes, "nodes", 40, "number of nodes")
	flag.IntVar(&t.Slack, "slack", 1, "on a busy machine: the limits of CPU times are so many times as long")
	flag.BoolVar(&t.Short, "short", false, "a quarter of the pods of each kind")
	flag.StringVar(&t.Only, "only", "", "only kinds of pods and of attempts whose names contain this; \"attempts\": all of these")
	flag.IntVar(&t.Attempts, "attempts", 200, "number of attempts that go on while others' pods are asked about")
	flag.IntVar(&t.First, "first", 0, "begin with this one, without the pods")
	flag.Uint64Var(&t.Seed, "seed", 1, "of the attempts")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fmt.Printf("tenant: %d nodes, load %s\n", t.Nodes, daemon.Load())
	dir, err := os.MkdirTemp("", "nrtd-tenant-")
	ok := false
	if err == nil {
		ok, err = t.Run(ctx, dir)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Println("not ok tenant:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}
