// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/go-logr/logr"
	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2/helper/numanode"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"sigs.k8s.io/scheduler-plugins/pkg/util"
)

type amounts map[v1.ResourceName]string

type vectorContainer struct {
	Requests amounts `json:"requests"`
	Limits   amounts `json:"limits"`
}

type vectorZone struct {
	ID        int              `json:"id"`
	Costs     map[string]int64 `json:"costs"`
	Available amounts          `json:"available"`
}

type vectorPod struct {
	QoS            v1.PodQOSClass    `json:"qos"`
	Overhead       amounts           `json:"overhead,omitempty"`
	InitContainers []vectorContainer `json:"initContainers,omitempty"`
	Containers     []vectorContainer `json:"containers"`
}

type byScope struct {
	Container int64 `json:"container"`
	Pod       int64 `json:"pod"`
}

type vectorExpect struct {
	EffectiveRequest amounts `json:"effectiveRequest"`
	Required         struct {
		NUMANodes   []int `json:"numaNodes"`
		MinDistance bool  `json:"minDistance"`
	} `json:"required"`
	FilterContainer string             `json:"filterContainer"`
	FilterPod       string             `json:"filterPod"`
	Scores          map[string]byScope `json:"scores"`
}

// Vector is one entry of scheduler.json.
type Vector struct {
	ID              string           `json:"id"`
	MaxNUMANodes    int              `json:"maxNUMANodes"`
	Weights         map[string]int64 `json:"weights,omitempty"`
	NodeAllocatable amounts          `json:"nodeAllocatable"`
	Zones           []vectorZone     `json:"zones"`
	Pod             vectorPod        `json:"pod"`
	Expect          vectorExpect     `json:"expect"`
}

// Vectors writes down what the plugin says in random cases, in the format of scheduler.json. Cases in which the plugin
// crashes or leaves the range of scores are left out, and so is what the format has no word for.
func Vectors(ctx context.Context, real *Real, seed uint64, count int) ([]Vector, error) {
	var vectors []Vector
	for i := uint64(0); len(vectors) < count; i++ {
		r := rand.New(rand.NewPCG(seed, i))
		c := Random(r)
		c.NRT.TopologyPolicies = nil
		c.Pod.Spec.Resources = nil
		for j := range c.Pod.Spec.InitContainers {
			c.Pod.Spec.InitContainers[j].RestartPolicy = nil
		}
		if undefined(c, "any") {
			continue
		}
		v, err := vector(ctx, real, c, pick(r, 8, 8, 8, 2, 4, 16, 32, 64))
		if err != nil {
			return nil, err
		}
		if v != nil {
			v.ID = fmt.Sprintf("s%d-%04d", seed, len(vectors))
			vectors = append(vectors, *v)
		}
	}
	return vectors, nil
}

func vector(ctx context.Context, real *Real, c Case, maxNUMANodes int) (*Vector, error) {
	pod := c.Pod.DeepCopy()
	corev1defaults.SetObjectDefaults_Pod(pod)
	host := node(c)
	v := &Vector{MaxNUMANodes: maxNUMANodes, Weights: weightSets[c.Weights], NodeAllocatable: texts(host.Status.Allocatable),
		Zones: vectorZones(c.NRT), Pod: vectorPod{QoS: v1qos.ComputePodQOS(pod), Overhead: texts(pod.Spec.Overhead),
			InitContainers: vectorContainers(pod.Spec.InitContainers), Containers: vectorContainers(pod.Spec.Containers)}}
	v.Expect.Scores = map[string]byScope{}
	for _, scope := range []string{"container", "pod"} {
		c.NRT.Attributes = topologyv1alpha2.AttributeList{
			{Name: "topologyManagerPolicy", Value: "single-numa-node"},
			{Name: "topologyManagerScope", Value: scope},
			{Name: "topologyManagerMaxNUMANodes", Value: strconv.Itoa(maxNUMANodes)},
		}
		if err := real.Publish(ctx, c.NRT); err != nil {
			return nil, err
		}
		answer, err := real.Ask(ctx, c.Weights, pod, host)
		if err != nil || len(answer.Panics) > 0 {
			return nil, err
		}
		for strategy, score := range answer.Scores {
			if score < fwk.MinNodeScore || score > fwk.MaxNodeScore {
				return nil, nil
			}
			both := v.Expect.Scores[strategy]
			if scope == "container" {
				both.Container, v.Expect.FilterContainer = score, answer.Reason
			} else {
				both.Pod, v.Expect.FilterPod = score, answer.Reason
			}
			v.Expect.Scores[strategy] = both
		}
	}
	request := util.GetPodEffectiveRequest(pod)
	v.Expect.EffectiveRequest = texts(request)
	list := createNUMANodeList(logr.Discard(), c.NRT.Zones)
	mask, near := numaNodesRequired(logr.Discard(), v.Pod.QoS, list, request)
	if mask != nil {
		v.Expect.Required.NUMANodes = mask.GetBits()
	}
	v.Expect.Required.MinDistance = near
	return v, nil
}

func texts(list v1.ResourceList) amounts {
	out := amounts{}
	for name, quantity := range list {
		out[name] = quantity.String()
	}
	return out
}

func vectorContainers(containers []v1.Container) []vectorContainer {
	var out []vectorContainer
	for _, c := range containers {
		out = append(out, vectorContainer{Requests: texts(c.Resources.Requests), Limits: texts(c.Resources.Limits)})
	}
	return out
}

func vectorZones(nrt *topologyv1alpha2.NodeResourceTopology) []vectorZone {
	var out []vectorZone
	for _, zone := range nrt.Zones {
		id, err := numanode.NameToID(zone.Name)
		if err != nil || zone.Type != "Node" {
			continue
		}
		v := vectorZone{ID: id, Costs: map[string]int64{}, Available: amounts{}}
		for _, cost := range zone.Costs {
			if other, err := numanode.NameToID(cost.Name); err == nil {
				v.Costs[strconv.Itoa(other)] = cost.Value
			}
		}
		for _, r := range zone.Resources {
			v.Available[v1.ResourceName(r.Name)] = r.Available.String()
		}
		out = append(out, v)
	}
	return out
}
