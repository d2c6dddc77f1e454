// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"fmt"
	"slices"
	"strings"
)

// Example is one of a document: a pod, and what the document says becomes of it.
type Example struct {
	Name       string
	Table      string   // the nodes that there are
	Containers []string // as in Pod
	Burstable  bool     // the containers have requests and no limits
	Policy     string
	Weight     int                // of the plugin; 0 = 1
	Passes     map[string]float64 // the nodes that take the pod, and their scores
	Refused    map[string]string  // the others, and what Volcano says of each
	Chosen     string             // where the pod goes; "" = nowhere; "any" = the plugin does not decide
}

// Any is Chosen where several nodes are equal.
const Any = "any"

// About is as made.Example has it.
func (e *Example) About() (name, table string, nodes int) {
	return e.Name, e.Table, len(e.Passes) + len(e.Refused)
}

// Pod of the example.
func (e *Example) Pod() *Pod {
	return &Pod{Containers: e.Containers, Guaranteed: !e.Burstable, Policy: e.Policy}
}

// best are the nodes with the highest score, in the order of their names.
func best(passes map[string]float64) (names []string) {
	highest := -1.0
	for name, score := range passes {
		if score > highest {
			names, highest = nil, score
		}
		if score == highest {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Differences of what nrtd and Volcano say from what the document says.
func (e *Example) Differences(nrtd, volcano map[string]Verdict) (list []string) {
	chosen := best(e.Passes)
	if e.Chosen == "" && len(chosen) > 0 || e.Chosen != "" && e.Chosen != Any && !slices.Equal(chosen, []string{e.Chosen}) {
		list = append(list, fmt.Sprintf("the document says %q, its scores %v", e.Chosen, chosen))
	}
	for who, verdicts := range map[string]map[string]Verdict{"nrtd": nrtd, "Volcano": volcano} {
		for name, score := range e.Passes {
			if said := verdicts[name]; !said.Passes || said.Score != score {
				list = append(list, fmt.Sprintf("%s: the document says that it passes with %v, %s %+v", name, score, who, said))
			}
		}
		for name, reason := range e.Refused {
			said, known := verdicts[name]
			if !known || said.Passes || who == "Volcano" && !strings.Contains(said.Reason, reason) {
				list = append(list, fmt.Sprintf("%s: the document says that it is refused (%s), %s %+v", name, reason, who, said))
			}
		}
	}
	return list
}
