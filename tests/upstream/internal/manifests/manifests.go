// SPDX-License-Identifier: Apache-2.0

// Package manifests reads workloads from files, draws others, and makes the pods that their controllers would create.
package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
)

// Case is one workload.
type Case struct {
	Name     string // FILE KIND/NAME
	Kind     string
	JSON     []byte // as it is judged
	Template v1.PodTemplateSpec
	replicas int
}

// Options say how files are changed before anything is asked.
type Options struct {
	Rename      map[string]string // resources, to those that the nodes have
	ReplicasMax int64             // of more replicas so many are wanted
}

// templates has the path of each kind's pod template and of its number of pods.
var templates = map[string]struct{ template, replicas []string }{
	"Pod":                   {nil, nil},
	"Deployment":            {[]string{"spec", "template"}, []string{"spec", "replicas"}},
	"ReplicaSet":            {[]string{"spec", "template"}, []string{"spec", "replicas"}},
	"ReplicationController": {[]string{"spec", "template"}, []string{"spec", "replicas"}},
	"StatefulSet":           {[]string{"spec", "template"}, []string{"spec", "replicas"}},
	"DaemonSet":             {[]string{"spec", "template"}, nil},
	"Job":                   {[]string{"spec", "template"}, []string{"spec", "parallelism"}},
}

// Read reads every workload of the files below a folder. Files and objects that it cannot read are counted.
func Read(folder string, options Options) (cases []Case, skipped int, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !(strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") || strings.HasSuffix(path, ".json")) {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		more, bad, err := readFile(path, name, options)
		cases, skipped = append(cases, more...), skipped+bad
		return err
	})
	return cases, skipped, err
}

func readFile(path, name string, options Options) (cases []Case, skipped int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return cases, skipped, nil
		}
		if err != nil {
			return cases, skipped + 1, nil // a template of another program, or no object
		}
		if _, known := templates[object.GetKind()]; !known {
			continue
		}
		c, err := New(name, object, options)
		if err != nil {
			skipped++
			continue
		}
		cases = append(cases, *c)
	}
}

// New makes a case of an object, which it changes.
func New(file string, object *unstructured.Unstructured, options Options) (*Case, error) {
	paths := templates[object.GetKind()]
	c := &Case{Name: fmt.Sprintf("%s %s/%s", file, object.GetKind(), object.GetName()), Kind: object.GetKind(), replicas: 1}
	object.SetNamespace("")
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "spec", "volumeClaimTemplates")
	if err := limitReplicas(object, c, paths.replicas, options); err != nil {
		return nil, err
	}
	pod := object.Object
	if paths.template != nil {
		template, found, err := unstructured.NestedMap(object.Object, paths.template...)
		if err != nil || !found {
			return nil, fmt.Errorf("%s has no pod template", c.Name)
		}
		pod = template
	}
	for _, list := range []string{"containers", "initContainers"} {
		if err := rename(pod, options.Rename, list); err != nil {
			return nil, err
		}
	}
	if paths.template != nil {
		if err := unstructured.SetNestedMap(object.Object, pod, paths.template...); err != nil {
			return nil, err
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod, &c.Template); err != nil {
		return nil, err
	}
	var err error
	c.JSON, err = json.Marshal(object.Object)
	return c, err
}

func limitReplicas(object *unstructured.Unstructured, c *Case, path []string, options Options) error {
	if path == nil {
		return nil
	}
	replicas, found, err := unstructured.NestedInt64(object.Object, path...)
	if err != nil || !found {
		return err
	}
	if completions, found, err := unstructured.NestedInt64(object.Object, "spec", "completions"); c.Kind == "Job" && err == nil && found {
		replicas = min(replicas, completions)
	}
	replicas = min(replicas, options.ReplicasMax)
	c.replicas = int(replicas)
	return unstructured.SetNestedField(object.Object, replicas, path...)
}

func rename(pod map[string]any, names map[string]string, list string) error {
	containers, found, err := unstructured.NestedSlice(pod, "spec", list)
	if err != nil || !found {
		return err
	}
	for _, container := range containers {
		fields, ok := container.(map[string]any)
		if !ok {
			return errors.New("a container is no map")
		}
		for _, kind := range []string{"requests", "limits"} {
			amounts, found, err := unstructured.NestedMap(fields, "resources", kind)
			if err != nil {
				return err
			}
			for from, to := range names {
				if amount, there := amounts[from]; there {
					delete(amounts, from)
					amounts[to] = amount
				}
			}
			if found {
				if err := unstructured.SetNestedMap(fields, amounts, "resources", kind); err != nil {
					return err
				}
			}
		}
	}
	return unstructured.SetNestedSlice(pod, containers, "spec", list)
}

// Pods are those that the controller would create; of a DaemonSet one for each node.
func (c *Case) Pods(nodes []string) (pods []*v1.Pod) {
	if c.Kind == "DaemonSet" {
		for i, node := range nodes {
			pod := c.pod(i)
			bindTo(pod, node)
			pods = append(pods, pod)
		}
		return pods
	}
	for i := range c.replicas {
		pods = append(pods, c.pod(i))
	}
	return pods
}

// addedLabels are those that controllers add.
var addedLabels = map[string][]string{
	"Deployment":  {"pod-template-hash"},
	"StatefulSet": {"controller-revision-hash"},
	"DaemonSet":   {"controller-revision-hash"},
	"Job":         {"batch.kubernetes.io/controller-uid", "controller-uid", "batch.kubernetes.io/job-name", "job-name"},
}

func (c *Case) pod(number int) *v1.Pod {
	template := c.Template.DeepCopy()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-", Namespace: metav1.NamespaceDefault, Labels: template.Labels, Annotations: template.Annotations},
		Spec: template.Spec}
	if c.Kind == "Pod" {
		return pod
	}
	if c.Kind == "StatefulSet" {
		pod.GenerateName, pod.Name = "", fmt.Sprintf("made-%d", number)
	}
	for _, label := range addedLabels[c.Kind] {
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[label] = "made"
	}
	owner := c.Kind
	if owner == "Deployment" {
		owner = "ReplicaSet"
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "made", UID: types.UID("00000000-0000-0000-0000-000000000001"),
		Controller: ptr.To(true)}}
	return pod
}

// bindTo is what the DaemonSet controller does so that the scheduler takes this node.
func bindTo(pod *v1.Pod, node string) {
	for _, taint := range []string{"unschedulable", "not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure"} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: "node.kubernetes.io/" + taint, Operator: v1.TolerationOpExists})
	}
	name := v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	required := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil || len((*required).NodeSelectorTerms) == 0 {
		*required = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{name}}}}
		return
	}
	for i := range (*required).NodeSelectorTerms {
		(*required).NodeSelectorTerms[i].MatchFields = []v1.NodeSelectorRequirement{name}
	}
}
