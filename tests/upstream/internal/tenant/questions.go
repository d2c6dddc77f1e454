// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// How long others' pods are asked about before an attempt, and while it goes on, and until when all is as before.
const (
	askedBefore    = 400 * time.Millisecond
	askedMeanwhile = 2500 * time.Millisecond
	askedAtMost    = 20 * time.Second
	askedEvery     = 20 * time.Millisecond
	backLimit      = 10 * time.Second
)

// answerBlock attempts meet an extender that names all nodes that admit a pod, as many its default: the best ones.
const answerBlock = 10

// answers to questions about others' pods, in one phase of an attempt.
type answers struct {
	asked, lost int
	first       string // what the first lost answer was
	walls, cpus []time.Duration
	used, took  time.Duration // CPU time of the process, and time
}

func (a *answers) add(b *answers) {
	a.asked, a.lost, a.used, a.took = a.asked+b.asked, a.lost+b.lost, a.used+b.used, a.took+b.took
	a.walls, a.cpus = append(a.walls, b.walls...), append(a.cpus, b.cpus...)
}

// percentile sorts the times.
func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)*p/100, len(times)-1)]
}

// othersPod is a small pod of tenant-b: of two shapes that are asked about again and again, and one that is new each time.
func othersPod(i int) *v1.Pod {
	amounts := map[v1.ResourceName]string{"cpu": "2", "memory": "1Gi"}
	switch i % 3 {
	case 1:
		amounts = map[v1.ResourceName]string{"cpu": "500m", "memory": "64Mi"}
	case 2:
		amounts = map[v1.ResourceName]string{"cpu": "1", "memory": fmt.Sprint(1<<20 + 4096*i)}
	}
	return asked(fmt.Sprint("ordinary-", i%ordinaryPods), amounts)
}

// question is one about others' pods with all nodes, and the nodes that may be missing in its answer.
func (t *Test) question(i int, missing func(name string) bool) (lost string) {
	body, err := ask(t.extender, t.scheduler, filterOf(othersPod(i), t.names))
	if err != nil {
		return err.Error()
	}
	var answer extenderv1.ExtenderFilterResult
	if err := json.Unmarshal(body, &answer); err != nil || answer.NodeNames == nil {
		return fmt.Sprintf("%.200s", body)
	}
	if len(*answer.NodeNames) == 0 {
		return fmt.Sprintf("no node: %.200s", body)
	}
	for _, name := range t.names[len(kinds):] {
		if t.answersAll && !missing(name) && !slices.Contains(*answer.NodeNames, name) {
			return fmt.Sprintf("%s, asked about alone: %s", name, t.reason(i, name))
		}
	}
	return ""
}

// reason is why this node does not pass: an answer has reasons only if no node passes.
func (t *Test) reason(i int, name string) string {
	body, err := ask(t.extender, t.scheduler, filterOf(othersPod(i), []string{name}))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.300s", body)
}

// askUntil asks about others' pods until it has taken long enough.
func (t *Test) askUntil(ctx context.Context, over func(took time.Duration) bool, missing func(name string) bool) *answers {
	a := &answers{}
	begun, used := time.Now(), cpuOf(t.extender)
	for !over(time.Since(begun)) && daemon.Sleep(ctx, askedEvery) == nil {
		before, start := cpuOf(t.extender), time.Now()
		lost := t.question(t.asked, missing)
		a.walls, a.cpus = append(a.walls, time.Since(start)), append(a.cpus, cpuOf(t.extender)-before)
		t.asked++
		a.asked++
		if lost != "" {
			if a.lost++; a.lost == 1 {
				a.first = lost
			}
		}
	}
	a.took, a.used = time.Since(begun), cpuOf(t.extender)-used
	return a
}

func after(long time.Duration) func(time.Duration) bool {
	return func(took time.Duration) bool { return took >= long }
}

// phases are the answers before an attempt, meanwhile, and from its end until all nodes answer as before.
type phases [3]answers

