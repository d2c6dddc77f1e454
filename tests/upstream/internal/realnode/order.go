// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"
)

// Order is when what was written, in several repetitions of the same: of each kind of write the first and the last, from the
// first write of that repetition.
type Order struct {
	name  string
	runs  int
	times map[string][]time.Duration
}

// add takes the writes of one repetition.
func (o *Order) add(writes []Write) {
	if o.times == nil {
		o.times = map[string][]time.Duration{}
	}
	o.runs++
	number := map[string]int{}
	for _, write := range writes {
		number[write.What]++
		what := write.What
		if number[what] > 1 {
			what = fmt.Sprintf("%s, %d", what, number[what])
		}
		o.times[what] = append(o.times[what], write.At.Sub(writes[0].At))
	}
}

// Table has the kinds in the order of their medians. Kinds that fewer than half of the repetitions have are left out.
func (o *Order) Table() (lines []string) {
	type row struct {
		what                   string
		n                      int
		least, median, longest time.Duration
	}
	var rows []row
	for what, times := range o.times {
		if 2*len(times) < o.runs {
			continue
		}
		slices.Sort(times)
		rows = append(rows, row{what, len(times), times[0], times[len(times)/2], times[len(times)-1]})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].median < rows[j].median })
	lines = append(lines, fmt.Sprintf("%s, ms since the first (%d times): median, least, most, in how many", o.name, o.runs))
	for _, row := range rows {
		lines = append(lines, fmt.Sprintf("  %-38s %6d %6d %6d  %d", row.what, row.median.Milliseconds(), row.least.Milliseconds(),
			row.longest.Milliseconds(), row.n))
	}
	return lines
}

// Measure starts and ends a pod again and again and says in what order the kubelet writes.
func (t *Test) Measure(ctx context.Context) error {
	starts, ends := Order{name: "a pod starts"}, Order{name: "a pod is deleted"}
	during := func(order *Order, do func() error) error {
		began := time.Now()
		if err := do(); err != nil {
			return err
		}
		time.Sleep(3 * time.Second)
		seen := t.Writes.Since(began)
		for _, at := range t.Published(began) {
			seen = append(seen, Write{"the object published", at})
		}
		sort.SliceStable(seen, func(i, j int) bool { return seen[i].At.Before(seen[j].At) })
		if len(seen) > 0 {
			order.add(seen)
		}
		return nil
	}
	for i := range t.Repetitions {
		name := fmt.Sprintf("order-%d", i)
		pod := Pod(t.Node, name, true, nil, one(Ask{CPU: "1", Memory: "50Mi", Devices: 1}))
		if err := during(&starts, t.pod(ctx, "Running", pod)); err != nil {
			return err
		}
		if err := during(&ends, t.gone(ctx, name)); err != nil {
			return err
		}
	}
	for _, line := range append(starts.Table(), ends.Table()...) {
		fmt.Fprintln(t.Out, line)
	}
	return nil
}
