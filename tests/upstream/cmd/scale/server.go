// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"nrtd.dev/tests/upstream/internal/controlplane"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/traffic"
)

// server is the control plane as it is seen from here.
type server struct {
	dir        string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	own        traffic.Counter // what this program costs it
	background rates
}

// rates are amounts in a second.
type rates struct{ cpu, in, out float64 }

func openServer(dir string) (*server, error) {
	s := &server{dir: dir}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "admin.kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Dial = -1, s.own.Dial
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	s.dynamic, err = dynamic.NewForConfig(config)
	return s, err
}

// script runs cluster.sh.
func script(args ...string) error {
	out, err := exec.Command("tests/upstream/cluster.sh", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cluster.sh %v: %w: %s", args, err, out)
	}
	return nil
}

// reading is what its counters show.
type reading struct {
	at                   time.Time
	cpu                  time.Duration
	rss                  int64
	connections, in, out float64
	mark                 int64
}

func (s *server) read() (r reading, err error) {
	ownIn, ownOut := float64(s.own.In.Load()), float64(s.own.Out.Load()) // the answer is not in its own counters
	text, err := s.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		to, ok := map[string]*float64{controlplane.Connections: &r.connections, controlplane.BytesIn: &r.in, controlplane.BytesOut: &r.out}[name]
		if !ok {
			continue
		}
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			return r, err
		}
	}
	if r.in == 0 {
		return r, fmt.Errorf("/metrics lacks %s", controlplane.BytesIn)
	}
	r.in, r.out = r.in-ownOut, r.out-ownIn
	pid, err := os.ReadFile(filepath.Join(s.dir, "controlplane.pid"))
	if err != nil {
		return r, err
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		return r, err
	}
	usage, err := daemon.UsageOf(number)
	r.at, r.cpu, r.rss, r.mark = time.Now(), usage.CPU, usage.RSS, s.mark()
	return r, err
}

// spent is what something cost it, without what it does by itself.
type spent struct {
	span        time.Duration
	cpu         time.Duration
	rss         int64 // resident bytes at its end
	connections float64
	in, out     float64 // bytes
	requests    requests
}

func (s spent) perSecond() rates {
	t := s.span.Seconds()
	return rates{s.cpu.Seconds() / t, s.in / t, s.out / t}
}

// during does something and tells what it cost.
func (s *server) during(do func() error) (spent, error) {
	before, err := s.read()
	if err != nil {
		return spent{}, err
	}
	if err := do(); err != nil {
		return spent{}, err
	}
	after, err := s.read()
	if err != nil {
		return spent{}, err
	}
	span := after.at.Sub(before.at)
	all, err := s.between(before.mark, after.mark)
	t := span.Seconds()
	return spent{span, after.cpu - before.cpu - time.Duration(s.background.cpu*t*float64(time.Second)), after.rss, after.connections - before.connections,
		after.in - before.in - s.background.in*t, after.out - before.out - s.background.out*t, all}, err
}

// request is one that a daemon sent.
type request struct {
	at             time.Time
	verb, resource string
	node           string
	code           int
}

type requests []request

// mark is the end of the file of requests.
func (s *server) mark() int64 {
	info, err := os.Stat(s.auditing())
	if err != nil {
		return 0
	}
	return info.Size()
}

func (s *server) auditing() string { return filepath.Join(s.dir, controlplane.Auditing) }

func (s *server) since(mark int64) (requests, error) { return s.between(mark, s.mark()) }

func (s *server) between(from, to int64) (all requests, err error) {
	text, err := os.ReadFile(s.auditing())
	if err != nil {
		if os.IsNotExist(err) { // nobody has asked for anything yet
			err = nil
		}
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text[from:min(to, int64(len(text)))]))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb                     string
			RequestReceivedTimestamp time.Time
			ObjectRef                struct{ Resource, Name string }
			ResponseStatus           struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue // the server was killed in the middle of a line
		}
		all = append(all, request{event.RequestReceivedTimestamp, event.Verb, event.ObjectRef.Resource, event.ObjectRef.Name, event.ResponseStatus.Code})
	}
	slices.SortFunc(all, func(a, b request) int { return a.at.Compare(b.at) })
	return all, lines.Err()
}

// only are those of one kind.
func (r requests) only(verb, resource string) (some requests) {
	for _, one := range r {
		if one.verb == verb && one.resource == resource {
			some = append(some, one)
		}
	}
	return some
}

// ok are those that the server did what they asked for.
func (r requests) ok() (some requests) {
	for _, one := range r {
		if one.code >= 200 && one.code < 300 {
			some = append(some, one)
		}
	}
	return some
}

// firstOfEach is the first of each node.
func (r requests) firstOfEach() (some requests) {
	seen := map[string]bool{}
	for _, one := range r {
		if !seen[one.node] {
			seen[one.node] = true
			some = append(some, one)
		}
	}
	return some
}

// last is when the last one came.
func (r requests) last() time.Time {
	if len(r) == 0 {
		return time.Time{}
	}
	return r[len(r)-1].at
}

// worst is how many came within the second that has most.
func (r requests) worst() (most int) {
	for i, j := 0, 0; j < len(r); j++ {
		for r[j].at.Sub(r[i].at) >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// quantile is when that part of them had come, after the first.
func (r requests) quantile(q float64) time.Duration {
	if len(r) == 0 {
		return 0
	}
	return r[min(int(q*float64(len(r))), len(r)-1)].at.Sub(r[0].at)
}
