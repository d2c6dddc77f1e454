// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"
)

// Managers is the program of that name: the kubelet's managers and its pod-resources server.
type Managers struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// StartManagers starts them with their state in root, for the machine in sysroot ("" is this one).
func StartManagers(program, sysroot, root, config string) (*Managers, error) {
	return StartManagersWith(os.Stderr, program, sysroot, root, config)
}

// StartManagersWith does so with further flags; what they say when they crash goes to stderr.
func StartManagersWith(stderr io.Writer, program, sysroot, root, config string, flags ...string) (*Managers, error) {
	m := &Managers{process: exec.Command(program, append([]string{"-root", root, "-config", config, "-sysroot", sysroot,
		"-timeout", "12h"}, flags...)...)}
	m.process.Stderr = stderr
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if m.in, err = m.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.out = json.NewDecoder(out)
	if err := m.process.Start(); err != nil {
		return nil, err
	}
	var ready struct{ Ready string }
	if err := m.out.Decode(&ready); err != nil {
		m.Kill()
		return nil, fmt.Errorf("managers: %w", err)
	}
	return m, nil
}

// Kill ends them as a crash would: the socket's file stays.
func (m *Managers) Kill() {
	m.process.Process.Kill()
	m.process.Wait()
}

// Killed waits for their end and tells whether SIGKILL was it.
func (m *Managers) Killed() bool {
	m.process.Wait()
	status, ok := m.process.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Signal sends them a signal.
func (m *Managers) Signal(signal syscall.Signal) { m.process.Process.Signal(signal) }

// Register starts a device plugin with a device for each list of NUMA nodes.
func (m *Managers) Register(resource string, numa [][]int) error {
	var answer struct{ Error string }
	if err := m.Ask(map[string]any{"register": map[string]any{"resource": resource, "numa": numa}}, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("managers: %s", answer.Error)
	}
	return nil
}

// Admit gives the pod's only container its CPUs.
func (m *Managers) Admit(pod *v1.Pod) (cpuset.CPUSet, error) {
	var answer struct {
		Admitted   bool
		Message    string
		Containers []struct{ CPUs string }
	}
	if err := m.Ask(map[string]any{"admit": pod}, &answer); err != nil {
		return cpuset.New(), err
	}
	if !answer.Admitted || len(answer.Containers) != 1 {
		return cpuset.New(), fmt.Errorf("managers do not admit %s: %s", pod.Name, answer.Message)
	}
	return cpuset.Parse(answer.Containers[0].CPUs)
}

// Drop ends and deletes a pod.
func (m *Managers) Drop(pod *v1.Pod) error {
	var answer struct{ Error string }
	if err := m.Ask(map[string]any{"drop": pod.Namespace + "/" + pod.Name}, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("managers: %s", answer.Error)
	}
	return nil
}

// Ask sends a line and reads the answer.
func (m *Managers) Ask(line map[string]any, answer any) error {
	if err := json.NewEncoder(m.in).Encode(line); err != nil {
		return err
	}
	return m.out.Decode(answer)
}

// Pod is a Guaranteed pod of one container.
func Pod(name, cpus string) *v1.Pod {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus), v1.ResourceMemory: resource.MustParse("64Mi")}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "example.com/app",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}}}}
}

// KubeletConfig writes DIR/config.yaml for a static CPU manager with CPU 0 reserved.
func KubeletConfig(dir string) (string, error) {
	path := filepath.Join(dir, "config.yaml")
	return path, os.WriteFile(path, []byte(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
topologyManagerPolicy: best-effort
topologyManagerScope: container
`), 0o644)
}
