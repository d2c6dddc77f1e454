// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const oneNode = "nrtd.dev/max-exclusive-cpus.1-numa"

// labels are those that nrtd would put on the Node of this machine, whose folder has the kubelet's files too.
func labels(t *testing.T, nrtd, machine string) map[string]string {
	t.Helper()
	command := exec.Command(nrtd, "dump", "--what", "hints", "--labels", "-o", "json", "--node-name", "node",
		"--sysroot", machine, "--kubelet-config", "/config.yaml", "--kubelet-root", "/kubelet")
	command.Env = append(os.Environ(), "HWLOC_HIDE_ERRORS=2")
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var hints struct{ Labels map[string]string }
	if err := json.Unmarshal(text, &hints); err != nil {
		t.Fatal(err)
	}
	if hints.Labels[oneNode] == "" {
		t.Fatalf("no label %s: %v", oneNode, hints.Labels)
	}
	return hints.Labels
}

// labelled wants `cpus` exclusive CPUs, on a node whose label says that it has them: as a requirement or as a preference.
func labelled(name string, cpus int, required bool) *v1.Pod {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(fmt.Sprint(cpus)), v1.ResourceMemory: resource.MustParse("64Mi")}
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: oneNode, Operator: v1.NodeSelectorOpGt,
		Values: []string{fmt.Sprint(cpus - 1)}}}}
	affinity := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 100, Preference: term}}}
	if required {
		affinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}, Spec: v1.PodSpec{
		Affinity: &v1.Affinity{NodeAffinity: affinity},
		Containers: []v1.Container{{Name: "main", Image: "example.com/app",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}}}}
}

// A kubelet that restarts admits its running pods again, with the labels that the Node has by then. Pods that required
// one of nrtd's have lowered it themselves and are refused; pods that preferred it go on. NRTD and MACHINES name the
// program and a folder of machines.
func TestLabelsAndARestart(t *testing.T) {
	nrtd, machines := os.Getenv("NRTD"), os.Getenv("MACHINES")
	if nrtd == "" || machines == "" {
		t.Skip("NRTD and MACHINES are not set")
	}
	for _, required := range []bool{true, false} {
		// The socket's path has to be short.
		dir, err := os.MkdirTemp("", "labels-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		machine := filepath.Join(dir, "machine")
		if out, err := exec.Command("cp", "-r", filepath.Join(machines, "seed-2s-32cpu"), machine).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		file := filepath.Join(machine, "config.yaml")
		if err := os.WriteFile(file, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+
			"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ntopologyManagerPolicy: restricted\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		refused := 0
		pods := []*v1.Pod{}
		var published map[string]string // while the pods run
		for start := range 2 {
			config, err := LoadConfig(file)
			if err != nil {
				t.Fatal(err)
			}
			info, err := MachineInfo(machine)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Start(context.Background(), filepath.Join(machine, "kubelet"), info, config)
			if err != nil {
				t.Fatal(err)
			}
			m.node.Labels = published
			for i := range 7 {
				if start == 0 { // each pod finds what it asks for
					m.node.Labels = labels(t, nrtd, machine)
					pods = append(pods, labelled(fmt.Sprint("pod-", i), 4, required))
				}
				verdict := m.Admit(pods[i])
				if start == 0 && !verdict.Admitted {
					t.Fatalf("%s is not admitted with the label at %s: %s", pods[i].Name, m.node.Labels[oneNode], verdict.Message)
				}
				if !verdict.Admitted {
					t.Logf("after the restart, with the label at %s, %s is refused: %s", m.node.Labels[oneNode], pods[i].Name, verdict.Reason)
					refused++
				}
			}
			published = labels(t, nrtd, machine)
			if err := m.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		if required != (refused > 0) {
			t.Errorf("required %v: %d of %d running pods are refused after the restart", required, refused, len(pods))
		}
	}
}
