// SPDX-License-Identifier: Apache-2.0

// Package quiet keeps what the libraries of Kubernetes log away from the output of these programs.
package quiet

import (
	"flag"
	"io"

	"k8s.io/klog/v2"
)

// LogTo sends every line that Kubernetes logs to w, and none to standard error.
func LogTo(w io.Writer) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for _, setting := range [][2]string{
		{"logtostderr", "false"}, {"alsologtostderr", "false"}, {"stderrthreshold", "FATAL"}, {"one_output", "true"}} {
		if err := flags.Set(setting[0], setting[1]); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(w)
}
