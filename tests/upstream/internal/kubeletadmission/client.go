// SPDX-License-Identifier: Apache-2.0

package kubeletadmission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// request and answer are those of doc/nrtd-extender-v1.schema.json.
type request struct {
	Pod       *v1.Pod  `json:"pod"`
	NodeNames []string `json:"nodeNames,omitempty"`
	Limit     int      `json:"limit,omitempty"`
	Assume    bool     `json:"assume,omitempty"`
}

type answer struct {
	NodeNames       []string `json:"nodeNames"`       // nil: every node passes except
	FailedNodeNames []string `json:"failedNodeNames"` // these
	Assumed         bool     `json:"assumed"`
	Reasons         []struct {
		Nodes  int    `json:"nodes"`
		Reason string `json:"reason"`
	} `json:"reasons"`
	UnreachedNodes int    `json:"unreachedNodes"`
	Error          string `json:"error"`
}

// everyNode passes: no kubelet has to align the pod.
func (a *answer) everyNode() bool { return a.NodeNames == nil && len(a.FailedNodeNames) == 0 }

// why no node passes, as the scheduler says it of its own plugins.
func (a *answer) why() string {
	var all []string
	for _, one := range a.Reasons {
		all = append(all, fmt.Sprintf("%d node(s) with %s", one.Nodes, one.Reason))
	}
	return strings.Join(all, ", ")
}

type client struct {
	url  string
	http http.Client
}

// newClient asks the extender at this URL. In a cluster its transport needs the client certificate and the CA that a
// KubeSchedulerConfiguration names for an extender; the replica that does not hold the Lease redirects, and http.Client follows.
func newClient(url string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16 // Unreserve runs in the binding cycles
	return &client{url: url, http: http.Client{Timeout: 5 * time.Second, Transport: transport}}
}

// post asks /v1/VERB.
func (c *client) post(ctx context.Context, verb string, r request) (*answer, error) {
	pod := *r.Pod
	pod.ManagedFields = nil // a third of the request, which nobody reads
	r.Pod = &pod
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/"+verb, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(asked)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{}
	if err := json.NewDecoder(response.Body).Decode(a); err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", asked.URL, response.Status, a.Error)
	}
	return a, nil
}
