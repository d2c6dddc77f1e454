// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"testing"
)

const file = `
kind: Service
apiVersion: v1
metadata: {name: s}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: d, namespace: other}
spec:
  replicas: 100
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
kind: DaemonSet
apiVersion: apps/v1
metadata: {name: ds}
spec: {template: {spec: {containers: [{name: a}]}}}
---
kind: Job
apiVersion: batch/v1
metadata: {name: j}
spec: {parallelism: 5, completions: 2, template: {spec: {containers: [{name: a}]}}}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: none}
spec: {}
`

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	cases, skipped, err := Read(dir, Options{ReplicasMax: 8, Rename: map[string]string{"nvidia.com/gpu": "vendor.com/nic"}})
	if err != nil || len(cases) != 3 || skipped != 1 {
		t.Fatalf("%d cases, %d skipped, %v", len(cases), skipped, err)
	}
	deployment := cases[0].Pods([]string{"n1", "n2"})
	if len(deployment) != 8 || deployment[0].Labels["app"] != "d" || deployment[0].Labels["pod-template-hash"] == "" || deployment[0].Namespace != "default" {
		t.Errorf("%d pods: %+v", len(deployment), deployment[0])
	}
	if devices := deployment[0].Spec.Containers[0].Resources.Limits["vendor.com/nic"]; devices.Value() != 1 {
		t.Errorf("devices: %v", devices)
	}
	daemons := cases[1].Pods([]string{"n1", "n2"})
	if len(daemons) != 2 || daemons[1].Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0] != "n2" {
		t.Errorf("daemons: %+v", daemons)
	}
	if jobs := cases[2].Pods(nil); len(jobs) != 2 {
		t.Errorf("%d pods of the job", len(jobs))
	}
}

func TestDraw(t *testing.T) {
	cases, err := Draw(1, 200, "vendor.com/nic", Options{ReplicasMax: 8})
	if err != nil || len(cases) != 200 {
		t.Fatal(len(cases), err)
	}
	kinds := map[string]int{}
	for _, c := range cases {
		kinds[c.Kind]++
		if len(c.Pods([]string{"n1"})) == 0 {
			t.Error(c.Name)
		}
	}
	if len(kinds) != 6 {
		t.Error(kinds)
	}
}
