// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2/helper/numanode"
	"nrtd.dev/tests/upstream/internal/managers"
	"sigs.k8s.io/yaml"
)

// Amounts are amounts by resource and NUMA node.
type Amounts map[string]map[int]managers.Amounts

// object is one that nrtd printed.
type object struct {
	at      time.Time
	amounts Amounts
}

// publisher is `nrtd run --dry-run` and what it has printed.
type publisher struct {
	process *exec.Cmd
	log     string

	mu      sync.Mutex
	objects []object
	failure error // the output is none, or has ended
}

// publish starts the program; its log goes to a file.
func publish(log, program string, flags ...string) (*publisher, error) {
	p := &publisher{process: exec.Command(program, append([]string{"run", "--dry-run"}, flags...)...), log: log}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p.process.Stdout, p.process.Stderr = in, f
	p.process.Env = append(os.Environ(), "HWLOC_HIDE_ERRORS=2")
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// endOfDocument is the line behind a document that is whole.
const endOfDocument = "\n...\n"

// read takes the documents off the pipe.
func (p *publisher) read(out *os.File) {
	defer out.Close()
	text := ""
	part := make([]byte, 1<<16)
	for {
		n, err := out.Read(part)
		at := time.Now()
		text += string(part[:n])
		for {
			document, rest, whole := strings.Cut(text, endOfDocument)
			if !whole {
				break
			}
			p.take(document, at)
			text = rest
		}
		if err != nil {
			p.mu.Lock()
			p.failure = errors.Join(p.failure, fmt.Errorf("nrtd has ended: %w", err))
			p.mu.Unlock()
			return
		}
	}
}

func (p *publisher) take(document string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var got topologyv1alpha2.NodeResourceTopology
	if err := yaml.Unmarshal([]byte(document), &got); err != nil {
		p.failure = errors.Join(p.failure, fmt.Errorf("nrtd printed %.200q: %w", document, err))
	} else if got.Kind == "NodeResourceTopology" {
		p.objects = append(p.objects, object{at, amountsOf(&got)})
	}
}

func amountsOf(got *topologyv1alpha2.NodeResourceTopology) Amounts {
	amounts := Amounts{}
	for _, zone := range got.Zones {
		id, err := numanode.NameToID(zone.Name)
		if err != nil || zone.Type != "Node" {
			continue
		}
		for _, r := range zone.Resources {
			if amounts[r.Name] == nil {
				amounts[r.Name] = map[int]managers.Amounts{}
			}
			amounts[r.Name][id] = managers.Amounts{Allocatable: r.Allocatable.Value(), Available: r.Available.Value()}
		}
	}
	return amounts
}

// since lists the objects from the n-th on.
func (p *publisher) since(n int) ([]object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects[min(n, len(p.objects)):], p.failure
}

// logged is the end of its log.
func (p *publisher) logged() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}

func (p *publisher) stop() {
	p.process.Process.Kill()
	p.process.Wait()
}

// maxPublishedID is the last NUMA node id that schedulers can read.
const maxPublishedID = 63

// higher names the first amount that is more than the bound, "" if none is. Of what the bound does not have nothing is
// known.
func (o Amounts) higher(bound Amounts) string {
	for name, nodes := range bound {
		for id, most := range nodes {
			if got := o[name][id]; most.Allocatable >= 0 && got.Available > max(most.Available, 0) {
				return fmt.Sprintf("%s of node %d: %d published as available, the kubelet has %d free", name, id, got.Available, most.Available)
			}
		}
	}
	return ""
}

// different names the first amount that is another, "" if none is; of what is available only if that is asked. Below 0
// nrtd publishes what the machine has (K13 in scoring/DEFECTS.md).
func (o Amounts) different(want Amounts, available bool) string {
	for name, nodes := range want {
		for id, w := range nodes {
			got, there := o[name][id]
			if id > maxPublishedID || w.Allocatable < 0 || (!there && w == managers.Amounts{}) {
				continue
			}
			if got.Allocatable != w.Allocatable || (available && got != w) {
				return fmt.Sprintf("%s of node %d: published %+v (is there: %t), the kubelet has %+v", name, id, got, there, w)
			}
		}
	}
	return ""
}

// most is the larger of each amount that all of them have.
func most(all ...Amounts) Amounts {
	out := Amounts{}
	for name, nodes := range all[0] {
		out[name] = map[int]managers.Amounts{}
		for id := range nodes {
			largest, known := managers.Amounts{}, true
			for _, amounts := range all {
				a, has := amounts[name][id]
				known = known && has && a.Allocatable >= 0
				largest = managers.Amounts{Allocatable: max(largest.Allocatable, a.Allocatable), Available: max(largest.Available, a.Available)}
			}
			if known {
				out[name][id] = largest
			}
		}
	}
	return out
}
