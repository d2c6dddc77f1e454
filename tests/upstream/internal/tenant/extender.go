// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/outcome"
)

// patience is the time-out of a request, after which the process is restarted.
const patience = 20 * time.Second

// client has its own connection to the extender, as a scheduler does.
func client(limit time.Duration) *http.Client {
	return &http.Client{Timeout: limit, Transport: &http.Transport{}}
}

// request is a scheduler's request.
type request struct {
	verb string
	body []byte
}

func filterOf(pod *v1.Pod, names []string) request {
	return request{"filter", marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})}
}

// requestsFor returns filter, prioritize and preempt requests for a pod with all nodes. The scheduler's cache has no managedFields.
func requestsFor(pod *v1.Pod, names []string) []request {
	pod = pod.DeepCopy()
	pod.ManagedFields = nil
	victims := map[string]*extenderv1.MetaVictims{}
	for _, name := range names {
		victims[name] = &extenderv1.MetaVictims{}
	}
	return []request{filterOf(pod, names), {"prioritize", marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})},
		{"preempt", marshal(extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: victims})}}
}

func marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // of types that can always be written
	}
	return text
}

// errAnswer means that there is no answer: the extender has exited, or takes too long.
var errAnswer = errors.New("no answer")

// ask sends a request and returns the answer.
func ask(e *outcome.Extender, c *http.Client, q request) ([]byte, error) {
	response, err := c.Post(e.URL(q.verb), "application/json", bytes.NewReader(q.body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %.200s", q.verb, response.Status, text)
	}
	return text, nil
}

// cpuOf is the CPU time that the process has used, to the nanosecond.
func cpuOf(e *outcome.Extender) time.Duration {
	var used syscall.Timespec
	clock := ^e.Process.Pid<<3 | 2 // the process's CPU clock: clock_getcpuclockid(3)
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&used)), 0); errno != 0 {
		return 0 // it has ended, which its answers say
	}
	return time.Duration(used.Nano())
}

