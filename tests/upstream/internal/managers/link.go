// SPDX-License-Identifier: Apache-2.0

package managers

import (
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	_ "k8s.io/kubernetes/pkg/kubelet/cm" // holds the functions linked to
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

// The kubelet's container manager wants to own the machine's control groups, so the parts below it are put together
// here instead. These are the pieces of its glue that are not exported.

//go:linkname hardEvictionReservation k8s.io/kubernetes/pkg/kubelet/cm.hardEvictionReservation
func hardEvictionReservation(thresholds []evictionapi.Threshold, capacity v1.ResourceList) v1.ResourceList

//go:linkname containerDevices k8s.io/kubernetes/pkg/kubelet/cm.containerDevicesFromResourceDeviceInstances
func containerDevices(devices devicemanager.ResourceDeviceInstances) []*podresourcesapi.ContainerDevices

//go:linkname containerMemory k8s.io/kubernetes/pkg/kubelet/cm.containerMemoryFromBlock
func containerMemory(blocks []state.Block) []*podresourcesapi.ContainerMemory
