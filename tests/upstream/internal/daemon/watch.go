// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Resource is where the objects are.
var Resource = schema.GroupVersionResource{Group: "topology.node.k8s.io", Version: "v1alpha2", Resource: "noderesourcetopologies"}

// Object is a NodeResourceTopology as a watch brought it.
type Object struct {
	*topologyv1alpha2.NodeResourceTopology
	At time.Time
}

// Watch follows the objects of an API server, and keeps trying while that is away.
type Watch struct {
	client dynamic.ResourceInterface
	mu     sync.Mutex
	newest map[string]Object
	writes map[string][]time.Time // times of each name's new versions
	news   chan struct{}
}

// NewWatch begins to watch every object. It ends with ctx.
func NewWatch(ctx context.Context, client dynamic.Interface) *Watch {
	w := &Watch{client: client.Resource(Resource), newest: map[string]Object{}, writes: map[string][]time.Time{},
		news: make(chan struct{})}
	go func() {
		for ctx.Err() == nil {
			w.follow(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return w
}

// follow lists, then watches until the server ends that.
func (w *Watch) follow(ctx context.Context) {
	list, err := w.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	w.mu.Lock()
	here := map[string]bool{}
	for i := range list.Items {
		here[list.Items[i].GetName()] = true
	}
	for name := range w.newest {
		if !here[name] {
			delete(w.newest, name)
		}
	}
	w.mu.Unlock()
	for i := range list.Items {
		w.put(watch.Modified, &list.Items[i])
	}
	events, err := w.client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return
		}
		w.put(event.Type, object)
	}
}

func (w *Watch) put(kind watch.EventType, object *unstructured.Unstructured) {
	now := time.Now()
	typed := &topologyv1alpha2.NodeResourceTopology{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return // somebody edited it into something else
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := object.GetName()
	if kind == watch.Deleted {
		delete(w.newest, name)
	} else if w.newest[name].NodeResourceTopology == nil || w.newest[name].ResourceVersion != typed.ResourceVersion {
		w.newest[name] = Object{typed, now}
		w.writes[name] = append(w.writes[name], now)
	}
	close(w.news)
	w.news = make(chan struct{})
}

// Newest is the object as last seen; its pointer is nil when there is none.
func (w *Watch) Newest(name string) Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest[name]
}

// Writes are the times of the object's new versions since `since`.
func (w *Watch) Writes(name string, since time.Time) (times []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.writes[name] {
		if at.After(since) {
			times = append(times, at)
		}
	}
	return times
}

// Wait waits until the object is as wanted and returns when that version of it came. `wrong` says what is not as
// wanted, "" when all is; it is called with nil when there is no object.
func (w *Watch) Wait(ctx context.Context, name string, within time.Duration,
	wrong func(*topologyv1alpha2.NodeResourceTopology) string) (time.Time, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		w.mu.Lock()
		newest, news := w.newest[name], w.news
		w.mu.Unlock()
		said := wrong(newest.NodeResourceTopology)
		if said == "" {
			return newest.At, nil
		}
		select {
		case <-news:
		case <-timer.C:
			return time.Time{}, fmt.Errorf("%s is not right after %v: %s", name, within, said)
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}
