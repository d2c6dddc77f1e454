// SPDX-License-Identifier: Apache-2.0

// scheduler-1.37 is cmd/scheduler with an unmodified kube-scheduler of that release.
package main

import "nrtd.dev/tests/upstream/internal/scheduler"

func main() {
	scheduler.Main()
}
