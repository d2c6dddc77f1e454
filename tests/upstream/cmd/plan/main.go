// SPDX-License-Identifier: Apache-2.0

// plan draws clusters whose kubelets are the real managers, has `kubectl numa plan` make plans for them, and carries each plan out on the
// managers: they must admit every moved and wanted pod, and give it the CPUs and NUMA nodes that the plan names.
package main

import (
	"context"
	"math/rand/v2"

	"nrtd.dev/tests/upstream/internal/differential"
	"nrtd.dev/tests/upstream/internal/kubelet"
	"nrtd.dev/tests/upstream/internal/plan"
)

func main() {
	driver := &plan.Driver{}
	plan.Main("plan", driver, &driver.Tally, func(ctx context.Context, machines map[string]*kubelet.Machine) differential.Problem[*plan.Cluster] {
		return differential.Problem[*plan.Cluster]{
			Random:  func(r *rand.Rand) *plan.Cluster { return plan.Random(r, machines) },
			Smaller: plan.Smaller,
			Compare: func(c *plan.Cluster) ([]string, error) { return driver.Play(ctx, c) },
		}
	})
}
