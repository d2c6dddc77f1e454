// SPDX-License-Identifier: Apache-2.0

// start asks the kubelet's own code and nrtd whether a kubelet starts with random settings on random machines. The kubelet's
// answer is that of its validation and of the constructors of its managers (managers.Refusal). nrtd must give the same answer, and where
// the kubelet refuses, name the reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
)

// cpusMax bounds the machines: nrtd check takes long on larger ones, and no rule is about their size.
const cpusMax = 256

func main() {
	settings := differential.Settings{Cases: 1000, MaxFails: 10, Out: os.Stdout}
	maker := flag.String("maker", "tests/fixtures/machines/make.awk", "the program that makes drawn machines")
	flag.IntVar(&settings.Cases, "cases", settings.Cases, "random configurations")
	settings.Flags()
	differential.Main("start", &settings, func(ctx context.Context) (int, error) {
		work, err := os.MkdirTemp("", "start-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(work)
		machines, _, err := kubelet.Machines(settings.Machines)
		if err != nil {
			return 0, err
		}
		for name, m := range machines {
			if m.Info.NumCores > cpusMax {
				delete(machines, name)
			}
		}
		j := &judge{ctx: ctx, nrtd: settings.Nrtd, maker: *maker, work: work, machines: machines, tally: map[string]int{}}
		fmt.Printf("seed %d\n", settings.Seed)
		passed, failed, err := differential.Run(differential.Problem[settingsCase]{
			Name: "start", Random: j.random, Compare: j.compare, Smaller: smaller}, settings)
		if err != nil {
			return failed, err
		}
		fmt.Printf("start: %d alike, %d differ\n", passed, failed)
		return failed + j.print(settings.Cases), nil
	})
}
