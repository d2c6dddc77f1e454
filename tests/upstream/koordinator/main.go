// SPDX-License-Identifier: Apache-2.0

// koordinator answers for Koordinator, a line for each line on standard input. Asked for a node's machine and kubelet it
// prints the NodeResourceTopology object that koordlet's own code makes of them; asked for pods on such objects it prints
// what the scheduler's real plugin NodeNUMAResource does with the pods, one after the other, on each.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	nrtv1alpha1 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha1"
	v1 "k8s.io/api/core/v1"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// question is what a line has: a node for koordlet, or objects for the scheduler.
type question struct {
	Koordlet *node                               `json:"koordlet"`
	Objects  []*nrtv1alpha1.NodeResourceTopology `json:"objects"`
	Labels   map[string]string                   `json:"labels"`   // of the Node
	Bound    []*v1.Pod                           `json:"bound"`    // pods that the scheduler has placed already
	Pods     []*v1.Pod                           `json:"pods"`     // pods to place
	Strategy string                              `json:"strategy"` // of the NUMA score
	Batch    bool                                `json:"batch"`    // ask koord-manager about the objects
}

// answer has the object, or for each object an outcome of each pod.
type answer struct {
	Object   *nrtv1alpha1.NodeResourceTopology `json:"object,omitempty"`
	Outcomes [][]outcome                       `json:"outcomes,omitempty"`
	Batch    []string                          `json:"batch,omitempty"` // of each object
	Error    string                            `json:"error,omitempty"` // koordlet makes no object
}

// turnOff turns a feature gate of client-go off. The fake clients serve no streaming lists, for which an informer would wait
// forever.
func turnOff(feature clientfeatures.Feature) {
	gates := clientfeatures.FeatureGates().(interface {
		Set(clientfeatures.Feature, bool) error
	})
	if err := gates.Set(feature, false); err != nil {
		panic(err)
	}
}

func main() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Set("logtostderr", "false")
	flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	log.SetLogger(klog.NewKlogr())
	turnOff(clientfeatures.WatchListClient)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	schedulers := map[string]*scheduler{}
	for {
		var q question
		err := in.Decode(&q)
		if err == io.EOF {
			return
		}
		if err == nil {
			var a answer
			if a, err = ask(&q, schedulers); err == nil {
				err = out.Encode(a)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "koordinator:", err)
			os.Exit(1)
		}
	}
}

func ask(q *question, schedulers map[string]*scheduler) (a answer, err error) {
	if q.Koordlet != nil {
		if a.Object, err = q.Koordlet.report(); err != nil {
			return answer{Error: err.Error()}, nil
		}
		return a, nil
	}
	for _, object := range q.Objects {
		if !q.Batch {
			break
		}
		text, err := batch(object)
		if err != nil {
			return a, err
		}
		a.Batch = append(a.Batch, text)
	}
	if q.Batch {
		return a, nil
	}
	s := schedulers[q.Strategy]
	if s == nil {
		if s, err = newScheduler(q.Strategy); err != nil {
			return a, err
		}
		schedulers[q.Strategy] = s
	}
	for _, object := range q.Objects {
		outcomes, err := s.place(object, q)
		if err != nil {
			return a, err
		}
		a.Outcomes = append(a.Outcomes, outcomes)
	}
	return a, nil
}
