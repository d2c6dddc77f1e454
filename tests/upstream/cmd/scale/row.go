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
	agents       int
	published    time.Duration // from the first start to the last request
	idle, churn  spent
	changes      int
	refreshes    int
	worstRefresh int
	agentCPU     time.Duration // of one daemon during the changes
	rss, pss     int64         // of one daemon
	restart      requests
	back         requests // of these, each node's first that succeeded
}

// columns of the table, by name.
func (r *row) columns() [][2]string {
	per := func(amount float64) string { return fmt.Sprintf("%.2f", amount/float64(r.changes)) }
	hour := float64(time.Hour) / float64(r.idle.span) / float64(r.agents)
	return [][2]string{
		{"agents", fmt.Sprint(r.agents)},
		{"all published, s", fmt.Sprintf("%.1f", r.published.Seconds())},
		{"idle: requests an agent and hour", fmt.Sprintf("%.1f", hour*float64(len(r.idle.requests)))},
		{"kB", fmt.Sprintf("%.0f", hour*(r.idle.in+r.idle.out)/1000)},
		{"CPU, ms", fmt.Sprintf("%.0f", hour*float64(r.idle.cpu.Milliseconds()))},
		{"changes a second", fmt.Sprintf("%.1f", float64(r.changes)/r.churn.span.Seconds())},
		{"a change: requests", per(float64(len(r.churn.requests) - 2*r.refreshes))},
		{"kB in", per(r.churn.in / 1000)},
		{"kB out", per(r.churn.out / 1000)},
		{"CPU, ms", per(float64(r.churn.cpu.Milliseconds()))},
		{"API server, % of a core", fmt.Sprintf("%.1f", 100*r.churn.perSecond().cpu)},
		{"refreshes in the worst second", fmt.Sprint(r.worstRefresh)},
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
