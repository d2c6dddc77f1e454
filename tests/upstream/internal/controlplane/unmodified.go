// SPDX-License-Identifier: Apache-2.0

//go:build unmodified

package controlplane

import "k8s.io/kubernetes/cmd/kube-scheduler/app"

// SchedulerPlugins is empty: scheduler-plugins can be built with one release of Kubernetes only, that of go.mod.
func SchedulerPlugins() []app.Option { return nil }
