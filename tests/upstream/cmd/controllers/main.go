// SPDX-License-Identifier: Apache-2.0

// controllers is kube-controller-manager in the version of the API server that this module runs, for the scripts whose workloads have Jobs
// and StatefulSets.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
