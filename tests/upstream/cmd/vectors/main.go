// SPDX-License-Identifier: Apache-2.0

// vectors writes what the kubelet's own code decides in random cases, in the format of the recorded vectors.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"k8s.io/klog/v2"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/vectors"
)

func main() {
	what := flag.String("what", "cpus", "which decisions: cpus (cpu_manager.json) or merges (topology_manager.json)")
	shape := flag.String("shape", "regular", "machines for cpus: "+strings.Join(vectors.ShapeNames(), ", "))
	count := flag.Int("cases", 2000, "number of cases")
	seed := flag.Uint64("seed", rand.Uint64N(1000000), "random seed")
	out := flag.String("o", "-", "file to write, - for standard output")
	flag.Parse()
	fmt.Fprintf(os.Stderr, "vectors: seed %d\n", *seed)
	if err := run(*what, *shape, *count, *seed, *out); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

func run(what, shape string, count int, seed uint64, out string) error {
	quiet.LogTo(io.Discard)
	if err := vectors.EnableAllOptions(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	var file any
	var err error
	switch what {
	case "cpus":
		id := func(i int) string { return fmt.Sprintf("k%d-%s-%04d", seed, shape, i) }
		file, err = vectors.CPUs(klog.Background(), r, shape, id, count)
	case "merges":
		id := func(i int) string { return fmt.Sprintf("m%d-%04d", seed, i) }
		file, err = vectors.Merges(klog.Background(), r, id, count)
	default:
		return fmt.Errorf("no decisions %q", what)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(file)
	if err != nil {
		return err
	}
	if out == "-" {
		_, err = os.Stdout.Write(append(text, '\n'))
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}
