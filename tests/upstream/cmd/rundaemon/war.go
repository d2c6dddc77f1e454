// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// rewrite is one write of another exporter: zones of its own, another number each time.
func (b *bench) rewrite(ctx context.Context, name string, n int) error {
	patch := fmt.Sprintf(`{"zones":[{"name":"node-0","type":"Node","resources":[{"name":"cpu","capacity":"99","allocatable":"99","available":"%d"}]}]}`, n%99)
	_, err := b.dynamic.Resource(daemon.Resource).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "koordlet"})
	return err
}

// writeWar has another exporter rewrite the object each second while the node changes, and then leave.
func (b *bench) writeWar(ctx context.Context) error {
	span, refresh := b.pick(30*time.Second, 100*time.Second), b.pick(40*time.Second, 3*time.Minute)
	node, zones, err := b.twoSockets("node-a", "--refresh", refresh.String(), "--poll", "1s")
	if err != nil {
		return err
	}
	defer node.Kill()
	held := []cpuset.CPUSet{}
	if err := b.alone(ctx, node, zones, held); err != nil {
		return err
	}
	n, begin := 0, time.Now()
	for ; time.Since(begin) < span; n++ {
		if err := b.rewrite(ctx, node.Name, n); err != nil {
			return err
		}
		held = of(zones, 1+n%8, 1+n%5)
		if _, err := node.Hold(daemon.All(zones), held...); err != nil {
			return err
		}
		if err := daemon.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	writes, err := node.Writes("nrt")
	if err != nil {
		return err
	}
	lines := 0
	for _, line := range node.Errors() {
		if strings.Contains(line, "'koordlet' keeps rewriting") {
			lines++
		}
	}
	b.check(writes >= 2 && writes <= 3, "write war", "%.0f writes of nrtd beside %d of another exporter in %v (2 or 3)", writes, n, span)
	b.check(lines >= 1 && lines <= 1+int(time.Since(begin)/time.Minute), "write war: is said", "%d lines in %v (one a minute)", lines, span)
	end := time.Now()
	_, err = b.watch.Wait(ctx, node.Name, b.within(refresh+refresh/10+filesLimit), daemon.CPUsWrong(zones, held))
	b.check(err == nil, "write war: the other leaves", "the object is right after %v, a refresh is %v%s", time.Since(end).Round(time.Second), refresh, errorText(err))
	return node.Stop()
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
