// SPDX-License-Identifier: Apache-2.0

// kubectl is the real one, in the version of the API server that this module runs: the command of k8s.io/kubectl with
// its plugin handler, for kubectl_numa.sh.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
		os.Exit(1)
	}
}