// playAttempts plays so many attempts, one after the other: one actor's, or two at a time.
func (t *Test) playAttempts(ctx context.Context) error {
	var kinds []kindOfAttempts
	for _, k := range attemptKinds {
		if t.Only == "attempts" || strings.Contains(k.name, t.Only) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	all := map[string]*phases{}
	t.scheduler = client(patience)
	defer t.scheduler.CloseIdleConnections()
	for n := t.First; n < t.Attempts; n++ {
		if all := n/answerBlock%2 == 0; n == t.First || all != t.answersAll {
			t.answersAll = all
			if err := t.again(ctx); err != nil {
				return err
			}
		}
		d := draw{rand.New(rand.NewPCG(t.Seed, uint64(n))), "attempt"}
		attempts := []*attempt{t.drawAttempt(d, kinds)}
		d.pods = "other"
		if other := t.drawAttempt(d, kinds); d.IntN(3) == 0 && other.kind != attempts[0].kind && (other.nodes == nil || attempts[0].nodes == nil) {
			attempts = append(attempts, other)
		}
		if err := t.playAttempt(ctx, n, attempts, all); err != nil {
			return fmt.Errorf("attempt %d (-seed %d -first %d -attempts %d): %s: %w", n, t.Seed, n, n+1, attempts[0].what, err)
		}
	}
	const format = "%-28s %7v %6v %22s %22s %22s %10s\n"
	fmt.Printf(format, "attempts", "asked", "lost", "before p99, max", "meanwhile p99, max", "after p99, max", "CPU")
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }
	for _, k := range kinds {
		p := all[k.name]
		if p == nil {
			continue
		}
		both := func(a *answers) string {
			return ms(percentile(a.walls, 99)) + " " + ms(percentile(a.walls, 100)) + " ms"
		}
		fmt.Printf(format, k.name, p[0].asked+p[1].asked+p[2].asked, p[0].lost+p[1].lost, both(&p[0]), both(&p[1]), both(&p[2]),
			fmt.Sprintf("%.0f %%", 100*p[1].used.Seconds()/p[1].took.Seconds()))
	}
	return nil
}

// playAttempt plays attempts at the same time.
func (t *Test) playAttempt(ctx context.Context, n int, attempts []*attempt, all map[string]*phases) error {
	var hurt []string
	what, fills := []string{}, false
	for _, a := range attempts {
		hurt, fills = append(hurt, a.nodes...), fills || a.fills
		what = append(what, a.kind+": "+a.what)
	}
	name := fmt.Sprintf("%s (-seed %d -first %d -attempts %d)", strings.Join(what, "; "), t.Seed, n, n+1)
	var p phases
	p[0] = *t.askUntil(ctx, after(askedBefore), func(string) bool { return false })
	trying, stop := context.WithCancel(ctx)
	var wait, begun sync.WaitGroup
	begun.Add(len(attempts))
	errs := make(chan error, 2*len(attempts))
	for _, a := range attempts {
		wait.Go(func() {
			if err := a.try(ctx, trying, &begun); err != nil {
				errs <- fmt.Errorf("%s: %w", a.kind, err)
			}
		})
	}
	p[1] = *t.askUntil(ctx, allBegun(&begun), func(node string) bool { return fills || slices.Contains(hurt, node) })
	stop()
	wait.Wait()
	for _, a := range attempts {
		if a.end != nil {
			if err := a.end(ctx); err != nil {
				errs <- fmt.Errorf("the end of %s: %w", a.kind, err)
			}
		}
	}
	close(errs)
	for err := range errs {
		return err
	}
	if err := t.remove(ctx); err != nil {
		return err
	}
	back := t.until(ctx, backLimit, func() bool {
		last := t.askUntil(ctx, after(askedEvery), func(string) bool { return false })
		p[2].add(last)
		p[2].first = last.first
		return last.lost == 0
	})
	for i, when := range []string{"before", "meanwhile"} {
		t.check(p[i].lost == 0, name, "%s %d of %d questions about others' pods are lost: %s", when, p[i].lost, p[i].asked, p[i].first)
	}
	limit := time.Duration(t.Slack) * othersLimit
	t.check(percentile(p[1].cpus, 98) <= limit, name, "%v of CPU time in one question of 50, %v at most", percentile(p[1].cpus, 98), limit)
	t.check(back == nil, name, "not as before %v after the end: %s", backLimit, p[2].first)
	for _, a := range attempts {
		if all[a.kind] == nil {
			all[a.kind] = &phases{}
		}
		for i := range p {
			all[a.kind][i].add(&p[i])
		}
	}
	if t.hurt {
		t.scheduler.CloseIdleConnections()
		return t.again(ctx)
	}
	return nil
}

// allBegun is over askedMeanwhile after all attempts have begun, and in any case after askedAtMost.
func allBegun(begun *sync.WaitGroup) func(time.Duration) bool {
	all := make(chan struct{})
	go func() { begun.Wait(); close(all) }()
	end := askedAtMost
	return func(took time.Duration) bool {
		select {
		case <-all:
			if end == askedAtMost {
				end = took + askedMeanwhile
			}
		default:
		}
		return took >= end
	}
}

// try does an attempt until its time is over.
func (a *attempt) try(ctx, trying context.Context, begun *sync.WaitGroup) error {
	var err error
	if a.begin != nil {
		err = a.begin(ctx)
	}
	begun.Done()
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := a.step(ctx, i); err != nil {
			return err
		}
		if a.pause > 0 && daemon.Sleep(trying, a.pause) != nil || trying.Err() != nil {
			return nil
		}
	}
}
