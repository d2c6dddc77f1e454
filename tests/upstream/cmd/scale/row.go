// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"nrtd.dev/tests/upstream/internal/daemon"
)

// row is what is to be compared between runs with few nodes and with many.
type row struct {
	agents      int
	published   time.Duration // from the first start to the last request
	idle, churn spent
	changes     int
	agentCPU    time.Duration // of one daemon during the changes
	rss, pss    int64         // of one daemon
	restart     requests
	back        requests // of these, each node's first that succeeded
}

// cost is what one of something costs the API server.
type cost struct{ requests, connections, in, out, cpu float64 } // bytes, milliseconds

// of takes n apart, of them as many refreshes as there are and each at its cost.
func (c spent) of(n int, refresh cost) cost {
	refreshes := float64(len(c.refreshes()))
	each := func(all, one float64) float64 { return (all - refreshes*one) / float64(max(n, 1)) }
	return cost{each(float64(len(c.requests)), refresh.requests), each(c.connections, refresh.connections), each(c.in, refresh.in), each(c.out, refresh.out),
		each(float64(c.cpu.Microseconds())/1000, refresh.cpu)}
}

// refreshes begin with a look at the Node.
func (c spent) refreshes() requests { return c.requests.only("get", "nodes") }

// columns of the table, by name.
func (r *row) columns() [][2]string {
	number := func(amount float64) string { return fmt.Sprintf("%.1f", amount) }
	refresh := r.idle.of(len(r.idle.refreshes()), cost{})
	change := r.churn.of(r.changes, refresh)
	return [][2]string{
		{"agents", fmt.Sprint(r.agents)},
		{"all published, s", number(r.published.Seconds())},
		{"refreshes measured", fmt.Sprint(len(r.idle.refreshes()))},
		{"a refresh: requests", number(refresh.requests)},
		{"connections", number(refresh.connections)},
		{"kB in", number(refresh.in / 1000)},
		{"kB out", number(refresh.out / 1000)},
		{"CPU, ms", number(refresh.cpu)},
		{"changes a second", fmt.Sprintf("%.1f", float64(r.changes)/r.churn.span.Seconds())},
		{"a change: requests", number(change.requests)},
		{"connections", number(change.connections)},
		{"kB in", number(change.in / 1000)},
		{"kB out", number(change.out / 1000)},
		{"CPU, ms", number(change.cpu)},
		{"API server, % of a core", fmt.Sprintf("%.1f", 100*r.churn.perSecond().cpu)},
		{"MiB", fmt.Sprintf("%.0f", daemon.MiB(r.churn.rss))},
		{"refreshes in the worst second", fmt.Sprint(r.churn.refreshes().worst())},
		{"an agent: % of a core", fmt.Sprintf("%.3f", 100*r.agentCPU.Seconds()/r.churn.span.Seconds())},
		{"RSS, MiB", fmt.Sprintf("%.1f", daemon.MiB(r.rss))},
		{"PSS, MiB", fmt.Sprintf("%.1f", daemon.MiB(r.pss))},
		{"restart: half, 99 of 100 back after, s", fmt.Sprintf("%.1f, %.1f", r.back.quantile(0.5).Seconds(), r.back.quantile(0.99).Seconds())},
		{"nodes, requests in the worst second", fmt.Sprintf("%d, %d", r.back.worst(), r.restart.worst())},
	}
}

// addTo adds the row to a file, below the table's head where that is new.
func (r *row) addTo(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var heads, cells []string
	for _, column := range r.columns() {
		heads, cells = append(heads, column[0]), append(cells, column[1])
	}
	text := "| " + strings.Join(cells, " | ") + " |\n"
	if info.Size() == 0 {
		text = "| " + strings.Join(heads, " | ") + " |\n" + strings.Repeat("|---", len(heads)) + "|\n" + text
	}
	_, err = f.WriteString(text)
	return err
}
