// SPDX-License-Identifier: Apache-2.0

package kubeletadmission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

// extender answers each verb with a text, and notes what it was asked.
type extender struct {
	answers map[string]string
	asked   []string
}

func (e *extender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		panic(err)
	}
	delete(body, "pod")
	members, _ := json.Marshal(body)
	e.asked = append(e.asked, fmt.Sprintf("%s %s", r.URL.Path, members))
	answer, ok := e.answers[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer = `{"error":"no replica holds the lease"}`
	}
	fmt.Fprint(w, answer)
}

// handle notes the pods that are to be tried again.
type handle struct {
	framework.Handle
	activated chan string
}

func (h *handle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	for name := range pods {
		h.activated <- name
	}
}

// next is the next pod to be tried again; "" if there is none for some time.
func (h *handle) next() string {
	select {
	case name := <-h.activated:
		return name
	case <-time.After(4 * lag):
		return ""
	}
}

func begin(t *testing.T, answers map[string]string) (*plugin, *extender, *handle) {
	e, h := &extender{answers: answers}, &handle{activated: make(chan string, 10)}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	made, err := New(context.Background(), &runtime.Unknown{ContentType: runtime.ContentTypeJSON, Raw: []byte(`{"url":"` + server.URL + `"}`)}, h)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*plugin), e, h
}

func guaranteed() *v1.Pod {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("1Gi")}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}}}}
}

