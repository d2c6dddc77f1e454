// SPDX-License-Identifier: Apache-2.0

// plugin compares the real NodeResourceTopologyMatch plugin with `kubectl numa score` on random objects and pods.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/made"
	"nrtd.dev/tests/upstream/internal/plugin"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	s := differential.Settings{Out: os.Stdout, MaxFails: 5}
	s.Flags()
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the API server the plugin reads its objects from")
	examples := flag.String("examples", "", "file of examples to judge, and compare nothing else")
	flag.IntVar(&s.Cases, "cases", 1000, "number of random cases")
	vectors := flag.String("vectors", "", "write what the plugin says of the cases to this file, in the format of scheduler.json, and compare nothing")
	differential.Main("plugin", &s, func(ctx context.Context) (int, error) {
		if *examples != "" {
			return judge(ctx, *kubeconfig, s.Nrtd, *examples, s.Machines)
		}
		return run(ctx, *kubeconfig, *vectors, s)
	})
}

func run(ctx context.Context, kubeconfig, vectors string, s differential.Settings) (int, error) {
	fmt.Printf("plugin: seed %d, %d cases\n", s.Seed, s.Cases)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, err
	}
	real, err := plugin.NewReal(ctx, config)
	if err != nil {
		return 0, err
	}
	if vectors != "" {
		return 0, write(ctx, real, s, vectors)
	}
	dir, err := os.MkdirTemp("", "nrtd-plugin-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	under := &plugin.Nrtd{Path: s.Nrtd, Dir: dir}
	problem := differential.Problem[plugin.Case]{
		Name:    "plugin",
		Random:  plugin.Random,
		Smaller: plugin.Smaller,
		Compare: func(c plugin.Case) ([]string, error) { return plugin.Compare(ctx, real, under, c) },
	}
	passed, failed, err := differential.ReplayAndRun(problem, s.Replay, s)
	fmt.Printf("plugin: %d passed, %d failed\n", passed, failed)
	return failed, err
}

// judge has the plugin judge the examples of a file.
func judge(ctx context.Context, kubeconfig, nrtd, examples, machines string) (failed int, err error) {
	quiet.LogTo(io.Discard)
	list, err := made.ReadExamples[*plugin.Example](examples)
	if err != nil {
		return 0, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, err
	}
	real, err := plugin.NewReal(ctx, config)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "nrtd-plugin-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	maker, err := made.NewMaker(ctx, nrtd, dir, machines)
	if err != nil {
		return 0, err
	}
	for _, e := range list.Examples {
		differences, err := e.Check(ctx, real, &plugin.Nrtd{Path: nrtd, Dir: dir}, maker, list.Tables[e.Table])
		if err != nil {
			return failed, fmt.Errorf("%s: %w", e.Name, err)
		}
		failed += made.Report("plugin", e, differences)
	}
	return failed, real.Withdraw(ctx)
}

// write writes vectors for the C tests.
func write(ctx context.Context, real *plugin.Real, s differential.Settings, path string) error {
	vectors, err := plugin.Vectors(ctx, real, s.Seed, s.Cases)
	if err != nil {
		return err
	}
	text, err := json.Marshal(vectors)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
