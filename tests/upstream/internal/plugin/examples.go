// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"nrtd.dev/tests/upstream/internal/made"
)

// Example is one of a document: a pod, and what the document says of it and of some nodes.
type Example struct {
	Name       string
	Table      string              // the nodes that there are
	Containers []map[string]string // what each asks for
	Burstable  bool                // they have requests and no limits
	Nodes      map[string]Said
}

// Said is what a document says of a node.
type Said struct {
	Refused string            // why the filter refuses it; "" = it passes
	Scores  map[string]int64  // by strategy, those that the document has
	CPUs    map[string]string // by zone, what its object says: available/allocatable/capacity
}

// About is as made.Example has it.
func (e *Example) About() (name, table string, nodes int) { return e.Name, e.Table, len(e.Nodes) }

func (e *Example) pod() (*v1.Pod, error) {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "pod"}}
	for i, wanted := range e.Containers {
		amounts := v1.ResourceList{}
		for name, amount := range wanted {
			quantity, err := resource.ParseQuantity(amount)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", e.Name, name, err)
			}
			amounts[v1.ResourceName(name)] = quantity
		}
		container := v1.Container{Name: fmt.Sprintf("c%d", i), Image: "example.com/app", Resources: v1.ResourceRequirements{Requests: amounts}}
		if !e.Burstable {
			container.Resources.Limits = amounts
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod, nil
}

// Check has the plugin, and nrtd, judge the example by objects that nrtd makes and the API server holds; it returns how their
// answers differ from each other and from the document's.
func (e *Example) Check(ctx context.Context, real *Real, nrtd *Nrtd, maker *made.Maker, nodes []made.Node) (differences []string, err error) {
	pod, err := e.pod()
	if err != nil {
		return nil, err
	}
	objects, _, err := maker.Objects(ctx, nodes)
	if err != nil {
		return nil, err
	}
	for i, text := range objects {
		nrt := &topologyv1alpha2.NodeResourceTopology{}
		if err := json.Unmarshal(text, nrt); err != nil {
			return nil, err
		}
		c := Case{NRT: nrt, Pod: pod}
		found, err := Compare(ctx, real, nrtd, c)
		if err != nil {
			return nil, err
		}
		defaulted := pod.DeepCopy()
		corev1defaults.SetObjectDefaults_Pod(defaulted)
		answer, err := real.Ask(ctx, c.Weights, defaulted, node(c))
		if err != nil {
			return nil, err
		}
		found = append(found, unlike(e.Nodes[nodes[i].Name], answer, nrt)...)
		for _, line := range found {
			differences = append(differences, nodes[i].Name+": "+line)
		}
	}
	return differences, nil
}

// unlike is how the plugin's answer and the object differ from what the document says.
func unlike(said Said, answer *Answer, nrt *topologyv1alpha2.NodeResourceTopology) (differences []string) {
	differ := func(format string, values ...any) {
		differences = append(differences, fmt.Sprintf(format, values...))
	}
	if answer.Passed != (said.Refused == "") || !strings.Contains(answer.Reason, said.Refused) {
		differ("filter: the document says %q, the plugin %t %q", said.Refused, answer.Passed, answer.Reason)
	}
	for strategy, score := range said.Scores {
		if got, known := answer.Scores[strategy]; !known || got != score {
			differ("%s: the document says %d, the plugin %d", strategy, score, got)
		}
	}
	for name, amounts := range said.CPUs {
		i := slices.IndexFunc(nrt.Zones, func(z topologyv1alpha2.Zone) bool { return z.Name == name })
		if i < 0 {
			differ("there is no zone %s", name)
			continue
		}
		got := ""
		for _, r := range nrt.Zones[i].Resources {
			if r.Name == "cpu" {
				got = r.Available.String() + "/" + r.Allocatable.String() + "/" + r.Capacity.String()
			}
		}
		if got != amounts {
			differ("%s has %s CPUs, the document says %s", name, got, amounts)
		}
	}
	return differences
}
