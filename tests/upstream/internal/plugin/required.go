// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

// These two are the steps of the plugin that find the NUMA nodes a request needs. Its interface gives only the score
// that follows from them; the vectors record the nodes too.

//go:linkname createNUMANodeList sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology.createNUMANodeList
func createNUMANodeList(logger logr.Logger, zones topologyv1alpha2.ZoneList) noderesourcetopology.NUMANodeList

//go:linkname numaNodesRequired sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology.numaNodesRequired
func numaNodesRequired(logger logr.Logger, qos v1.PodQOSClass, nodes noderesourcetopology.NUMANodeList,
	request v1.ResourceList) (bitmask.BitMask, bool)
