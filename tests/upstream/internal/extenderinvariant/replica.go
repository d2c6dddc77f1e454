// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	v1 "k8s.io/api/core/v1"
	"nrtd.dev/tests/upstream/internal/daemon"
)

const (
	answerLimit = time.Second      // the CPU time of a request, which does not depend on other programs; the client's timeout ends a request without an answer
	syncLimit   = 20 * time.Second // a replica has read what was sent within this time, reconnections included
	readyLimit  = 40 * time.Second // and is ready within this time, a Lease that has to expire included
	rssLimit    = 200 << 20        // bytes that a replica may have
)

// replica is one `nrtd-extender`.
type replica struct {
	*view
	number     int
	nrtd       string
	address    string // where it answers
	flags      []string
	log        string
	process    *exec.Cmd
	instance   int            // another one for each process
	bookmarks  [kindCount]int // that this process has counted
	told       [kindCount]*stream
	toldCursor [kindCount]int64
	client     *http.Client
}

// newReplica prepares one; it does not run yet.
func newReplica(s *apiServer, nrtd, dir string, number, replicas int) (*replica, error) {
	v, err := s.newView()
	if err != nil {
		return nil, err
	}
	r := &replica{view: v, number: number, nrtd: nrtd, log: filepath.Join(dir, fmt.Sprintf("extender-%d.log", number)),
		client: &http.Client{Timeout: 30 * time.Second}}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.address = listener.Addr().String()
	listener.Close()
	kubeconfig := filepath.Join(dir, fmt.Sprintf("kubeconfig-%d", number))
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters:\n- name: x\n  cluster: {server: 'http://%s'}\n"+
		"contexts:\n- name: x\n  context: {cluster: x, user: x}\nusers:\n- name: x\n  user: {}\n", v.address)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, err
	}
	// No assumed pod expires during a run: a pod stops being assumed when it is bound, ends or is deleted.
	r.flags = []string{"--kubeconfig", kubeconfig, "--http", r.address, "--unknown", "fail", "--assume-timeout", "10m"}
	if replicas > 1 {
		r.flags = append(r.flags, "--lease", "default/nrtd", "--advertise", "127.0.0.1")
	}
	return r, nil
}

func (r *replica) start(instance int) error {
	log, err := os.OpenFile(r.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	r.forget()
	r.process = exec.Command(r.nrtd+"-extender", r.flags...)
	r.process.Stderr = log
	r.process.Env = append(os.Environ(), "HWLOC_HIDE_ERRORS=2")
	r.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.instance, r.bookmarks, r.told = instance, [kindCount]int{}, [kindCount]*stream{}
	return r.process.Start()
}

// kill ends the process as a crash does.
func (r *replica) kill() {
	if r.process != nil {
		r.process.Process.Kill()
		r.process.Wait()
		r.process = nil
	}
	r.client.CloseIdleConnections()
}

// terminate ends the process by SIGTERM, as a rollout does.
func (r *replica) terminate() error {
	process := r.process
	r.process = nil
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(readyLimit, func() { process.Process.Kill() })
	err := process.Wait()
	late.Stop()
	r.client.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("%w: it did not end well on SIGTERM: %w: %s", errWrong, err, r.said())
	}
	return nil
}

