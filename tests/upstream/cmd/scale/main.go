// SPDX-License-Identifier: Apache-2.0

// scale runs `nrtd run` for many nodes against one API server, which cluster.sh has started, and measures what that costs:
// while nothing happens, while nodes change, and when the API server is killed and comes back. It prints a line for each
// goal, and a row of a table.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/fleet"
	"nrtd.dev/tests/upstream/internal/quiet"
)

// scale is one run.
type scale struct {
	cluster string // folder of the control plane
	policy  string // its audit policy
	agents  int
	idle    time.Duration // without a change, before any daemon runs and again when all do
	churn   time.Duration
	every   time.Duration // mean time between two changes of one node
	away    time.Duration // of the API server
	refresh time.Duration

	r      *rand.Rand
	server *server
	watch  *daemon.Watch
	fleet  fleet.Fleet
	row    row
	failed bool
}

func main() {
	s := &scale{}
	flag.StringVar(&s.cluster, "cluster", "", "the control plane's folder")
	flag.StringVar(&s.policy, "audit", "tests/upstream/testdata/audit.yaml", "its audit policy")
	machine := flag.String("machine", "build/fixtures/machines/seed-2s-32cpu", "the machine of each node")
	nrtd := flag.String("nrtd", "build/nrtd", "the program under test")
	flag.IntVar(&s.agents, "agents", 30, "number of nodes, fleet-0 and on")
	flag.DurationVar(&s.idle, "idle", time.Minute, "how long nothing changes")
	flag.DurationVar(&s.churn, "churn", 10*time.Minute, "how long nodes change")
	flag.DurationVar(&s.every, "every", time.Minute, "mean time between two changes of one node")
	flag.DurationVar(&s.away, "away", time.Minute, "how long the API server is away")
	flag.DurationVar(&s.refresh, "refresh", 10*time.Minute, "of nrtd run")
	seed := flag.Uint64("seed", rand.Uint64N(1000000), "random seed")
	file := flag.String("rows", "", "file that the row is added to")
	flag.Parse()
	quiet.LogTo(io.Discard)
	s.r = rand.New(rand.NewPCG(*seed, 3))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fmt.Printf("scale: %d agents, seed %d, load %s\n", s.agents, *seed, daemon.Load())
	dir, err := os.MkdirTemp("", "nrtd-scale-")
	if err == nil {
		err = s.run(ctx, dir, *machine, *nrtd)
		os.RemoveAll(dir)
	}
	if err == nil && *file != "" {
		err = s.row.addTo(*file)
	}
	if err != nil {
		fmt.Println("not ok scale:", err)
	}
	if err != nil || s.failed {
		os.Exit(1)
	}
}

// check prints one line of a result.
func (s *scale) check(ok bool, name, format string, args ...any) {
	word := "ok"
	if !ok {
		word, s.failed = "not ok", true
	}
	fmt.Printf("%s %s: %s\n", word, name, fmt.Sprintf(format, args...))
}

func (s *scale) run(ctx context.Context, dir, machine, nrtd string) (err error) {
	if s.server, err = openServer(s.cluster); err != nil {
		return err
	}
	s.watch = daemon.NewWatch(ctx, s.server.dynamic)
	s.fleet, err = fleet.New(ctx, s.r, s.agents, &fleet.Options{Dir: dir, Machines: []string{machine}, Nrtd: nrtd,
		Flags:      []string{"--refresh", s.refresh.String()},
		Kubeconfig: func(node string) string { return filepath.Join(s.cluster, "agent-"+node+".kubeconfig") }})
	if err != nil {
		return err
	}
	defer s.fleet.Kill()
	s.row.agents = s.agents
	for _, phase := range []func(context.Context) error{s.background, s.starts, s.idles, s.changes, s.restarts} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return s.fleet.Stop()
}

// background is what the API server does by itself.
func (s *scale) background(ctx context.Context) error {
	spent, err := s.server.during(func() error { return daemon.Sleep(ctx, s.idle) })
	if err == nil {
		s.server.background = spent.perSecond()
	}
	return err
}

// starts starts every daemon at once.
func (s *scale) starts(ctx context.Context) error {
	begin := time.Now()
	spent, err := s.server.during(func() error {
		if err := s.fleet.Start(); err != nil {
			return err
		}
		return s.fleet.AllRight(ctx, s.watch, startLimit)
	})
	if err != nil {
		return fmt.Errorf("after the start: %w", err)
	}
	s.row.published = spent.requests.last().Sub(begin)
	s.check(true, "start", "%d nodes published within %.1f s, %.1f requests each, %d in the worst second", s.agents,
		s.row.published.Seconds(), s.each(len(spent.requests)), spent.requests.worst())
	return nil
}

// idles measures while nothing changes: requests are refreshes and have no effect.
func (s *scale) idles(ctx context.Context) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	before, err := s.fleet.Totals()
	if err != nil {
		return err
	}
	s.row.rss, s.row.pss = before.RSS/int64(s.agents), before.PSS/int64(s.agents)
	s.check(true, "start: tried again", "publications that failed %v, %d lines of errors %q", before.Failures, len(before.Errors), some(before.Errors))
	begin := time.Now()
	spent, err := s.server.during(func() error { return daemon.Sleep(ctx, s.idle) })
	if err != nil {
		return err
	}
	writes := s.writes(begin)
	refreshes := spent.refreshes()
	s.row.idle = spent
	s.check(writes == 0, "idle: writes", "%d new versions in %v", writes, s.idle)
	s.check(s.areRefreshes(spent.requests, refreshes), "idle: requests", "%d in %v, %d refreshes", len(spent.requests), s.idle, len(refreshes))
	return nil
}

