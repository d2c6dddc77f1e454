// SPDX-License-Identifier: Apache-2.0

// Package volcano has pods for Volcano's plugin numaaware, and what `kubectl numa score --strategy Volcano` says of a pod on made nodes.
package volcano

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"nrtd.dev/tests/upstream/internal/made"
	"nrtd.dev/tests/upstream/internal/programs"
)

// PolicyAnnotation says which policy a pod wants of its node.
const PolicyAnnotation = "volcano.sh/numa-topology-policy"

// noNode is the exit status of `kubectl numa score` where no node takes the pod.
const noNode = 3

// Pod is a pod as far as the plugin looks.
type Pod struct {
	Containers []string // what each asks for of CPUs
	Guaranteed bool
	Policy     string // its annotation; "" = it has none
}

// Verdict is the answer about one node.
type Verdict struct {
	Passes bool    `json:"passes"`
	Reason string  `json:"reason"`
	Score  float64 `json:"score"`
	NUMA   int     `json:"-"` // NUMA nodes that the pod would use
}

// Object is the pod as the API server has it.
func (p *Pod) Object() *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "pod", UID: "pod", Annotations: map[string]string{}}}
	if p.Policy != "" {
		pod.Annotations[PolicyAnnotation] = p.Policy
	}
	for i, cpus := range p.Containers {
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus), v1.ResourceMemory: resource.MustParse("1Mi")}
		container := v1.Container{Name: fmt.Sprintf("c%d", i), Image: "example.com/app", Resources: v1.ResourceRequirements{Requests: amounts}}
		if p.Guaranteed {
			container.Resources.Limits = amounts
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// Score is what kubectl-numa says of each node.
func Score(ctx context.Context, m *made.Maker, nrts []json.RawMessage, pod *v1.Pod, weight int) (map[string]Verdict, error) {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": nrts})
	if err != nil {
		return nil, err
	}
	asked, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(m.Dir, "pod.json")
	if err := os.WriteFile(path, asked, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, programs.KubectlNuma(m.Nrtd), "score", "--from", "-", "-f", path, "--strategy", "Volcano", "--volcano-weight", fmt.Sprint(weight), "-o", "json")
	command.Stdin = bytes.NewReader(list)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil && command.ProcessState.ExitCode() != noNode {
		return nil, fmt.Errorf("kubectl-numa score: %w: %s", err, stderr.String())
	}
	var answer struct {
		Nodes []struct {
			Name    string
			Scores  struct{ Volcano *float64 }
			Volcano struct {
				Admitted  bool
				Reason    string
				NUMANodes int
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	verdicts := map[string]Verdict{}
	for _, node := range answer.Nodes {
		one := Verdict{Passes: node.Volcano.Admitted, Reason: node.Volcano.Reason, NUMA: node.Volcano.NUMANodes}
		if node.Scores.Volcano != nil {
			one.Score = *node.Scores.Volcano
		}
		verdicts[node.Name] = one
	}
	return verdicts, nil
}
