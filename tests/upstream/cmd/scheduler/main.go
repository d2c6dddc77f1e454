// SPDX-License-Identifier: Apache-2.0

// scheduler runs kube-scheduler by itself, with NodeResourceTopologyMatch and NodeMetadata's stand-in registered, until
// its standard input ends or SIGTERM.
package main

import "nrtd.dev/tests/upstream/internal/scheduler"

func main() { scheduler.Main() }