// settle waits until the Nodes' metadata are written: they come after the objects.
func (s *scale) settle(ctx context.Context) error {
	for until := time.Now().Add(startLimit); time.Now().Before(until); {
		mark := s.server.mark()
		if err := daemon.Sleep(ctx, 7*time.Second); err != nil { // longer than a Node's writes are apart, and than daemons keep memory
			return err
		}
		lately, err := s.server.since(mark)
		if err != nil || len(lately.only("patch", "nodes")) == 0 {
			return err
		}
	}
	return fmt.Errorf("Nodes are still written %v after the start", startLimit)
}

// areRefreshes tells whether each refresh is one look at the Node and one write of the object, but for those that began
// before or end after the measurement.
func (s *scale) areRefreshes(all, refreshes requests) bool {
	odd := len(all) - 2*len(refreshes)
	return len(all.only("patch", "nodes")) == 0 && odd >= -2 && odd <= 2
}

// some of many lines.
func some(lines []string) []string { return lines[:min(3, len(lines))] }

// changes changes the nodes' states at random.
func (s *scale) changes(ctx context.Context) error {
	before, err := s.fleet.Totals()
	if err != nil {
		return err
	}
	begin := time.Now()
	n := 0
	spent, err := s.server.during(func() error {
		for pause := s.every / time.Duration(s.agents); time.Since(begin) < s.churn; n++ {
			if err := s.fleet[s.r.IntN(s.agents)].Change(s.r); err != nil {
				return err
			}
			if err := daemon.Sleep(ctx, time.Duration(s.r.Int64N(int64(2*pause)))); err != nil {
				return err
			}
		}
		return s.fleet.AllRight(ctx, s.watch, rightLimit)
	})
	if err != nil {
		return fmt.Errorf("after the changes: %w", err)
	}
	after, err := s.fleet.Totals()
	if err != nil {
		return err
	}
	writes, refreshes := s.writes(begin), spent.refreshes()
	s.row.changes, s.row.churn = n, spent
	s.row.agentCPU = (after.CPU - before.CPU) / time.Duration(s.agents)
	rate := float64(s.agents) / s.refresh.Seconds()
	s.check(writes <= n, "changes: objects", "all %d right after %d changes in %v: %d new versions", s.agents, n, s.churn, writes)
	errors := len(after.Errors) - len(before.Errors)
	s.check(maps.Equal(after.Failures, before.Failures) && errors == 0, "changes: errors", "publications that failed %v, before %v, %d more lines of errors",
		after.Failures, before.Failures, errors)
	s.check(refreshes.worst() <= mostBy(rate), "changes: refreshes", "%d, %d in the worst second (on average %.2f, by chance up to %d)",
		len(refreshes), refreshes.worst(), rate, mostBy(rate))
	return nil
}

// restarts kills the API server, changes every node at that moment, and measures how they come back to the next one.
func (s *scale) restarts(ctx context.Context) error {
	if err := script("kill", s.cluster); err != nil {
		return err
	}
	begin := time.Now()
	for _, m := range s.fleet {
		if err := m.Change(s.r); err != nil {
			return err
		}
	}
	if err := daemon.Sleep(ctx, s.away-time.Since(begin)); err != nil {
		return err
	}
	mark := s.server.mark()
	if err := script("start", s.cluster, "-resume", "-timeout", "12h", "-scheduler", "", "-audit", s.policy); err != nil {
		return err
	}
	if err := s.fleet.AllRight(ctx, s.watch, startLimit); err != nil {
		return fmt.Errorf("after the API server's restart: %w", err)
	}
	all, err := s.server.since(mark)
	if err != nil {
		return err
	}
	back := all.ok().firstOfEach()
	s.row.restart = all
	s.row.back = back
	most := mostBack(s.agents, s.away)
	spread := back.quantile(0.99)
	s.check(len(back) == s.agents && spread <= backLimit, "restart: spread",
		"%d of %d nodes came back: half of them within %.1f s, 99 of 100 within %.1f s, all within %.1f s of the first (limit %v)",
		len(back), s.agents, back.quantile(0.5).Seconds(), spread.Seconds(), back.quantile(1).Seconds(), backLimit)
	s.check(back.worst() <= most && all.worst() <= requestsEach*most, "restart: no herd",
		"%d nodes in the worst second (limit %d), %d requests (limit %d), %d refused", back.worst(), most, all.worst(), requestsEach*most,
		len(all)-len(all.ok()))
	return nil
}

// writes is the number of new versions of objects since then.
func (s *scale) writes(since time.Time) (n int) {
	for _, m := range s.fleet {
		n += len(s.watch.Writes(m.Name, since))
	}
	return n
}

func (s *scale) each(n int) float64 { return float64(n) / float64(s.agents) }
