// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
)

// Period is how often both are looked at.
const Period = 50 * time.Millisecond

// LongestMoment is how long an amount may be published above what there is.
const LongestMoment = time.Second

// Moment is a time in which an amount was published above what there was.
type Moment struct {
	What, Said  string
	Step, State string // what was being done, and the object's own word
	From, To    time.Time
	Lasted      time.Duration // by samples, a period each: the clock goes on while the host of an emulated machine does other work
}

// view is what there is to give out, as a kubelet has it that has started since.
type view struct {
	settings Settings
	machine  []Machine
	file     string // it counts from when this is there on; "" = from the beginning
}

func (m Moment) String() string {
	text := fmt.Sprintf("     above: %s: %s, for %d ms (%d by the clock) at %s, step '%s'", m.What, m.Said,
		m.Lasted.Milliseconds(), m.To.Sub(m.From).Milliseconds(), m.From.Format("15:04:05.000"), m.Step)
	if m.Lasted > LongestMoment {
		text += "\n          " + m.State
	}
	return text
}

// Sampler looks at the object and at the cgroups again and again.
type Sampler struct {
	object    func() *topologyv1alpha2.NodeResourceTopology
	read      *topologyv1alpha2.NodeResourceTopology // the object that published was read from
	published *Published
	cgroups   *Cgroups
	machine   []Machine
	devices   map[string]int
	out       io.Writer // for moments that last too long, as soon as they end

	mu         sync.Mutex
	settings   Settings
	before     *view // what was there, and may still count, until the object has followed
	samples    int
	longestGap time.Duration
	open       map[string]Moment
	closed     []Moment
	different  string
	step       string
	last       string    // the last difference there was
	since      time.Time // since when it is the same answer
	containers []Container
}

// NewSampler begins to look; it ends with ctx.
func NewSampler(ctx context.Context, cgroups *Cgroups, machine []Machine, devices map[string]int, settings Settings, out io.Writer,
	object func() *topologyv1alpha2.NodeResourceTopology) *Sampler {
	s := &Sampler{object: object, cgroups: cgroups, machine: machine, devices: devices, settings: settings, out: out, open: map[string]Moment{}}
	go func() {
		ticker := time.NewTicker(Period)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			now := time.Now()
			s.sample(now, now.Sub(last))
			last = now
		}
	}()
	return s
}

func (s *Sampler) sample(now time.Time, gap time.Duration) {
	// The object first: what comes after is newer, so that a container that ends between the two counts for nobody.
	if object := s.object(); object != s.read {
		s.read, s.published = object, Publication(object)
	}
	machine := slices.Clone(s.machine)
	for i := range machine {
		if machine[i].Reread() != nil {
			return
		}
	}
	running, held := s.cgroups.Read()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machine = machine
	s.samples++
	s.longestGap = max(s.longestGap, gap)
	s.containers = held
	above := Above(s.published, Amounts(s.machine, s.settings, s.devices, running))
	if s.before != nil && there(s.before.file) {
		also := Above(s.published, Amounts(s.before.machine, s.before.settings, s.devices, running))
		maps.DeleteFunc(above, func(what, _ string) bool { return also[what] == "" })
	}
	for what, said := range above {
		moment, ok := s.open[what]
		if !ok {
			moment = Moment{What: what, Said: said, From: now, Step: s.step, State: s.published.State}
		}
		moment.Lasted += Period
		moment.To = now.Add(Period)
		s.open[what] = moment
	}
	for what, moment := range s.open {
		if _, still := above[what]; !still {
			s.closed = append(s.closed, moment)
			delete(s.open, what)
			if moment.Lasted > LongestMoment {
				fmt.Fprintln(s.out, moment)
			}
		}
	}
	different := Different(s.published, Amounts(s.machine, s.settings, s.devices, held))
	if different != s.different || s.since.IsZero() {
		s.different, s.since = different, now
	}
	if different != "" {
		s.last = different
	}
}

// Begin names what is done from now on.
func (s *Sampler) Begin(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = step
}

// Change begins a time in which what the kubelet gives out changes: until Changed what it was and what it becomes both count.
func (s *Sampler) Change(change func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = &view{settings: s.settings, machine: s.machine}
	change(&s.settings)
	s.since = time.Time{}
}

// Forget begins a time in which the kubelet has lost a state file: once it has written another one, and until the pods are
// admitted again, it has what they hold free.
func (s *Sampler) Forget(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = &view{s.settings, s.machine, file}
	s.before.settings.Forgotten = true
	s.since = time.Time{}
}

func there(file string) bool {
	_, err := os.Stat(file)
	return file == "" || err == nil
}

// Changed ends either.
func (s *Sampler) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = nil
}

// State is where object and cgroups differ, since when that is so, and the containers that hold something.
func (s *Sampler) State() (different string, since time.Time, containers []Container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.different, s.since, s.containers
}

// Last is the last difference there was.
func (s *Sampler) Last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Report says how often it looked and what it saw; the longest moment first.
func (s *Sampler) Report() (text string, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	moments := append([]Moment{}, s.closed...)
	for _, moment := range s.open {
		moments = append(moments, moment)
	}
	sort.Slice(moments, func(i, j int) bool { return moments[i].Lasted > moments[j].Lasted })
	if len(moments) > 0 {
		longest = moments[0].Lasted
	}
	text = fmt.Sprintf("%d samples, the longest time between two %d ms; %d moments with more published than there was, the longest %d ms",
		s.samples, s.longestGap.Milliseconds(), len(moments), longest.Milliseconds())
	for _, moment := range moments[:min(len(moments), 10)] {
		text += "\n" + moment.String()
	}
	return text, longest
}
