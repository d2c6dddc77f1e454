// SPDX-License-Identifier: Apache-2.0

// simulate draws clusters whose kubelets are the real managers, and restarts the kubelets with other settings while their pods run: they must
// reject the pods that `kubectl numa simulate --restart` says, and start with the state files that it says.
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
	plan.Main("simulate", driver, &driver.Changed, func(ctx context.Context, machines map[string]*kubelet.Machine) differential.Problem[*plan.Change] {
		return differential.Problem[*plan.Change]{
			Random:  func(r *rand.Rand) *plan.Change { return plan.RandomChange(r, machines) },
			Smaller: plan.SmallerChange,
			Compare: func(c *plan.Change) ([]string, error) { return driver.PlayChange(ctx, c) },
		}
	})
}
