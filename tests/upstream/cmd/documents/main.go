// SPDX-License-Identifier: Apache-2.0

// documents sends random texts through the code with which kubectl and the kubelet read YAML, JSON, quantities and CPU lists, and
// through nrtd's (build/tests/upstream/documents). nrtd must read the same value, or refuse the text. A refused document's message must
// name the line. Pods go through the defaults and the validation of the API server: nrtd must read the same resources, and refuse those that
// the API server refuses, and no others.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"nrtd.dev/tests/upstream/internal/differential"
)

// Of the random texts that the real code reads, nrtd may refuse this share: many have text after their end, keys that are fractions,
// or NUL characters.
const refusedMax = 0.3

// question is a text for one of the readers.
type question struct {
	Reader string `json:"reader"`
	Text   []byte `json:"text"`
}

func main() {
	settings := differential.Settings{Cases: 1000, MaxFails: 10, Shrinks: 4000, Out: os.Stdout}
	program := flag.String("program", "build/tests/upstream/documents", "the readers of nrtd")
	flag.IntVar(&settings.Cases, "cases", settings.Cases, "random documents, quantities and CPU lists, of each so many")
	only := flag.String("only", "", "read only with this reader")
	verbose := flag.Bool("v", false, "print the texts that only nrtd refuses")
	settings.Flags()
	differential.Main("documents", &settings, func(ctx context.Context) (int, error) {
		n, err := start(ctx, *program)
		if err != nil {
			return 0, err
		}
		defer n.stop()
		fmt.Printf("seed %d\n", settings.Seed)
		failed := 0
		for _, kind := range kinds {
			if *only != "" && *only != kind.name {
				continue
			}
			tally := &tally{refused: map[string]int{}, verbose: *verbose}
			passed, differing, err := differential.Run(problem(kind, n, tally), settings)
			if err != nil {
				return failed, err
			}
			failed += differing
			fmt.Printf("%s: %d alike, %d differ\n", kind.name, passed, differing)
			failed += tally.print()
		}
		return failed, nil
	})
}

// kind is a reader, with the texts that it is asked about.
type kind struct {
	name   string
	random func(r *rand.Rand) []byte
}

var kinds = []kind{
	{"manifest", manifestText},
	{"config", configText},
	{"drop-in", configText},
	{"yaml", documentText},
	{"strict-yaml", documentText},
	{"quantity", quantityText},
	{"cpus", cpusText},
	{"pod", podText},
}

func problem(k kind, n *nrtd, t *tally) differential.Problem[question] {
	return differential.Problem[question]{
		Name:    "documents-" + k.name,
		Random:  func(r *rand.Rand) question { return question{k.name, k.random(r)} },
		Compare: func(q question) ([]string, error) { return compare(q, n, t) },
		Smaller: smaller,
	}
}

// tally counts what only nrtd refuses, by message.
type tally struct {
	read    int // by the real code
	refused map[string]int
	verbose bool
}

// print returns 1 when nrtd refuses too much.
func (t *tally) print() int {
	total := 0
	for message, n := range t.refused {
		fmt.Printf("  %d refused by nrtd alone: %s\n", n, message)
		total += n
	}
	if t.read == 0 || float64(total) <= refusedMax*float64(t.read) {
		return 0
	}
	fmt.Printf("not ok nrtd refuses %d texts of %d that the real code reads\n", total, t.read)
	return 1
}

// smaller removes parts of the text: halves first, single bytes last. A part of a pod would be refused for another reason.
func smaller(q question) (all []question) {
	if q.Reader == "pod" {
		return nil
	}
	for size := (len(q.Text) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(q.Text); at += size {
			text := append([]byte{}, q.Text[:at]...)
			all = append(all, question{q.Reader, append(text, q.Text[min(at+size, len(q.Text)):]...)})
		}
	}
	return all
}
