// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// apiServer is a small API server in this process: lists and watches of NodeResourceTopologies, Nodes and Pods, and one
// Lease. The test decides which event reaches which client and when, which the real API server does not offer. It has no
// admission, no validation, no authorisation and no storage, so it cannot show what the real one accepts, how it orders
// pages against concurrent writes, or how fast it is: extender_faults.sh runs the extender beside the real one.
type apiServer struct {
	mu      sync.Mutex
	rv      int64         // resourceVersion of the last change
	changed chan struct{} // closed and replaced whenever anything changes
	kinds   [kindCount]*collection
	lease   map[string]any
}

// kind is a kind of objects that the extender watches.
type kind int

const (
	nrts kind = iota
	nodes
	pods
	kindCount
)

var kindNames = [kindCount]string{"noderesourcetopologies", "nodes", "pods"} // as in paths, metrics and steps

// collection is all objects of one kind, and everything that happened to them.
type collection struct {
	apiVersion, kind string
	objects          map[string]json.RawMessage
	log              []event
}

// event is one change.
type event struct {
	rv     int64
	what   string // ADDED, MODIFIED, DELETED
	object json.RawMessage
}

// flowing is the gate of a kind whose events are delivered as they come.
const flowing = math.MaxInt64

// pageMax is the number of objects in a page, also where a client asks for more.
const pageMax = 7

// view is the API server as one replica of the extender sees it, on an address of its own.
type view struct {
	server   *apiServer
	http     *http.Server
	address  string
	gates    [kindCount]int64 // events up to this resourceVersion are delivered
	seen     [kindCount]int64 // the replica knows everything up to this resourceVersion once it has read what was sent
	streams  [kindCount]*stream
	expired  [kindCount]bool // the next watch gets 410
	torn     [kindCount]bool // the next list gets 410 at its second page
	away     bool            // every request gets 503
	pages    map[string]page
	nextPage int
}

// page is what is left of a list.
type page struct {
	rv      int64
	objects []json.RawMessage
}

// stream is one watch.
type stream struct {
	cursor    int64 // resourceVersion of the last event or bookmark sent
	asked     int   // bookmarks that the test asked for
	bookmarks int   // bookmarks sent
	end       chan bool
}

func newAPIServer() *apiServer {
	s := &apiServer{rv: 1000, changed: make(chan struct{})}
	for k, c := range [kindCount]collection{{apiVersion: "topology.node.k8s.io/v1alpha2", kind: "NodeResourceTopology"},
		{apiVersion: "v1", kind: "Node"}, {apiVersion: "v1", kind: "Pod"}} {
		c.objects = map[string]json.RawMessage{}
		s.kinds[k] = &c
	}
	return s
}

// broadcast wakes whoever waits for a change; mu is held.
func (s *apiServer) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// put stores an object under its key and returns its resourceVersion.
func (s *apiServer) put(k kind, key string, object map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	c := s.kinds[k]
	object["apiVersion"], object["kind"] = c.apiVersion, c.kind
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.rv)
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // it came out of JSON
	}
	what := "MODIFIED"
	if c.objects[key] == nil {
		what = "ADDED"
	}
	c.objects[key] = text
	c.log = append(c.log, event{s.rv, what, text})
	s.broadcast()
	return s.rv
}

// remove deletes an object and returns the resourceVersion of its deletion.
func (s *apiServer) remove(k kind, key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.kinds[k]
	var object map[string]any
	if err := json.Unmarshal(c.objects[key], &object); err != nil {
		panic(fmt.Sprintf("%s %q: %v", kindNames[k], key, err))
	}
	s.rv++
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.rv)
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	delete(c.objects, key)
	c.log = append(c.log, event{s.rv, "DELETED", text})
	s.broadcast()
	return s.rv
}

// newView starts to listen for one replica.
func (s *apiServer) newView() (*view, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &view{server: s, address: listener.Addr().String(), gates: [kindCount]int64{flowing, flowing, flowing}, pages: map[string]page{}}
	mux := http.NewServeMux()
	for k, path := range [kindCount]string{"/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies", "/api/v1/nodes", "/api/v1/pods"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { v.get(kind(k), w, r) })
	}
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	mux.HandleFunc("POST "+leases, func(w http.ResponseWriter, r *http.Request) { s.writeLease(w, r, true) })
	mux.HandleFunc("PUT "+leases+"/nrtd", func(w http.ResponseWriter, r *http.Request) { s.writeLease(w, r, false) })
	mux.HandleFunc("GET "+leases+"/nrtd", s.readLease)
	v.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		away := v.away
		s.mu.Unlock()
		if away {
			fail(w, http.StatusServiceUnavailable, "ServiceUnavailable", "the API server is away")
			return
		}
		mux.ServeHTTP(w, r)
	})}
	go v.http.Serve(listener)
	return v, nil
}

// fail answers with a Status.
func fail(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(status(code, reason, message))
}

func status(code int, reason, message string) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message,
		"reason": reason, "code": code}
}

func (v *view) get(k kind, w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		v.watch(k, w, r)
	} else {
		v.list(k, w, r)
	}
}