// said is the end of what it logged.
func (r *replica) said() string {
	text, _ := os.ReadFile(r.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}

// dead tells whether the process has ended by itself.
func (r *replica) dead() error {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(r.process.Process.Pid, &status, syscall.WNOHANG, nil)
	if err == nil && pid == 0 {
		return nil
	}
	return fmt.Errorf("%w: replica %d has ended by itself (signal %d, status %d): %s", errWrong, r.number, status.Signal(), status.ExitStatus(), r.said())
}

// metrics are the samples of /metrics.
func (r *replica) metrics() (map[string]float64, error) {
	response, err := r.client.Get("http://" + r.address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	samples := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		series, value, found := strings.Cut(lines.Text(), " ")
		if !found || series == "#" {
			continue
		}
		if samples[series], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

func bookmarkSeries(k kind) string {
	return fmt.Sprintf("nrtd_extender_watch_total{kind=%q,what=\"bookmark\"}", kindNames[k])
}

// sync waits until the replica has read everything that may be delivered to it: a bookmark is sent behind the last event
// of each watch, and the replica counts it when it has taken what came before.
func (r *replica) sync(slack int) error {
	for end := time.Now().Add(syncLimit * time.Duration(slack)); ; {
		done, err := r.trySync()
		if done || errors.Is(err, errWrong) {
			return err
		}
		if time.Now().After(end) {
			if dead := r.dead(); dead != nil {
				return dead
			}
			return fmt.Errorf("%w: replica %d does not read its watches any more (%v): %s", errWrong, r.number, err, r.said())
		}
		time.Sleep(500 * time.Microsecond)
	}
}

func (r *replica) trySync() (done bool, err error) {
	s := r.server
	var wanted [kindCount]*stream
	s.mu.Lock()
	for k := range kindCount {
		st, last := r.streams[k], int64(0)
		if log := s.kinds[k].log; len(log) > 0 {
			last = min(log[len(log)-1].rv, r.gates[k])
			at, found := slices.BinarySearchFunc(log, last, func(e event, rv int64) int { return int(e.rv - rv) })
			if !found {
				at--
			}
			last = 0
			if at >= 0 {
				last = log[at].rv
			}
		}
		if st == nil || st.cursor < last {
			s.mu.Unlock()
			return false, fmt.Errorf("%s: no watch, or events are under way", kindNames[k])
		}
		if r.told[k] == st && r.toldCursor[k] == st.cursor {
			continue
		}
		wanted[k] = st
		if st.asked == st.bookmarks {
			st.asked++
			s.broadcast()
		}
		r.told[k], r.toldCursor[k] = nil, st.cursor
	}
	s.mu.Unlock()
	for begun := time.Now(); wanted != [kindCount]*stream{}; {
		samples, err := r.metrics()
		if err != nil {
			return false, err
		}
		for k := range kindCount {
			if counted := int(samples[bookmarkSeries(k)]); wanted[k] != nil && counted > r.bookmarks[k] {
				r.bookmarks[k], r.told[k], wanted[k] = counted, wanted[k], nil
			}
		}
		if time.Since(begun) > time.Second {
			return false, errors.New("a bookmark is under way")
		}
	}
	return true, nil
}

// ready waits until /readyz answers 200.
func (r *replica) ready(slack int) error {
	for end := time.Now().Add(readyLimit * time.Duration(slack)); ; time.Sleep(2 * time.Millisecond) {
		response, err := r.client.Get("http://" + r.address + "/readyz")
		var text []byte
		if err == nil {
			text, err = io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: replica %d is not ready: %q %v: %s", errWrong, r.number, text, err, r.said())
		}
		if dead := r.dead(); dead != nil {
			return dead
		}
	}
}

// cpu is the CPU time of the process so far, 0 if it has been killed.
func (r *replica) cpu() time.Duration {
	process := r.process
	if process == nil || process.Process == nil {
		return 0
	}
	total, _ := daemon.CPUOf(process.Process.Pid)
	return total
}

// reply is the answer to /filter.
type reply struct {
	NodeNames                               []string
	FailedNodes, FailedAndUnresolvableNodes map[string]string
	Error                                   string

	code int
	by   string // address of the replica that answered, maybe after a redirect
	took time.Duration
	cpu  time.Duration // of the process that was asked, whether it answered or redirected
}

func (a *reply) reason(node string) string {
	return a.FailedNodes[node] + a.FailedAndUnresolvableNodes[node] + a.Error
}

// request is ExtenderArgs; the types have no JSON tags.
type request struct {
	Pod       *v1.Pod
	Nodes     *v1.NodeList
	NodeNames *[]string
}

// ask sends a request for the pod with the nodes of these names.
func (r *replica) ask(verb string, pod *v1.Pod, names []string) (*reply, error) {
	q := any(request{Pod: pod, NodeNames: &names})
	if verb == "preempt" {
		victims := map[string]any{}
		for _, name := range names {
			victims[name] = map[string]any{"Pods": []any{}, "NumPDBViolations": 0}
		}
		q = map[string]any{"Pod": pod, "NodeNameToMetaVictims": victims}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	begun, before := time.Now(), r.cpu()
	response, err := r.client.Post("http://"+r.address+"/"+verb, "application/json", bytes.NewReader(body))
	if err != nil {
		if dead := r.dead(); dead != nil {
			return nil, dead
		}
		return nil, fmt.Errorf("%w: /%s failed: %w", errWrong, verb, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: /%s: incomplete answer: %w", errWrong, verb, err)
	}
	a := &reply{code: response.StatusCode, by: response.Request.URL.Host, took: time.Since(begun)}
	a.cpu = r.cpu() - before
	if verb == "filter" || a.code != http.StatusOK {
		if err := json.Unmarshal(text, a); err != nil {
			return nil, fmt.Errorf("%w: /%s returned %.100q: %w", errWrong, verb, text, err)
		}
	} else if !json.Valid(text) {
		return nil, fmt.Errorf("%w: /%s returned %.100q", errWrong, verb, text)
	}
	return a, nil
}

// rss is the memory it has, in bytes.
func (r *replica) rss() (int64, error) {
	usage, err := daemon.UsageOf(r.process.Process.Pid)
	return usage.RSS, err
}
