// SPDX-License-Identifier: Apache-2.0

// Package daemon runs `nrtd run` for one node on a made-up or recorded machine, against a real API server, and looks at
// the process and at what it publishes.
package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/utils/cpuset"
)

// endTimeout is how long nrtd may take to end after SIGTERM.
const endTimeout = 2 * time.Second

// Node is one node: a folder that holds its machine and its kubelet's files, and the daemon that runs there.
type Node struct {
	Name       string
	Dir        string // has sys, proc, var/lib/kubelet
	Nrtd       string
	Kubeconfig string
	Settings   []string // flags of the kubelet's settings, of dump as well
	Flags      []string // flags of run alone

	Started time.Time
	process *exec.Cmd
	port    int
	log     string
}

// Settings are the flags for a kubelet with the static CPU manager and CPU 0 reserved.
func Settings(reserved string) []string {
	return []string{"--cpu-manager-policy", "static", "--reserved-cpus", reserved, "--memory-manager-policy", "None",
		"--topology-manager-policy", "best-effort", "--topology-manager-scope", "container"}
}

// copyTree makes a copy of the folder that shares its files: nrtd follows no link out of its sysroot.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		copied := filepath.Join(to, below)
		switch {
		case entry.IsDir():
			return os.MkdirAll(copied, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, copied)
		default:
			return os.Link(path, copied)
		}
	})
}

// New makes DIR/NAME with the machine's sys and proc, and no kubelet directory yet.
func New(dir, name, machine, nrtd, kubeconfig, reserved string, flags ...string) (*Node, error) {
	n := &Node{Name: name, Dir: filepath.Join(dir, name), Nrtd: nrtd, Kubeconfig: kubeconfig,
		Settings: Settings(reserved), Flags: flags}
	if err := os.RemoveAll(n.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(n.Dir, "var", "lib"), 0o755); err != nil {
		return nil, err
	}
	for _, part := range []string{"sys", "proc"} {
		from := filepath.Join(machine, part)
		if _, err := os.Stat(from); err != nil {
			continue // some recorded machines have no proc
		}
		if err := copyTree(from, filepath.Join(n.Dir, part)); err != nil {
			return nil, err
		}
	}
	n.log = filepath.Join(dir, name+".log")
	if err := os.RemoveAll(n.log); err != nil {
		return nil, err
	}
	return n, nil
}

// Kubelet is the kubelet's root directory.
func (n *Node) Kubelet() string { return filepath.Join(n.Dir, "var", "lib", "kubelet") }

// Hold has pods without a name hold CPUs; see HoldAs.
func (n *Node) Hold(all cpuset.CPUSet, held ...cpuset.CPUSet) (time.Time, error) {
	pods := map[string]cpuset.CPUSet{}
	for i, cpus := range held {
		pods[fmt.Sprintf("pod-%d", i)] = cpus
	}
	return n.HoldAs(all, pods)
}

// HoldAs writes cpu_manager_state as the kubelet does, a new file renamed over the old one: each entry of held, by the pod's UID, is what
// one container has, the rest of all is the shared pool. It returns the time just before the rename.
func (n *Node) HoldAs(all cpuset.CPUSet, held map[string]cpuset.CPUSet) (time.Time, error) {
	checkpoint := state.NewCPUManagerCheckpoint()
	checkpoint.PolicyName = "static"
	pool := all
	for uid, cpus := range held {
		if cpus.IsEmpty() {
			continue
		}
		pool = pool.Difference(cpus)
		checkpoint.Entries[uid] = map[string]string{"main": cpus.String()}
	}
	checkpoint.DefaultCPUSet = pool.String()
	text, err := checkpoint.MarshalCheckpoint()
	if err != nil {
		return time.Time{}, err
	}
	if err := os.MkdirAll(n.Kubelet(), 0o755); err != nil {
		return time.Time{}, err
	}
	temporary := filepath.Join(n.Kubelet(), ".cpu_manager_state.tmp")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	return now, os.Rename(temporary, filepath.Join(n.Kubelet(), "cpu_manager_state"))
}

