// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// How long a part may take until it is ready, and until it has ended.
const (
	readyTimeout = 2 * time.Minute
	endTimeout   = 30 * time.Second
)

// process is a program beside this one; it dies with it.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log string
}

// start starts a program whose standard error goes to a file.
func start(log, program string, args ...string) (*process, error) {
	return startTraced(nil, log, program, args...)
}

// startTraced starts a program whose standard error goes to a file and, if it is not nil, to the trace.
func startTraced(t *trace, log, program string, args ...string) (*process, error) {
	p := &process{Cmd: exec.Command(program, args...), log: log}
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.Env = append(os.Environ(), "HWLOC_HIDE_ERRORS=2", "JOURNAL_STREAM=1:1")
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p.Stderr = f
	if t != nil {
		p.Stderr = &lines{name: filepath.Base(log), trace: t, log: f}
	} else {
		defer f.Close()
	}
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.Start()
}

// kill ends it at once.
func (p *process) kill() {
	p.Process.Kill()
	p.Wait()
}

// said is the end of what it logged.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-1500):])
}

// startPlane starts a control plane without a scheduler.
func startPlane(program, manifests, dir string, nodes []string, flags ...string) (*process, error) {
	p, err := start(filepath.Join(dir, "controlplane.log"), program, append([]string{"-dir", dir, "-manifests", manifests,
		"-nodes", strings.Join(nodes, ","), "-timeout", "12h"}, flags...)...)
	if err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready") {
		p.kill()
		return nil, fmt.Errorf("the control plane does not start: %q %w: %s", line, err, p.said())
	}
	go io.Copy(io.Discard, p.out)
	return p, nil
}

// startScheduler starts a kube-scheduler with its files in a folder; it is not ready yet.
func startScheduler(program, configuration, kubeconfig, dir string, flags ...string) (*process, error) {
	path := filepath.Join(dir, "scheduler-way.yaml")
	if err := os.WriteFile(path, []byte(configuration), 0o644); err != nil {
		return nil, err
	}
	return start(filepath.Join(dir, "scheduler.err"), program,
		append([]string{"-config", path, "-kubeconfig", kubeconfig, "-dir", dir}, flags...)...)
}

// Searches is what the scheduler counted.
type Searches struct {
	Attempts        int     `json:"attempts"` // that found a node
	SearchedSeconds float64 `json:"searchedSeconds"`
	Batched         int     `json:"batched"` // pods placed by the search for the pod before
}

// stopScheduler ends it and returns what it counted.
func stopScheduler(p *process) (s Searches, err error) {
	late := time.AfterFunc(endTimeout, func() { p.Process.Kill() })
	defer late.Stop()
	p.in.Close()
	text, err := io.ReadAll(p.out)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if ended := p.Wait(); ended != nil {
		err = ended
	}
	if err != nil {
		err = fmt.Errorf("the scheduler: %w: %s", err, p.said())
	}
	return s, err
}

// Extender is one `nrtd-extender`.
type Extender struct {
	*process
	nrtd    string
	trace   *trace
	flags   []string
	address string
}

// newExtender is one that has not been started, on a free port. What it logs goes to a file.
func newExtender(nrtd, log string, flags ...string) (*Extender, error) {
	address, err := freeAddress()
	return &Extender{process: &process{Cmd: &exec.Cmd{}, log: log}, nrtd: nrtd, flags: flags, address: address}, err
}

// StartExtender starts one and waits until it is ready.
func StartExtender(ctx context.Context, nrtd, log string, flags ...string) (*Extender, error) {
	e, err := newExtender(nrtd, log, flags...)
	if err != nil {
		return nil, err
	}
	if err := e.Start(); err != nil {
		return nil, err
	}
	if err := e.await(ctx); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

// Start starts it on its address, again if need be.
func (e *Extender) Start() error {
	started, err := startTraced(e.trace, e.log, e.nrtd+"-extender", append([]string{"--http", e.address}, e.flags...)...)
	if err == nil {
		e.process = started
	}
	return err
}

// Stop ends it at once, as a crash does.
func (e *Extender) Stop() { e.kill() }

// URL is where it answers a verb.
func (e *Extender) URL(verb string) string { return "http://" + e.address + "/" + verb }

// Address is where it listens.
func (e *Extender) Address() string { return e.address }

// RSS is the memory it has, in bytes.
func (e *Extender) RSS() (int64, error) {
	usage, err := daemon.UsageOf(e.Process.Pid)
	return usage.RSS, err
}

// ready asks /readyz.
func (e *Extender) ready() bool {
	answer, err := (&http.Client{Timeout: 2 * time.Second}).Get(e.URL("readyz"))
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// holdsLease asks /metrics.
func (e *Extender) holdsLease() bool {
	answer, err := (&http.Client{Timeout: 2 * time.Second}).Get(e.URL("metrics"))
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return err == nil && strings.Contains(string(text), "\nnrtd_extender_lease_held 1\n")
}

// await waits until it is ready.
func (e *Extender) await(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, readyTimeout, true, func(context.Context) (bool, error) { return e.ready(), nil })
	if err != nil {
		return fmt.Errorf("nrtd-extender is not ready: %w: %s", err, e.said())
	}
	return nil
}

// freeAddress is a port of the loopback that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
