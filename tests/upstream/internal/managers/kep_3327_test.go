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
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"
)

// socketed is a kubelet on a machine of two sockets with four NUMA nodes of 12 CPUs each, CPU 0 reserved.
type socketed struct {
	*testing.T
	nrtd, machine string
	managers      *Managers
	pods          int
}

// newSocketed starts one. NRTD and MACHINES name the program and a folder of machines.
func newSocketed(t *testing.T, policy string, alignBySocket bool) *socketed {
	nrtd, machines := os.Getenv("NRTD"), os.Getenv("MACHINES")
	if nrtd == "" || machines == "" {
		t.Skip("NRTD and MACHINES are not set")
	}
	dir, err := os.MkdirTemp("", "kep-") // the socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &socketed{T: t, nrtd: nrtd, machine: filepath.Join(dir, "machine")}
	if out, err := exec.Command("cp", "-r", filepath.Join(machines, "2s-snc4"), s.machine).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(s.machine, "config.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+
		"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ntopologyManagerPolicy: %s\n"+
		"cpuManagerPolicyOptions: {align-by-socket: \"%t\"}\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}\n",
		policy, alignBySocket)), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := MachineInfo(s.machine)
	if err != nil {
		t.Fatal(err)
	}
	if s.managers, err = Start(context.Background(), filepath.Join(s.machine, "kubelet"), info, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.managers.Stop() })
	return s
}

// admit gives the managers a pod; what nrtd fit says before has to be what they do. It returns the pod's CPUs, "" when it is
// refused.
func (s *socketed) admit(cpus int) string {
	s.Helper()
	said := s.fit(cpus)
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(fmt.Sprint(cpus)), v1.ResourceMemory: resource.MustParse("64Mi")}
	s.pods++
	verdict := s.managers.Admit(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprint("pod-", s.pods)},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "example.com/app",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}}}})
	given := ""
	if verdict.Admitted {
		given = verdict.Containers[0].CPUs
	}
	if given != said {
		s.Errorf("the kubelet gives a pod of %d CPUs %q, nrtd says %q", cpus, given, said)
	}
	return given
}

// end takes the pods away. A minute later nothing shows them but what the CPU manager wrote.
func (s *socketed) end(names ...string) {
	s.Helper()
	for _, name := range names {
		if err := s.managers.Drop(metav1.NamespaceDefault + "/" + name); err != nil {
			s.Fatal(err)
		}
	}
	for _, pod := range s.managers.GetActivePods() {
		if err := os.MkdirAll(filepath.Join(s.machine, "var/log/pods", fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID)), 0o755); err != nil {
			s.Fatal(err)
		}
	}
	earlier := time.Now().Add(-time.Minute)
	for _, path := range []string{"cpu_manager_state", "memory_manager_state", "pod-resources/kubelet.sock"} {
		if err := os.Chtimes(filepath.Join(s.managers.Root, path), earlier, earlier); err != nil && !os.IsNotExist(err) {
			s.Fatal(err)
		}
	}
}

// fit is which CPUs a pod would get, "" when it would be refused.
func (s *socketed) fit(cpus int) string {
	s.Helper()
	command := exec.Command(s.nrtd, "fit", "--cpus", fmt.Sprint(cpus), "--memory", "64Mi", "-o", "json", "--sysroot", s.machine,
		"--kubelet-config", "/config.yaml", "--kubelet-root", "/kubelet")
	command.Env = append(os.Environ(), "HWLOC_HIDE_ERRORS=2")
	text, err := command.Output()
	var fit struct {
		Admitted   *bool
		Containers []Container
	}
	if json.Unmarshal(text, &fit) != nil || fit.Admitted == nil {
		s.Fatalf("nrtd fit: %v: %s", err, text)
	}
	if !*fit.Admitted {
		return ""
	}
	return fit.Containers[0].CPUs
}

// ofOneSocket tells whether these are so many CPUs of one socket.
func (s *socketed) ofOneSocket(text string, count int) bool {
	cpus, err := cpuset.Parse(text)
	if err != nil {
		s.Fatal(err)
	}
	found := map[int]bool{}
	for _, cpu := range cpus.List() {
		found[cpu%48/24] = true
	}
	return len(found) == 1 && cpus.Size() == count
}

// The example of KEP 3327 (align-by-socket): two pods that ask for 4 * (CPUs of a NUMA node) - 8 each. The document says that
// each gets CPUs of one socket. The kubelet does so for the first. For the second it takes the lowest of the preferred masks
// of four NUMA nodes, 0 and 4-6, before the socket's, 4-7.
func TestKEP3327Example(t *testing.T) {
	for _, policy := range []string{"best-effort", "restricted"} {
		s := newSocketed(t, policy, true)
		if given := s.admit(40); !s.ofOneSocket(given, 40) {
			t.Errorf("%s: the first pod has CPUs %q, not 40 of one socket", policy, given)
		}
		if given := s.admit(40); s.ofOneSocket(given, 40) {
			t.Errorf("%s: the second pod has CPUs %q of one socket: the document is right by now", policy, given)
		}
	}
}

// The proposal of KEP 3327: NUMA nodes of one socket are as good as the fewest. A pod of 12 CPUs would fit on one NUMA node, and
// at most 5 are free on each: policy restricted refuses it. With the option it gets CPUs of three NUMA nodes of a socket.
func TestKEP3327Proposal(t *testing.T) {
	for _, alignBySocket := range []bool{false, true} {
		s := newSocketed(t, "restricted", alignBySocket)
		for range 8 {
			if given := s.admit(7); given == "" {
				t.Fatal("a pod of 7 CPUs is refused")
			}
		}
		if alignBySocket { // the pods are side by side: the second and the fourth leave gaps on three NUMA nodes
			if given := s.admit(34); given == "" {
				t.Fatal("a pod of 34 CPUs is refused")
			}
			s.end("pod-2", "pod-4")
		}
		given := s.admit(12)
		if (given != "") != alignBySocket || alignBySocket && !s.ofOneSocket(given, 12) {
			t.Errorf("align-by-socket %t: the pod has CPUs %q", alignBySocket, given)
		}
	}
}
