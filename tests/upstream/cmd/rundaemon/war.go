// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// exporters write one node's object each, as their sources do: zones of their own, another number each time.
var exporters = []struct {
	node, manager string
	write         func(b *bench, ctx context.Context, node, manager string, n int) error
}{
	{"node-a", "koordlet", patchZones},
	{"node-1", "node-feature-discovery-topology-updater", applyZones},
	{"node-2", "nri-resource-policy-topology-aware", updateAll},
}

// patchZones: koordlet and the resource-topology-exporter.
func patchZones(b *bench, ctx context.Context, node, manager string, n int) error {
	patch := fmt.Sprintf(`{"zones":[{"name":"node-0","type":"Node","resources":[{"name":"cpu","capacity":"99","allocatable":"99","available":"%d"}]}]}`, n%99)
	_, err := b.dynamic.Resource(daemon.Resource).Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	return err
}

// applyZones: NFD's topology-updater, by a forced server-side apply (nfd-topology-updater.go, updateNodeResourceTopology).
func applyZones(b *bench, ctx context.Context, node, manager string, n int) error {
	object := map[string]any{
		"apiVersion": daemon.Resource.GroupVersion().String(), "kind": "NodeResourceTopology", "metadata": map[string]any{"name": node},
		"attributes": []any{map[string]any{"name": "topologyManagerPolicy", "value": "none"}},
		"zones":      zonesOf("node-0", "Node", n),
	}
	_, err := b.dynamic.Resource(daemon.Resource).Apply(ctx, node, &unstructured.Unstructured{Object: object}, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// updateAll: nri-plugins, which get the object, replace its attributes and zones, and update it (pkg/agent/node-resource-topology.go,
// updateNrtCR). A conflict is logged there, and the next write is the next container's.
func updateAll(b *bench, ctx context.Context, node, manager string, n int) error {
	object, err := b.dynamic.Resource(daemon.Resource).Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.Object["attributes"] = []any{map[string]any{"name": "TopologyPolicy", "value": "topology-aware"}}
	object.Object["zones"] = zonesOf("NUMA node #0", "numa node", n)
	_, err = b.dynamic.Resource(daemon.Resource).Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func zonesOf(name, kind string, n int) []any {
	cpu := map[string]any{"name": "cpu", "capacity": "99", "allocatable": "99", "available": fmt.Sprint(n % 99)}
	return []any{map[string]any{"name": name, "type": kind, "resources": []any{cpu}}}
}

// writeWar has another exporter rewrite each object each second while the node changes, and then leave.
func (b *bench) writeWar(ctx context.Context) error {
	span, refresh := b.pick(30*time.Second, 100*time.Second), b.pick(40*time.Second, 3*time.Minute)
	nodes := make([]*daemon.Node, len(exporters))
	var all []daemon.Zone
	held := []cpuset.CPUSet{}
	for i, exporter := range exporters {
		node, zones, err := b.twoSockets(exporter.node, "--refresh", refresh.String(), "--poll", "1s")
		if err != nil {
			return err
		}
		defer node.Kill()
		if err := b.alone(ctx, node, zones, held); err != nil {
			return err
		}
		nodes[i], all = node, zones
	}
	n, begin := 0, time.Now()
	for ; time.Since(begin) < span; n++ {
		held = of(all, 1+n%8, 1+n%5)
		for i, exporter := range exporters {
			if err := exporter.write(b, ctx, exporter.node, exporter.manager, n); err != nil {
				return err
			}
			if _, err := nodes[i].Hold(daemon.All(all), held...); err != nil {
				return err
			}
		}
		if err := daemon.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	for i, exporter := range exporters {
		if err := b.checkWar(nodes[i], exporter.manager, n, begin, refresh); err != nil {
			return err
		}
	}
	end := time.Now()
	for i, exporter := range exporters {
		_, err := b.watch.Wait(ctx, exporter.node, b.within(refresh+refresh/10+filesLimit), daemon.CPUsWrong(all, held))
		b.check(err == nil, "write war: "+exporter.manager+" leaves", "the object is right after %v, a refresh is %v%s",
			time.Since(end).Round(time.Second), refresh, errorText(err))
		if err := nodes[i].Stop(); err != nil {
			return err
		}
	}
	return nil
}

// checkWar: nrtd has given way, and names the other exporter in its log and metrics. nrtd writes at its start,
// after the first rewrite, and at each refresh. The time between two refreshes is at least nine tenths of --refresh; the first may
// come sooner.
func (b *bench) checkWar(node *daemon.Node, manager string, n int, begin time.Time, refresh time.Duration) error {
	writes, err := node.Writes("nrt")
	since := time.Since(begin).Round(time.Second)
	limit := 2 + 1 + int(since/(refresh-refresh/10))
	if err != nil {
		return err
	}
	metrics, err := node.Metrics()
	if err != nil {
		return err
	}
	lines := 0
	for _, line := range node.Errors() {
		if strings.Contains(line, "'"+manager+"' keeps rewriting") {
			lines++
		}
	}
	right := writes >= 2 && writes <= float64(limit)
	b.check(right, "write war", "%.0f writes of nrtd beside %d of %s in %v (2 to %d)", writes, n, manager, since, limit)
	if !right {
		fmt.Println(node.Log())
	}
	b.check(lines >= 1 && lines <= 1+int(since/time.Minute), "write war: is said", "%d lines about %s in %v (one a minute)", lines, manager, since)
	b.check(metrics[fmt.Sprintf(`nrtd_other_writer{manager="%s"}`, manager)] == 1, "write war: is measured", "nrtd_other_writer names %s", manager)
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
