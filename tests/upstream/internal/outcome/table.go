// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Table is the results as text, a table for each workload, the seeds of each way together.
func Table(results []*Result) string {
	var b strings.Builder
	for _, workload := range Workloads {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		rows := 0
		for _, way := range Ways {
			sum := Sum(results, way.Name, workload.Name)
			if sum == nil {
				continue
			}
			if rows++; rows == 1 {
				fmt.Fprintf(&b, "%s: %s\n", workload.Name, workload.Title)
				fmt.Fprintln(t, "way\trefused of 1000 bound\tby seed\tplaced\tnever\ton 1 NUMA node\tp50\tp99\tpods/s of the search\tNode writes a minute\t")
			}
			fmt.Fprintf(t, "%s\t%.1f\t%s\t%d\t%d\t%.1f %%\t%s\t%s\t%.0f\t%.1f\t\n", way.Title, sum.PerThousand(), bySeed(results, sum), sum.Placed,
				sum.Never, 100*sum.OneNUMAShare(), seconds(sum.Wait(0.5)), seconds(sum.Wait(0.99)), sum.PodsPerSecond(), sum.NodeWritesPerMinute())
		}
		t.Flush()
		if rows > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// bySeed is the number of each seed.
func bySeed(results []*Result, sum *Result) string {
	var list []string
	for _, r := range results {
		if r.Way == sum.Way && r.Workload == sum.Workload {
			list = append(list, fmt.Sprintf("%.0f", r.PerThousand()))
		}
	}
	return strings.Join(list, " ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
