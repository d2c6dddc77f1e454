// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Draw draws workloads as users write them: requests without limits, limits without requests, init containers, sidecars, pod-level
// resources, fractions of CPUs, devices, and what kube-scheduler alone looks at.
func Draw(seed uint64, n int, device string, options Options) (cases []Case, err error) {
	r := rand.New(rand.NewPCG(seed, 52))
	for i := range n {
		object := &unstructured.Unstructured{Object: drawObject(r, i, device)}
		c, err := New("drawn", object, options)
		if err != nil {
			return nil, err
		}
		cases = append(cases, *c)
	}
	return cases, nil
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func drawObject(r *rand.Rand, number int, device string) map[string]any {
	kinds := []string{"Deployment", "Deployment", "StatefulSet", "Job", "DaemonSet", "Pod", "ReplicaSet"}
	kind := kinds[r.IntN(len(kinds))]
	name := fmt.Sprintf("w%d", number)
	labels := map[string]any{"app": name}
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": drawSpec(r, labels, kind, device)}
	object := map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": name}}
	spec := map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": template, "replicas": int64(1 + r.IntN(8))}
	switch kind {
	case "Pod":
		object["apiVersion"], spec = "v1", template["spec"].(map[string]any)
		object["metadata"].(map[string]any)["labels"] = labels
	case "Job":
		object["apiVersion"] = "batch/v1"
		spec = map[string]any{"template": template, "parallelism": int64(1 + r.IntN(6)), "completions": int64(1 + r.IntN(6))}
	case "DaemonSet":
		delete(spec, "replicas")
	case "StatefulSet":
		spec["serviceName"] = name
	}
	object["spec"] = spec
	return object
}

func drawSpec(r *rand.Rand, labels map[string]any, kind, device string) map[string]any {
	spec := map[string]any{}
	if kind == "Job" || kind == "Pod" {
		spec["restartPolicy"] = "Never"
	}
	containers := []any{drawContainer(r, "main", device)}
	if chance(r, 30) {
		containers = append(containers, drawContainer(r, "second", ""))
	}
	spec["containers"] = containers
	if chance(r, 25) {
		init := drawContainer(r, "prepare", "").(map[string]any)
		if chance(r, 40) {
			init["restartPolicy"] = "Always"
		}
		spec["initContainers"] = []any{init}
	}
	if chance(r, 6) {
		amounts := map[string]any{"cpu": "40", "memory": "64Gi"}
		spec["resources"] = map[string]any{"requests": amounts, "limits": amounts}
	}
	selector := map[string]any{"matchLabels": labels}
	switch {
	case kind == "DaemonSet":
	case chance(r, 12):
		spec["topologySpreadConstraints"] = []any{map[string]any{"maxSkew": int64(1), "topologyKey": "kubernetes.io/hostname",
			"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, "matchLabelKeys": []any{"pod-template-hash"}}}
	case chance(r, 12):
		spec["affinity"] = map[string]any{"podAntiAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": []any{
			map[string]any{"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}}}}
	case chance(r, 4):
		spec["nodeSelector"] = map[string]any{"example.com/none": "such"}
	}
	return spec
}

func drawContainer(r *rand.Rand, name, device string) any {
	sizes := []int{1, 2, 2, 3, 4, 4, 6, 8, 12, 16, 20, 30}
	cpu := fmt.Sprint(sizes[r.IntN(len(sizes))])
	if chance(r, 20) {
		cpu = fmt.Sprintf("%dm", 100+100*r.IntN(40))
	}
	amounts := map[string]any{"cpu": cpu, "memory": fmt.Sprintf("%dMi", 64<<r.IntN(8))}
	if device != "" && chance(r, 25) {
		amounts[device] = fmt.Sprint(1 + r.IntN(2))
	}
	resources := map[string]any{"limits": amounts}
	switch {
	case chance(r, 40):
		resources["requests"] = amounts
	case chance(r, 30): // Burstable
		resources["requests"] = map[string]any{"cpu": "250m"}
	case chance(r, 10):
		resources = map[string]any{}
	}
	if chance(r, 2) { // the API server refuses requests above the limits
		resources["requests"] = map[string]any{"cpu": "1000"}
	}
	return map[string]any{"name": name, "image": "example.com/app", "resources": resources}
}
