// SPDX-License-Identifier: Apache-2.0

//go:build !unmodified

package scheduler

import (
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"nrtd.dev/tests/upstream/internal/kubeletadmission"
	"nrtd.dev/tests/upstream/internal/nodemetadata"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // the plugin's arguments in the configuration file
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

// plugins are NodeResourceTopologyMatch, NodeMetadata's stand-in and the example of a plugin that asks nrtd-extender. The
// configuration file says which profiles use them.
func plugins() []app.Option {
	return []app.Option{app.WithPlugin(noderesourcetopology.Name, noderesourcetopology.New),
		app.WithPlugin(nodemetadata.Name, nodemetadata.New),
		app.WithPlugin(kubeletadmission.Name, kubeletadmission.New)}
}
