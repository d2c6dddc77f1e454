// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	coredefaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// ---- the resources of a new pod, as the API server stores them

type storedResources struct {
	Requests map[string]string `json:"requests"`
	Limits   map[string]string `json:"limits"`
}

type storedPod struct {
	QoS        string            `json:"qos"`
	Pod        *storedResources  `json:"pod"` // null without spec.resources
	Containers []storedResources `json:"containers"`
}

// amounts prints milli-units.
func amounts(list corev1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, quantity := range list {
		all[string(name)] = fmt.Sprint(quantity.MilliValue())
	}
	return all
}

func stored(resources corev1.ResourceRequirements) storedResources {
	return storedResources{amounts(resources.Requests), amounts(resources.Limits)}
}

// readPod defaults and validates as the API server. It ignores errors of other members than resources.
func readPod(text []byte) (any, error) {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(text, pod); err != nil {
		return nil, err
	}
	if pod.Kind != "Pod" || len(pod.Spec.Containers) == 0 {
		return nil, errors.New("not a pod")
	}
	coredefaults.SetObjectDefaults_Pod(pod)
	internal := &core.Pod{}
	if err := coredefaults.Convert_v1_Pod_To_core_Pod(pod, internal, nil); err != nil {
		return nil, err
	}
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	refused := field.ErrorList{}
	for _, err := range validation.ValidatePodCreate(internal, options) {
		if strings.Contains(err.Field, "resources") || strings.Contains(err.Field, "limits") {
			refused = append(refused, err)
		}
	}
	if len(refused) > 0 {
		return nil, refused.ToAggregate()
	}
	result := storedPod{QoS: string(qos.ComputePodQOS(pod))}
	if pod.Spec.Resources != nil {
		all := stored(*pod.Spec.Resources)
		result.Pod = &all
	}
	for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		result.Containers = append(result.Containers, stored(container.Resources))
	}
	return result, nil
}

// ---- random pods

// podWriter draws a pod's resources; `odd` is the number of cases in which one name or amount is not valid, or unlikely.
type podWriter struct {
	r   *rand.Rand
	odd int
}

func (w podWriter) amount(name string) string {
	r := w.r
	if r.IntN(w.odd) == 0 {
		return pick(r, "-1", "0.5", "1500m", "3Mi", "1k", "0", "1e3")
	}
	switch {
	case name == "cpu":
		return pick(r, "1", "2", "4", "500m", "2000m", "0", "1.5")
	case name == "memory" || name == "ephemeral-storage":
		return pick(r, "1Gi", "2Gi", "512Mi", "1024Mi", "1G", "0")
	case strings.HasPrefix(name, "hugepages-"):
		return pick(r, "2Mi", "4Mi", "1Gi", "2Gi", "64Mi", "0")
	}
	return pick(r, "1", "2", "4", "0")
}

func (w podWriter) name() string {
	if w.r.IntN(w.odd) == 0 {
		return pick(w.r, "requests.example.com/x", "kubernetes.io/batch-cpu", "Example.com/nic", "example.com/-nic", "example..com/nic", "hugepages-", "hugepages-3",
			"hugepages-2mi", "-example.com/nic", "example.com/"+strings.Repeat("n", 64), "x."+strings.Repeat("long.", 49)+"com/n", "example.com/n_i.c")
	}
	return pick(w.r, "cpu", "cpu", "cpu", "memory", "memory", "memory", "hugepages-2Mi", "hugepages-1Gi", "example.com/nic", "nvidia.com/gpu", "ephemeral-storage")
}

// resources draws requests and limits; most requests are equal to their limits.
func (w podWriter) resources(most int) map[string]map[string]string {
	requests, limits := map[string]string{}, map[string]string{}
	for range w.r.IntN(most + 1) {
		name := w.name()
		amount := w.amount(name)
		switch w.r.IntN(6) {
		case 0:
			requests[name] = amount
		case 1, 2:
			limits[name] = amount
		case 3:
			requests[name], limits[name] = w.amount(name), amount
		default:
			requests[name], limits[name] = amount, amount
		}
	}
	all := map[string]map[string]string{}
	if len(requests) > 0 || w.r.IntN(5) == 0 {
		all["requests"] = requests
	}
	if len(limits) > 0 || w.r.IntN(5) == 0 {
		all["limits"] = limits
	}
	return all
}

func (w podWriter) containers(kind string, n int) []map[string]any {
	var all []map[string]any
	for i := range n {
		container := map[string]any{"name": fmt.Sprintf("%s%d", kind, i), "image": "x"}
		if w.r.IntN(6) > 0 {
			container["resources"] = w.resources(4)
		}
		if kind == "init" && w.r.IntN(3) == 0 {
			container["restartPolicy"] = "Always"
		}
		all = append(all, container)
	}
	return all
}

func podText(r *rand.Rand) []byte {
	w := podWriter{r, pick(r, 8, 60, 1000)}
	spec := map[string]any{"containers": w.containers("app", 1+r.IntN(3))}
	if n := r.IntN(3); n > 0 {
		spec["initContainers"] = w.containers("init", n)
	}
	if r.IntN(3) == 0 {
		resources := w.resources(4)
		for _, list := range resources {
			for name := range list {
				if r.IntN(4) > 0 && name != "cpu" && name != "memory" && !strings.HasPrefix(name, "hugepages-") {
					delete(list, name)
				}
			}
		}
		spec["resources"] = resources
	}
	text, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "namespace": "default"}, "spec": spec})
	return text
}
