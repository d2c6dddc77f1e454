// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	_ "unsafe"

	nrtv1alpha1 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha1"
	slov1alpha1 "github.com/koordinator-sh/koordinator/apis/slo/v1alpha1"
	"github.com/koordinator-sh/koordinator/pkg/slo-controller/noderesource/framework"
	"github.com/koordinator-sh/koordinator/pkg/slo-controller/noderesource/plugins/batchresource"
	"github.com/koordinator-sh/koordinator/pkg/util/sloconfig"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// batchClient is where the plugin reads objects.
//
//go:linkname batchClient github.com/koordinator-sh/koordinator/pkg/slo-controller/noderesource/plugins/batchresource.client
var batchClient client.Client

// batch is what koord-manager computes of the object for pods of the class BE: the CPUs of each NUMA node, on a node of which the system
// uses four CPUs.
func batch(object *nrtv1alpha1.NodeResourceTopology) (string, error) {
	scheme := runtime.NewScheme()
	if err := nrtv1alpha1.AddToScheme(scheme); err != nil {
		return "", err
	}
	object = object.DeepCopy()
	object.Name, object.ResourceVersion = "node", ""
	batchClient = fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).Build()
	used := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("1Gi")}
	size := v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi")}
	now, strategy := metav1.Now(), sloconfig.DefaultColocationStrategy()
	items, err := (&batchresource.Plugin{}).Calculate(&strategy, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: v1.NodeStatus{Capacity: size, Allocatable: size}},
		&v1.PodList{}, &framework.ResourceMetrics{NodeMetric: &slov1alpha1.NodeMetric{Status: slov1alpha1.NodeMetricStatus{UpdateTime: &now,
			NodeMetric: &slov1alpha1.NodeMetricInfo{SystemUsage: slov1alpha1.ResourceMap{ResourceList: used}}}}})
	if err != nil {
		return "", err
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(items[0].ZoneQuantity)) {
		amount := items[0].ZoneQuantity[name]
		text += fmt.Sprintf("%s=%s ", name, amount.String())
	}
	return text, nil
}
