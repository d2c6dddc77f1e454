// SPDX-License-Identifier: Apache-2.0

//go:build until_1.37

package main

// Up to 1.37 the kubelet's command imports this, by way of pkg/cluster/ports and cloud-provider.
import _ "k8s.io/controller-manager/pkg/features/register"
