// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"nrtd.dev/tests/upstream/internal/daemon"
	"sigs.k8s.io/yaml"
)

// errKubelet ends a sequence: the kubelet's code has crashed, does not answer or does not start.
var errKubelet = errors.New("the kubelet's code gave up")

// old is the age of files that were not written just now.
const old = time.Hour

// patience is how long its code may take for an answer.
const patience = 20 * time.Second

// node is one node: the folder that has its machine and the kubelet's files, and its kubelet.
type node struct {
	*daemon.Node
	program  string // the kubelet's managers
	machine  string // the folder of the machine that the kubelet reads
	sequence *Sequence
	now      condition
	pid      int // the last kubelet's, in the node's /proc
	started  time.Time
	decided  time.Time // when the kubelet last did so about a pod
	lists    int64     // how often the kubelet had been asked for its pods when it last had something that did not last
	kubelet  *daemon.Managers

	config    *kubeletconfigv1beta1.KubeletConfiguration // that the kubelet was started with
	edited    *kubeletconfigv1beta1.KubeletConfiguration // that is in the file
	active    []*v1.Pod
	completed map[string]types.UID
}

func (n *node) path(name string) string { return filepath.Join(n.Kubelet(), name) }
func (n *node) socket() string          { return n.path("pod-resources/kubelet.sock") }
func fullName(pod string) string        { return v1.NamespaceDefault + "/" + pod }

// ask asks the kubelet; one that does not answer is killed.
func (n *node) ask(line map[string]any, answer any) error {
	done := make(chan error, 1)
	kubelet := n.kubelet
	go func() { done <- kubelet.Ask(line, answer) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%w: %w", errKubelet, err)
		}
		return nil
	case <-time.After(patience):
		kubelet.Kill()
		<-done
		return fmt.Errorf("%w: no answer in %v", errKubelet, patience)
	}
}

// free is what the kubelet has free, as far as nrtd's source can tell it.
func (n *node) free() (Amounts, error) {
	amounts := Amounts{}
	source := n.sequence.Source
	return amounts, n.ask(map[string]any{"free": map[string]bool{"api": source != files, "files": source != api}}, &amounts)
}

func (n *node) writeConfig(config *kubeletconfigv1beta1.KubeletConfiguration) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	n.edited = config
	temporary := n.path("config.tmp")
	if err := os.WriteFile(temporary, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(n.Dir, daemon.ConfigPath))
}

// start starts the kubelet with the file that is there. The pods of before are admitted again; told is called after each.
func (n *node) start(told func() error) error {
	n.pid++
	if err := n.ShowKubelet(n.pid); err != nil {
		return err
	}
	kubelet, err := daemon.StartManagersWith(io.Discard, n.program, n.machine, n.Kubelet(), filepath.Join(n.Dir, daemon.ConfigPath), "-restart")
	if err != nil {
		return fmt.Errorf("%w: %w", errKubelet, err)
	}
	n.kubelet, n.now, n.config, n.started = kubelet, running, n.edited, time.Now()
	for _, d := range n.sequence.Devices {
		var answer struct{ Error string }
		if err := n.ask(map[string]any{"register": d}, &answer); err != nil {
			return err
		}
		if answer.Error != "" {
			return fmt.Errorf("%w: %s", errKubelet, answer.Error)
		}
	}
	before := n.active
	n.active = nil
	if err := told(); err != nil {
		return err
	}
	for _, pod := range before {
		if _, err := n.admit(pod); err != nil {
			return err
		}
		if err := told(); err != nil {
			return err
		}
	}
	if err := n.ask(map[string]any{"returned": n.completed}, &struct{}{}); err != nil {
		return err
	}
	return n.passing()
}

// asked is how often nrtd has asked the kubelet for its pods.
func (n *node) asked() (int64, error) {
	var answer struct{ Lists int64 }
	return answer.Lists, n.ask(map[string]any{"lists": true}, &answer)
}

