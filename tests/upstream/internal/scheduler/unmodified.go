// SPDX-License-Identifier: Apache-2.0

//go:build unmodified

package scheduler

import "k8s.io/kubernetes/cmd/kube-scheduler/app"

// plugins is empty: scheduler-plugins can be built with one release of Kubernetes only, that of go.mod.
func plugins() []app.Option { return nil }