func node(name string) framework.NodeInfo {
	info := schedulerframework.NewNodeInfo()
	info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return info
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

const chosen = `{"nodeNames":["b","a"],"assumed":true,"reasons":[],"unreachedNodes":0}`

func TestOneRequestPerPod(t *testing.T) {
	ctx, state, pod := context.Background(), schedulerframework.NewCycleState(), guaranteed()
	p, e, _ := begin(t, map[string]string{"/v1/choose": chosen, "/v1/forget": "{}"})
	result, status := p.PreFilter(ctx, state, pod, nil)
	expect(t, "status", status.Code(), framework.Success)
	expect(t, "names", len(result.NodeNames), 2)
	for name, code := range map[string]framework.Code{"a": framework.Success, "b": framework.Success, "c": framework.Unschedulable} {
		expect(t, name, p.Filter(ctx, state, pod, node(name)).Code(), code)
	}
	first, _ := p.Score(ctx, state, pod, node("b"))
	second, _ := p.Score(ctx, state, pod, node("a"))
	expect(t, "the first is better", first > second, true)
	expect(t, "Reserve", p.Reserve(ctx, state, pod, "b").Code(), framework.Success)
	expect(t, "asked", e.asked, []string{`/v1/choose {"assume":true,"limit":16}`})
	expect(t, "Reserve of the second", p.Reserve(ctx, state, pod, "a").Code(), framework.Success)
	p.Unreserve(ctx, state, pod, "a")
	expect(t, "asked", e.asked[1:], []string{`/v1/choose {"assume":true,"limit":1,"nodeNames":["a"]}`, `/v1/forget {}`})
}

func TestEveryNodeAfterTheBestOnes(t *testing.T) {
	ctx, state, pod := context.Background(), schedulerframework.NewCycleState(), guaranteed()
	p, e, h := begin(t, map[string]string{"/v1/choose": chosen, "/v1/forget": "{}",
		"/v1/admit": `{"failedNodeNames":["d"],"reasons":[],"unreachedNodes":0}`})
	p.PreFilter(ctx, state, pod, nil)
	_, status := p.PostFilter(ctx, state, pod, nil)
	expect(t, "no eviction", status.Code(), framework.UnschedulableAndUnresolvable)
	expect(t, "activated", h.next(), "p")
	state = schedulerframework.NewCycleState()
	result, status := p.PreFilter(ctx, state, pod, nil)
	expect(t, "status", status.Code(), framework.Success)
	expect(t, "every node", result.AllNodes(), true)
	expect(t, "c", p.Filter(ctx, state, pod, node("c")).Code(), framework.Success)
	expect(t, "d", p.Filter(ctx, state, pod, node("d")).Code(), framework.Unschedulable)
	_, status = p.PostFilter(ctx, state, pod, nil)
	expect(t, "evictions may help", status.Code(), framework.Unschedulable)
	expect(t, "asked", e.asked, []string{`/v1/choose {"assume":true,"limit":16}`, `/v1/forget {}`, `/v1/admit {}`})
	p.PreFilter(ctx, schedulerframework.NewCycleState(), pod, nil)
	expect(t, "the best nodes again", e.asked[3], `/v1/choose {"assume":true,"limit":16}`)
}

func TestEvictionsAreTried(t *testing.T) {
	ctx, state, pod := context.Background(), schedulerframework.NewCycleState(), guaranteed()
	p, _, _ := begin(t, map[string]string{"/v1/choose": `{"nodeNames":[],"assumed":false,"reasons":[{"nodes":3,"reason":"cordoned"}],"unreachedNodes":0}`})
	_, status := p.PreFilter(ctx, state, pod, nil)
	expect(t, "status", status.Code(), framework.Unschedulable)
	expect(t, "why", status.Message(), "3 node(s) with cordoned")
	trial := state.Clone()
	expect(t, "before", p.Filter(ctx, trial, pod, node("a")).Code(), framework.Unschedulable)
	p.RemovePod(ctx, trial, pod, nil, node("a"))
	expect(t, "after an eviction", p.Filter(ctx, trial, pod, node("a")).Code(), framework.Success)
	expect(t, "of this node only", p.Filter(ctx, trial, pod, node("b")).Code(), framework.Unschedulable)
	p.AddPod(ctx, trial, pod, nil, node("a"))
	expect(t, "without", p.Filter(ctx, trial, pod, node("a")).Code(), framework.Unschedulable)
	expect(t, "in the cycle itself", p.Filter(ctx, state, pod, node("a")).Code(), framework.Unschedulable)
}

func TestOnceMoreAfterAnEvent(t *testing.T) {
	ctx, state, pod := context.Background(), schedulerframework.NewCycleState(), guaranteed()
	p, _, h := begin(t, map[string]string{"/v1/choose": `{"nodeNames":[],"assumed":false,"reasons":[],"unreachedNodes":0}`})
	p.PreFilter(ctx, state, pod, nil)
	p.PostFilter(ctx, state, pod, nil)
	expect(t, "without an event", h.next(), "")
	events, err := p.EventsToRegister(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		hint, err := event.QueueingHintFn(klog.Background(), pod, nil, nil)
		expect(t, "hint", fmt.Sprint(hint, err), fmt.Sprint(framework.Queue, nil))
		p.PostFilter(ctx, state, pod, nil)
		expect(t, "after an event", h.next(), "p")
	}
	p.PostFilter(ctx, state, pod, nil)
	expect(t, "once", h.next(), "")
}

func TestOtherPodsAreSkipped(t *testing.T) {
	ctx, pod := context.Background(), guaranteed()
	p, e, _ := begin(t, map[string]string{"/v1/choose": `{"failedNodeNames":[],"assumed":false,"reasons":[],"unreachedNodes":0}`})
	_, status := p.PreFilter(ctx, schedulerframework.NewCycleState(), pod, nil)
	expect(t, "every node passes", status.Code(), framework.Skip)
	pod.Spec.Containers[0].Resources.Limits = nil
	_, status = p.PreFilter(ctx, schedulerframework.NewCycleState(), pod, nil)
	expect(t, "Burstable", status.Code(), framework.Skip)
	expect(t, "asked", len(e.asked), 1)
}

func TestErrors(t *testing.T) {
	p, _, _ := begin(t, nil)
	_, status := p.PreFilter(context.Background(), schedulerframework.NewCycleState(), guaranteed(), nil)
	expect(t, "status", status.Code(), framework.Error)
	if !slices.ContainsFunc(status.Reasons(), func(r string) bool { return len(r) > 0 }) {
		t.Fatal("no reason")
	}
	if _, err := New(context.Background(), &runtime.Unknown{ContentType: runtime.ContentTypeJSON, Raw: []byte(`{}`)}, &handle{}); err == nil {
		t.Fatal("a plugin without a URL")
	}
}
