// SPDX-License-Identifier: Apache-2.0

package made

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Example is what a document says about a pod and the nodes of a table.
type Example interface {
	// About is the example's name, its table, and the number of nodes that the document says something about.
	About() (name, table string, nodes int)
}

// Examples are the content of a file of examples.
type Examples[E Example] struct {
	Tables   map[string][]Node
	Examples []E
}

// ReadExamples reads a file of examples, each of which says something about every node of its table.
func ReadExamples[E Example](path string) (*Examples[E], error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := &Examples[E]{}
	if err := yaml.UnmarshalStrict(text, list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range list.Examples {
		if name, table, nodes := e.About(); nodes == 0 || nodes != len(list.Tables[table]) {
			return nil, fmt.Errorf("%s: example %q: its nodes are not those of table %q", path, name, table)
		}
	}
	return list, nil
}

// Report prints whether the example holds, and the differences below it. It returns 1 for an example that does not hold, or 0.
func Report(who string, e Example, differences []string) int {
	name, _, _ := e.About()
	if len(differences) == 0 {
		fmt.Printf("ok %s: %s\n", who, name)
		return 0
	}
	fmt.Printf("not ok %s: %s\n", who, name)
	for _, line := range differences {
		fmt.Printf("  | %s\n", line)
	}
	return 1
}
