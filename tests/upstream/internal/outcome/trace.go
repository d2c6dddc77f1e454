// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
)

// trace is a file with a line for each event of a run: pods and objects as the API server delivers them, verdicts of kubelets,
// and what the extender logs. A rejected pod can be explained from it.
type trace struct {
	mu   sync.Mutex
	file *os.File
}

func newTrace(dir string) (*trace, error) {
	file, err := os.Create(filepath.Join(dir, "trace.log"))
	return &trace{file: file}, err
}

func (t *trace) printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.file, time.Now().Format("15:04:05.000000 ")+format+"\n", args...)
}

func (t *trace) pod(pod *v1.Pod) {
	deleted := ""
	if pod.DeletionTimestamp != nil {
		deleted = ", being deleted"
	}
	t.printf("pod %s %s version %s: node %q, phase %s%s", asking(pod), pod.UID, pod.ResourceVersion, pod.Spec.NodeName, pod.Status.Phase, deleted)
}

// objects adds a line for each new version of a node's object until ctx ends.
func (t *trace) objects(ctx context.Context, p *play, name string) {
	last := ""
	for ctx.Err() == nil {
		p.watch.Wait(ctx, name, time.Minute, func(object *topologyv1alpha2.NodeResourceTopology) string {
			if object == nil || object.ResourceVersion == last {
				return "nothing new"
			}
			last = object.ResourceVersion
			for _, attribute := range object.Attributes {
				if attribute.Name == "nrtd.dev/node-state" {
					t.printf("object %s version %s: %s", name, last, attribute.Value)
				}
			}
			return ""
		})
	}
}

// lines gives each line that is written to it a time and a name, and writes it to the trace too.
type lines struct {
	name  string
	trace *trace
	log   io.Writer
	rest  []byte
}

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			break
		}
		l.trace.printf("%s: %s", l.name, line)
		l.rest = rest
	}
	return l.log.Write(text)
}

// keepTrace moves the trace of a run with a rejected pod, or an eviction that did not help, to a folder that stays.
func (p *play) keepTrace(result *Result) error {
	if !p.way.Extender || (result.RefusedInAll() == 0 && result.Vain == 0) || p.Traces == "" {
		return nil
	}
	if err := os.MkdirAll(p.Traces, 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "trace.log"))
	if err != nil {
		return err
	}
	result.Trace = filepath.Join(p.Traces, fmt.Sprintf("%s-%s-%d.log", p.way.Name, p.workload.Name, result.Seed))
	return os.WriteFile(result.Trace, text, 0o644)
}
