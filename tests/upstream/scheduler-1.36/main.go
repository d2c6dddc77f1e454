// SPDX-License-Identifier: Apache-2.0

// scheduler-1.36 is cmd/scheduler with an unmodified kube-scheduler of that release.
package main

import "nrtd.dev/tests/upstream/internal/scheduler"

func main() {
	scheduler.Main()
}
