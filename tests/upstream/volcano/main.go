// SPDX-License-Identifier: Apache-2.0

// volcano answers for Volcano's scheduler: for each line on standard input, a pod and the Numatopology objects of some
// nodes, it asks the real plugin numaaware in a session of the real scheduler, and prints a line: which nodes pass its
// predicate, why the others do not, and the scores of those that do.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	nodeinfov1alpha1 "volcano.sh/apis/pkg/apis/nodeinfo/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/numaaware"
)

// question is what a line has.
type question struct {
	Nodes  []*nodeinfov1alpha1.Numatopology `json:"nodes"`
	Pod    *v1.Pod                          `json:"pod"`
	Weight int                              `json:"weight"`
}

// verdict is the answer about one node.
type verdict struct {
	Passes bool    `json:"passes"`
	Reason string  `json:"reason,omitempty"`
	Score  float64 `json:"score"`
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	framework.RegisterPluginBuilder(numaaware.PluginName, numaaware.New)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q question
		err := in.Decode(&q)
		if err == io.EOF {
			return
		}
		if err == nil {
			var answer map[string]verdict
			if answer, err = ask(&q); err == nil {
				err = out.Encode(answer)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "volcano:", err)
			os.Exit(1)
		}
	}
}

// ask has a session of its own, in which nothing else is scheduled.
func ask(q *question) (map[string]verdict, error) {
	scheduler := cache.NewDefaultMockSchedulerCache("volcano")
	for _, topology := range q.Nodes {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: topology.Name}}
		if err := scheduler.AddOrUpdateNode(node); err != nil {
			return nil, err
		}
		scheduler.AddNumaInfoV1alpha1(topology)
	}
	yes := true
	tiers := []conf.Tier{{Plugins: []conf.PluginOption{{Name: numaaware.PluginName, EnabledPredicate: &yes, EnabledNodeOrder: &yes,
		Arguments: map[string]interface{}{numaaware.NumaTopoWeight: q.Weight}}}}}
	session := framework.OpenSession(scheduler, tiers, nil)
	defer framework.CloseSession(session)
	task := api.NewTaskInfo(q.Pod)
	answer := map[string]verdict{}
	var passing []*api.NodeInfo
	for name, node := range session.Nodes {
		if err := session.PredicateFn(task, node); err != nil {
			answer[name] = verdict{Reason: err.Error()}
			continue
		}
		answer[name] = verdict{Passes: true}
		passing = append(passing, node)
	}
	scores, err := session.BatchNodeOrderFn(task, passing)
	for name, score := range scores {
		answer[name] = verdict{Passes: true, Score: score}
	}
	return answer, err
}