// passing notes that until now the kubelet has said things that do not hold any more: a device that is not registered yet,
// what a pod got that it then turned down.
func (n *node) passing() (err error) {
	n.lists, err = n.asked()
	return err
}

// heard waits until nrtd has asked for the pods and got the whole answer since then. What a kubelet says last before it ends
// holds until it is back. So does its file of devices, which lists those of a plugin a little after its registration.
func (n *node) heard(limit time.Duration) error {
	if n.sequence.Source == files && len(n.sequence.Devices) > 0 {
		time.Sleep(time.Until(n.started.Add(limit)))
	}
	for end := time.Now().Add(limit); n.sequence.Source != files && n.now == running && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if lists, err := n.asked(); err != nil || lists >= n.lists+2 {
			return err
		}
	}
	return nil
}

// admit asks the kubelet for a verdict on a pod.
func (n *node) admit(pod *v1.Pod) (bool, error) {
	var verdict struct{ Admitted bool }
	if err := n.ask(map[string]any{"admit": pod}, &verdict); err != nil {
		return false, err
	}
	n.decided = time.Now()
	if !verdict.Admitted {
		return false, n.passing()
	}
	n.active = append(n.active, pod)
	return true, nil
}

// admitAndDie asks for a verdict and has the kubelet killed on the way to it, before the at-th time that a manager
// allocates. died is false when there were fewer.
func (n *node) admitAndDie(pod *v1.Pod, at int) (admitted, died bool, err error) {
	var verdict struct{ Admitted bool }
	err = n.ask(map[string]any{"admit": pod, "dieAt": at}, &verdict)
	if errors.Is(err, io.EOF) && n.kubelet.Killed() {
		return false, true, n.kill()
	}
	return verdict.Admitted, false, err
}

// kill kills the kubelet; its files and its socket stay as they are.
func (n *node) kill() error {
	n.kubelet.Kill()
	n.now = dead
	return os.RemoveAll(filepath.Join(n.Dir, "proc", fmt.Sprint(n.pid)))
}

// drain takes every pod away, and the state that a kubelet with other settings would not start with.
func (n *node) drain() error {
	n.active, n.completed = nil, map[string]types.UID{}
	for _, path := range []string{"cpu_manager_state", "memory_manager_state", "pods", "allocated_pods_state"} {
		if err := os.RemoveAll(n.path(path)); err != nil {
			return err
		}
	}
	return nil
}

// settle makes the node what it is some time after the last change: folders of logs for the pods that are there, a kubelet
// that has not just started, state files that are not brand new.
func (n *node) settle() error {
	logs := filepath.Join(n.Dir, "var/log/pods")
	wanted := map[string]bool{}
	for _, pod := range n.active {
		wanted[fmt.Sprintf("%s_%s_%s", v1.NamespaceDefault, pod.Name, uidOf(pod.Name))] = true
	}
	for name, uid := range n.completed {
		wanted[fmt.Sprintf("%s_%s_%s", v1.NamespaceDefault, name, uid)] = true
	}
	there, err := os.ReadDir(logs)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, folder := range there {
		if !wanted[folder.Name()] {
			if err := os.RemoveAll(filepath.Join(logs, folder.Name())); err != nil {
				return err
			}
		}
	}
	for name := range wanted {
		if err := os.MkdirAll(filepath.Join(logs, name), 0o755); err != nil {
			return err
		}
	}
	now, aged := time.Now(), false
	for _, path := range append([]string{"pod-resources/kubelet.sock"}, stateFiles...) {
		file, err := os.Stat(n.path(path))
		if os.IsNotExist(err) || (err == nil && now.Sub(file.ModTime()) > old/2) {
			continue
		}
		if err := errors.Join(err, os.Chtimes(n.path(path), now.Add(-old), now.Add(-old))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		aged = true
	}
	if !aged || n.now != running {
		return nil
	}
	// Another time is another file to nrtd: what the API said before is older than that.
	return n.passing()
}

// uidOf is the UID that the managers give a pod.
func uidOf(pod string) types.UID { return types.UID(v1.NamespaceDefault + "-" + pod) }