// get is one that answers at once: /healthz, /readyz, /metrics.
func get(e *outcome.Extender, path string, limit time.Duration) (status int, text string, err error) {
	c := client(limit)
	defer c.CloseIdleConnections()
	response, err := c.Get(e.URL(path))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// metric is the sum of the samples whose name and labels match.
func metric(e *outcome.Extender, sample string) (sum float64, err error) {
	_, text, err := get(e, "metrics", patience)
	if err != nil {
		return 0, err
	}
	for _, match := range regexp.MustCompile(`(?m)^`+sample+` (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}

// delays are measured on other users' requests.
type delays struct {
	asked             int
	wall, cpu         time.Duration // the longest, and the most that the process used meanwhile
	health            time.Duration // the longest answer of /healthz
	unready, unwell   int           // answers of /readyz and /healthz that are not 200, or none
	wrong             int           // answers to questions that are none
	first             string        // what the first of them was
	mu                sync.Mutex
	questions, checks sync.WaitGroup
	stop              context.CancelFunc
}

func (d *delays) note(count *int, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*count++
	if d.first == "" {
		d.first = strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	}
}

const ordinaryPods = 5

// asked is a pod of tenant-b of this shape that is to be placed, as the API server has it.
func asked(name string, amounts map[v1.ResourceName]string) *v1.Pod {
	pod := podOf(name, container("app", amounts))
	pod.Namespace, pod.UID = victimNamespace, types.UID(name)
	pod.Spec.Containers[0].Resources.Requests = pod.Spec.Containers[0].Resources.Limits
	pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSGuaranteed}
	return pod
}

func ordinary(i int) *v1.Pod { return asked(fmt.Sprint("ordinary-", i), probes[0]) }

// others starts to send requests for pods of tenant-b at a steady rate, and health checks.
func (t *Test) others(ctx context.Context) *delays {
	d := &delays{}
	ctx, d.stop = context.WithCancel(ctx)
	e := t.extender
	d.questions.Go(func() {
		c := client(patience)
		defer c.CloseIdleConnections()
		for i := 0; daemon.Sleep(ctx, 100*time.Millisecond) == nil; i++ {
			for _, q := range requestsFor(ordinary(i%ordinaryPods), t.names)[:2] {
				before, begun := cpuOf(e), time.Now()
				_, err := ask(e, c, q)
				wall, cpu := time.Since(begun), cpuOf(e)-before
				if ctx.Err() != nil {
					return
				}
				d.asked++
				d.wall, d.cpu = max(d.wall, wall), max(d.cpu, cpu)
				if err != nil {
					d.note(&d.wrong, "%v", err)
				}
			}
		}
	})
	d.checks.Go(func() {
		for daemon.Sleep(ctx, 200*time.Millisecond) == nil {
			begun := time.Now()
			if status, text, err := get(e, "healthz", patience); ctx.Err() == nil && status != http.StatusOK {
				d.note(&d.unwell, "healthz: %d %s %v", status, text, err)
			}
			d.health = max(d.health, time.Since(begun))
			if status, text, err := get(e, "readyz", patience); ctx.Err() == nil && status != http.StatusOK {
				d.note(&d.unready, "readyz: %d %s %v", status, text, err)
			}
		}
	})
	return d
}

// end stops the requests and lets the extender forget the assumed pods.
func (t *Test) end(d *delays) {
	d.stop()
	d.questions.Wait()
	d.checks.Wait()
	c := client(patience)
	defer c.CloseIdleConnections()
	for i := range ordinaryPods {
		if _, err := ask(t.extender, c, filterOf(ordinary(i), nil)); err != nil {
			d.note(&d.wrong, "%v", err)
			return
		}
	}
}

// verdicts returns the pod sizes that each node's kubelet admits, and leaves no pod assumed.
func (t *Test) verdicts() (string, error) {
	c := client(patience)
	defer c.CloseIdleConnections()
	var text strings.Builder
	for _, name := range t.names {
		fmt.Fprintf(&text, "%s:", name)
		for _, size := range probes {
			pod := asked("probe", size)
			body, err := ask(t.extender, c, filterOf(pod, []string{name}))
			if err != nil {
				return "", err
			}
			var answer extenderv1.ExtenderFilterResult
			if err := json.Unmarshal(body, &answer); err != nil {
				return "", err
			}
			if answer.NodeNames != nil && len(*answer.NodeNames) == 1 {
				fmt.Fprintf(&text, " %s", label(size))
			}
			if _, err := ask(t.extender, c, filterOf(pod, nil)); err != nil {
				return "", err
			}
		}
		text.WriteString("\n")
	}
	return text.String(), nil
}

// probes are of the shape of hostile pods that a kubelet rejects (the first), and of other sizes.
var probes = []map[v1.ResourceName]string{
	{"cpu": "2", "memory": "1Gi"}, {"cpu": "3", "memory": "1Gi"}, {"cpu": "5", "memory": "1Gi"}, {"cpu": "7", "memory": "1Gi"}, {"cpu": "8", "memory": "1Gi"}, {"cpu": "11", "memory": "1Gi"},
	{"cpu": "13", "memory": "1Gi"}, {"cpu": "16", "memory": "1Gi"}, {"cpu": "24", "memory": "1Gi"}, {"cpu": "32", "memory": "1Gi"}, {"cpu": "55", "memory": "1Gi"}, {"cpu": "63", "memory": "1Gi"},
	{"cpu": "1", "memory": "60Gi"}, {"cpu": "1", "memory": "230Gi"}, {"cpu": "1", "memory": "1Gi", nic: "1"}, {"cpu": "1", "memory": "1Gi", nic: "4"}}

func label(amounts map[v1.ResourceName]string) string {
	return strings.Join([]string{amounts["cpu"], amounts["memory"], amounts[nic]}, "/")
}

// difference is the first line that two texts do not share.
func difference(before, after string) string {
	old := strings.Split(before, "\n")
	for i, line := range strings.Split(after, "\n") {
		if i >= len(old) || line != old[i] {
			return fmt.Sprintf("%q was %q", line, old[min(i, len(old)-1)])
		}
	}
	return ""
}