// list answers one page. All pages of a list are as of its first one.
func (v *view) list(k kind, w http.ResponseWriter, r *http.Request) {
	s, token := v.server, r.URL.Query().Get("continue")
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = pageMax
	}
	s.mu.Lock()
	p, known := v.pages[token]
	delete(v.pages, token)
	switch {
	case token == "":
		p = page{rv: s.rv}
		keys := make([]string, 0, len(s.kinds[k].objects))
		for key := range s.kinds[k].objects {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			p.objects = append(p.objects, s.kinds[k].objects[key])
		}
	case !known || v.torn[k]:
		v.torn[k] = false
		s.mu.Unlock()
		fail(w, http.StatusGone, "Expired", "The provided continue parameter is too old")
		return
	}
	n := min(limit, pageMax, len(p.objects))
	metadata := map[string]any{"resourceVersion": fmt.Sprint(p.rv)}
	if n < len(p.objects) {
		v.nextPage++
		next := fmt.Sprintf("page/%d+", v.nextPage)
		v.pages[next] = page{p.rv, p.objects[n:]}
		metadata["continue"] = next
	} else {
		v.seen[k] = max(v.seen[k], p.rv)
		v.torn[k] = false
	}
	c := s.kinds[k]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	items := p.objects[:n]
	if items == nil {
		items = []json.RawMessage{}
	}
	json.NewEncoder(w).Encode(map[string]any{"kind": c.kind + "List", "apiVersion": c.apiVersion, "metadata": metadata, "items": items})
}

// watch sends events until the client goes, the test ends the stream, or timeoutSeconds are over.
func (v *view) watch(k kind, w http.ResponseWriter, r *http.Request) {
	s := v.server
	from, err := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	s.mu.Lock()
	expired := v.expired[k]
	v.expired[k] = false
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	if expired {
		out.Encode(map[string]any{"type": "ERROR", "object": status(http.StatusGone, "Expired", fmt.Sprintf("too old resource version: %d", from))})
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	over := time.After(time.Duration(seconds) * time.Second)
	st := &stream{cursor: from, end: make(chan bool, 1)}
	s.mu.Lock()
	v.streams[k] = st
	s.broadcast()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if v.streams[k] == st {
			v.streams[k] = nil
		}
		s.broadcast()
		s.mu.Unlock()
	}()
	for {
		changed, err := v.send(k, st, w, out)
		if err != nil {
			return
		}
		select {
		case <-changed:
		case clean := <-st.end:
			if !clean {
				panic(http.ErrAbortHandler) // the connection is cut
			}
			return
		case <-over:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// send sends what may be delivered by now, and a bookmark where the test wants one. The channel says when to call again.
func (v *view) send(k kind, st *stream, w http.ResponseWriter, out *json.Encoder) (<-chan struct{}, error) {
	s := v.server
	s.mu.Lock()
	changed, gate, log, bookmarks := s.changed, v.gates[k], s.kinds[k].log, st.asked-st.bookmarks
	s.mu.Unlock()
	first, _ := slices.BinarySearchFunc(log, st.cursor+1, func(e event, rv int64) int { return int(e.rv - rv) })
	cursor := st.cursor
	for _, e := range log[first:] {
		if e.rv > gate {
			break
		}
		if err := out.Encode(map[string]any{"type": e.what, "object": e.object}); err != nil {
			return changed, err
		}
		cursor = e.rv
	}
	for range bookmarks {
		if err := out.Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{"kind": s.kinds[k].kind, "apiVersion": s.kinds[k].apiVersion,
			"metadata": map[string]any{"resourceVersion": fmt.Sprint(cursor), "creationTimestamp": nil}}}); err != nil {
			return changed, err
		}
	}
	w.(http.Flusher).Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.cursor != cursor || bookmarks > 0 {
		st.cursor = cursor
		st.bookmarks += bookmarks
		v.seen[k] = max(v.seen[k], cursor)
		s.broadcast()
	}
	return changed, nil
}

// hold keeps the events of a kind from now on back, or lets them go.
func (v *view) hold(k kind, held bool) {
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	v.gates[k] = flowing
	if held {
		v.gates[k] = v.server.rv
	}
	v.server.broadcast()
}

// end ends the watch of a kind, cleanly or in the middle of the answer.
func (v *view) end(k kind, clean bool) {
	v.server.mu.Lock()
	st := v.streams[k]
	v.streams[k] = nil
	v.server.mu.Unlock()
	if st != nil {
		st.end <- clean
	}
}

// forget makes the view that of a new process, which knows nothing yet.
func (v *view) forget() {
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	v.seen = [kindCount]int64{}
	v.streams = [kindCount]*stream{}
	v.expired, v.torn = [kindCount]bool{}, [kindCount]bool{}
}

// knows returns the resourceVersion up to which the replica has been told of everything.
func (v *view) knows(k kind) int64 {
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	return v.seen[k]
}

func (s *apiServer) readLease(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		fail(w, http.StatusNotFound, "NotFound", `leases.coordination.k8s.io "nrtd" not found`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(s.lease)
}

// writeLease creates the Lease, or replaces the version that the request names.
func (s *apiServer) writeLease(w http.ResponseWriter, r *http.Request, create bool) {
	var lease map[string]any
	if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	metadata, ok := lease["metadata"].(map[string]any)
	switch {
	case !ok:
		fail(w, http.StatusBadRequest, "BadRequest", "no metadata")
		return
	case create && s.lease != nil:
		fail(w, http.StatusConflict, "AlreadyExists", "the Lease is there")
		return
	case !create && (s.lease == nil || metadata["resourceVersion"] != s.lease["metadata"].(map[string]any)["resourceVersion"]):
		fail(w, http.StatusConflict, "Conflict", "the Lease has been modified")
		return
	}
	s.rv++
	metadata["resourceVersion"], metadata["uid"] = fmt.Sprint(s.rv), "lease"
	s.lease = lease
	w.Header().Set("Content-Type", "application/json")
	if create {
		w.WriteHeader(http.StatusCreated)
	}
	json.NewEncoder(w).Encode(lease)
}

// close ends every connection.
func (v *view) close() { v.http.Close() }