// freePort is a port of the loopback that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Start starts the daemon. Its log goes on where an earlier one's ended.
func (n *Node) Start(environment ...string) (err error) {
	if n.port, err = freePort(); err != nil {
		return err
	}
	log, err := os.OpenFile(n.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := slices.Concat([]string{"run", "--node-name", n.Name, "--kubeconfig", n.Kubeconfig, "--sysroot", n.Dir,
		"--lock", "none", "--http", fmt.Sprintf("127.0.0.1:%d", n.port)}, n.Settings, n.Flags)
	n.process = exec.Command(n.Nrtd, args...)
	// With JOURNAL_STREAM each line of the log begins with its level.
	n.process.Env = append(os.Environ(), append(environment, "JOURNAL_STREAM=1:1", "HWLOC_HIDE_ERRORS=2")...)
	n.process.Stderr = log
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	n.Started = time.Now()
	return n.process.Start()
}

// Stop ends the daemon by SIGTERM; it has to end well, in time.
func (n *Node) Stop() error {
	if n.process == nil {
		return nil
	}
	process := n.process
	n.process = nil
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s: nrtd had ended by itself: %w\n%s", n.Name, errorOf(process.Wait()), n.Log())
	}
	late := time.AfterFunc(endTimeout, func() { process.Process.Kill() })
	err := process.Wait()
	if !late.Stop() {
		return fmt.Errorf("%s: nrtd did not end within %v of SIGTERM", n.Name, endTimeout)
	}
	if err != nil {
		return fmt.Errorf("%s: nrtd ended with %w\n%s", n.Name, err, n.Log())
	}
	return nil
}

func errorOf(err error) error {
	if err == nil {
		return fmt.Errorf("status 0")
	}
	return err
}

// Kill ends the daemon without any ceremony.
func (n *Node) Kill() {
	if n.process != nil && n.process.Process != nil {
		n.process.Process.Kill()
		n.process.Wait()
		n.process = nil
	}
}

// Log is what the daemon logged, its last lines.
func (n *Node) Log() string {
	text, _ := os.ReadFile(n.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// Logged tells whether a line with this text was logged.
func (n *Node) Logged(text string) bool {
	log, _ := os.ReadFile(n.log)
	return bytes.Contains(log, []byte(text))
}

// Errors are the lines that were logged as errors.
func (n *Node) Errors() (lines []string) {
	log, _ := os.ReadFile(n.log)
	for _, line := range strings.Split(string(log), "\n") {
		if strings.HasPrefix(line, "<3>") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Metrics are the samples of /metrics by series, `name{label="value"}`.
func (n *Node) Metrics() (map[string]float64, error) {
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", n.port))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	out := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || lines.Text()[0] == '#' {
			continue
		}
		if out[lines.Text()[:at]], err = strconv.ParseFloat(lines.Text()[at+1:], 64); err != nil {
			return nil, fmt.Errorf("/metrics: %w", err)
		}
	}
	return out, lines.Err()
}

// Writes is how many writes of a target ("nrt", "node") the daemon says the API server took.
func (n *Node) Writes(target string) (float64, error) {
	samples, err := n.Metrics()
	if err != nil {
		return 0, err
	}
	for series, value := range samples {
		if strings.HasPrefix(series, "nrtd_publishes_total{") && strings.Contains(series, `target="`+target+`"`) &&
			strings.Contains(series, `result="written"`) {
			return value, nil
		}
	}
	return 0, fmt.Errorf("/metrics has no nrtd_publishes_total of %s", target)
}

// Ready asks /readyz.
func (n *Node) Ready() bool {
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", n.port))
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// PID of the daemon.
func (n *Node) PID() int { return n.process.Process.Pid }

// Dump is the object that `nrtd dump` prints of the node's files right now.
func (n *Node) Dump(ctx context.Context) (*topologyv1alpha2.NodeResourceTopology, error) {
	text, err := n.DumpText(ctx)
	if err != nil {
		return nil, err
	}
	object := &topologyv1alpha2.NodeResourceTopology{}
	return object, json.Unmarshal(text, object)
}

// DumpText is what `nrtd dump` prints as JSON, with further flags.
func (n *Node) DumpText(ctx context.Context, flags ...string) (json.RawMessage, error) {
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, n.Nrtd, slices.Concat([]string{"dump", "--node-name", n.Name, "--sysroot", n.Dir, "-o", "json"},
		n.Settings, flags)...)
	command.Stderr = &stderr
	command.Env = append(os.Environ(), "HWLOC_HIDE_ERRORS=2")
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("nrtd dump: %w: %s", err, stderr.String())
	}
	return text, nil
}

// Sleep waits for so long, unless the context ends before.
func Sleep(ctx context.Context, span time.Duration) error {
	select {
	case <-time.After(span):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
