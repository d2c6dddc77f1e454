// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

const nic = v1.ResourceName("vendor.com/nic")

const (
	keptStopped = "kubelet stopped: all resources and the fingerprint stay"
	keptKilled  = "kubelet killed: all resources and the fingerprint stay"
	keptAnother = "kubelet killed, then another one"
)

// total is what all zones have of a resource.
func total(object *topologyv1alpha2.NodeResourceTopology, name v1.ResourceName) (capacity, available int64) {
	for _, zone := range object.Zones {
		for _, r := range zone.Resources {
			if r.Name == string(name) {
				capacity += r.Capacity.Value()
				available += r.Available.Value()
			}
		}
	}
	return capacity, available
}

// keptSources has both sources tell of CPUs, memory, devices and pods, and then stops and kills who tells it.
func (b *bench) keptSources(ctx context.Context) error {
	root := filepath.Join(b.dir, "node-a", "var", "lib", "kubelet")
	node, zones, err := b.twoSockets("node-a", "--pod-resources", filepath.Join(root, "pod-resources", "kubelet.sock"), "--poll", "1s")
	if err != nil {
		return err
	}
	defer node.Kill()
	node.Settings[slices.Index(node.Settings, "--memory-manager-policy")+1] = "Static"
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	config := filepath.Join(b.dir, "kept.yaml")
	if err := os.WriteFile(config, []byte(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
memoryManagerPolicy: Static
systemReserved: {memory: 1Gi}
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
topologyManagerPolicy: best-effort
`), 0o644); err != nil {
		return err
	}
	start := func(devices ...[]int) (*daemon.Managers, error) {
		m, err := daemon.StartManagers(filepath.Join(filepath.Dir(b.nrtd), "upstream", "managers"),
			filepath.Join(b.machines, "seed-2s-32cpu"), root, config)
		if err != nil {
			return nil, err
		}
		return m, m.Register(string(nic), devices)
	}
	managers, err := start([]int{0}, []int{0}, []int{1})
	if err != nil {
		return err
	}
	defer func() { managers.Kill() }()
	if err := b.alone(ctx, node, zones, nil); err != nil {
		return err
	}
	pod := daemon.Pod("kept", "3")
	for _, list := range []v1.ResourceList{pod.Spec.Containers[0].Resources.Requests, pod.Spec.Containers[0].Resources.Limits} {
		list[nic] = resource.MustParse("1")
		list[v1.ResourceMemory] = resource.MustParse("4Gi")
	}
	cpus, err := managers.Admit(pod)
	if err != nil {
		return err
	}
	held, devices := []cpuset.CPUSet{cpus}, int64(3)
	whole := func(object *topologyv1alpha2.NodeResourceTopology) string {
		if wrong := daemon.CPUsWrong(zones, held)(object); wrong != "" {
			return wrong
		}
		if capacity, available := total(object, nic); capacity != devices || available < devices-1 {
			return fmt.Sprintf("%d of %d devices are available, want at least %d of %d", available, capacity, devices-1, devices)
		}
		if !slices.ContainsFunc(object.Attributes, func(a topologyv1alpha2.AttributeInfo) bool { return a.Name == "nodeTopologyPodsFingerprint" }) {
			return "there is no fingerprint"
		}
		return ""
	}
	if _, err := b.watch.Wait(ctx, node.Name, b.within(filesLimit), whole); err != nil {
		return fmt.Errorf("%w\n%s", err, node.Log())
	}
	// The memory's file is written last.
	if err := daemon.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	before := b.watch.Newest(node.Name).NodeResourceTopology
	unchanged := func(name string) {
		b.recovered[name] = true
		wrong := daemon.SameAs(before)(b.watch.Newest(node.Name).NodeResourceTopology)
		said := node.Logged("is still used")
		b.check(wrong == "" && said, "recovery: "+name, "said: %v %s%s", said, wrong, logUnless(wrong == "" && said, node))
	}
	managers.Signal(syscall.SIGSTOP)
	if err := daemon.Sleep(ctx, 8*time.Second); err != nil {
		return err
	}
	unchanged(keptStopped)
	managers.Signal(syscall.SIGCONT)
	if err := daemon.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	managers.Kill()
	if err := daemon.Sleep(ctx, 5*time.Second); err != nil {
		return err
	}
	unchanged(keptKilled)
	if managers, err = start([]int{0}, []int{1}, []int{1}, []int{1}); err != nil {
		return err
	}
	if cpus, err = managers.Admit(daemon.Pod("second", "6")); err != nil {
		return err
	}
	held, devices = []cpuset.CPUSet{cpus}, 4
	b.recovered[keptAnother] = true
	limit := b.within(backoffLimit)
	mended := time.Now()
	if at, err := b.watch.Wait(ctx, node.Name, limit, whole); err != nil {
		b.check(false, "recovery: "+keptAnother, "%v\n%s", err, node.Log())
	} else {
		b.check(true, "recovery: "+keptAnother, "right after %.2f s (limit %v)", max(0, at.Sub(mended)).Seconds(), limit)
	}
	return node.Stop()
}
