// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"html"
	"strings"
)

// Measures of the plot, in pixels.
const (
	plotWidth  = 860
	barsAt     = 270 // where bars begin
	barsEnd    = 680
	rowHeight  = 26
	panelHead  = 44
	plotMargin = 16
)

const plotStyle = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600}
.small{font-size:11px;fill:#59636e}
.bar{fill:#8c959f}
.nrtd{fill:#1a7f37}
.seed{fill:#1f2328}
.axis{stroke:#8c959f}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}
.small{fill:#9198a1}
.bar{fill:#656c76}
.nrtd{fill:#3fb950}
.seed{fill:#f0f6fc}
}
</style>
`

// Plot is an SVG picture of the refusals: a panel for each workload, a bar for each way, a dot for each seed.
func Plot(results []*Result) string {
	var b strings.Builder
	most := 1.0
	for _, r := range results {
		most = max(most, r.PerThousand())
	}
	at := plotMargin
	for _, workload := range Workloads {
		at = plotPanel(&b, results, &workload, at, (barsEnd-barsAt)/most)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+
		"\n<title>Pods that kubelets refused, of 1000 bound</title>\n", plotWidth, at, plotWidth, at) + plotStyle + b.String() + "</svg>\n"
}

// plotPanel draws a workload below `at` and returns where it ends.
func plotPanel(b *strings.Builder, results []*Result, workload *Workload, at int, scale float64) int {
	top := at
	for _, way := range Ways {
		sum := Sum(results, way.Name, workload.Name)
		if sum == nil {
			continue
		}
		if at == top {
			fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", plotMargin, at+16, html.EscapeString(workload.Title))
			fmt.Fprintf(b, `<text class="small" x="%d" y="%d">pods refused by kubelets, of 1000 bound; a dot a seed</text>`+"\n", plotMargin, at+32)
			at += panelHead
		}
		class := "bar"
		if way.Extender {
			class = "nrtd"
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", barsAt-8, at+17, html.EscapeString(way.Title))
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>`+"\n", class, barsAt, at+4, max(1, scale*sum.PerThousand()), rowHeight-8)
		for _, r := range results {
			if r.Way == way.Name && r.Workload == workload.Name {
				fmt.Fprintf(b, `<circle class="seed" cx="%.1f" cy="%d" r="2.5"/>`+"\n", barsAt+scale*r.PerThousand(), at+rowHeight/2)
			}
		}
		fmt.Fprintf(b, `<text x="%d" y="%d">%.0f</text>`+"\n", barsEnd+14, at+17, sum.PerThousand())
		fmt.Fprintf(b, `<text class="small" x="%d" y="%d">p99 wait %s</text>`+"\n", barsEnd+60, at+17, seconds(sum.Wait(0.99)))
		at += rowHeight
	}
	if at == top {
		return at
	}
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", barsAt, barsAt, top+panelHead, at)
	return at + plotMargin
}
