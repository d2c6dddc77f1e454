// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// replacedSocket kills the pod-resources server and starts another one, as a restart of the kubelet does; nrtd is told
// nothing but by the socket.
func (b *bench) replacedSocket(ctx context.Context) error {
	root := filepath.Join(b.dir, "kubelet")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	config, err := daemon.KubeletConfig(b.dir)
	if err != nil {
		return err
	}
	start := func() (*daemon.Managers, error) {
		return daemon.StartManagers(filepath.Join(filepath.Dir(b.nrtd), "upstream", "managers"),
			filepath.Join(b.machines, "seed-2s-32cpu"), root, config)
	}
	managers, err := start()
	if err != nil {
		return err
	}
	defer func() { managers.Kill() }()
	node, zones, err := b.twoSockets("node-a", "--pod-resources", filepath.Join(root, "pod-resources", "kubelet.sock"),
		"--state-files", "none", "--poll", "1s", "--node-write-interval", "1h")
	if err != nil {
		return err
	}
	defer node.Kill()
	if err := b.alone(ctx, node, zones, nil); err != nil {
		return err
	}
	// A run that has to do with the start, or with the first change, may show the first pod; a poll alone shows the second.
	held := []cpuset.CPUSet{}
	for _, name := range []string{"first", "second"} {
		cpus, err := managers.Admit(daemon.Pod(name, "2"))
		if err != nil {
			return err
		}
		held = append(held, cpus)
		b.right(ctx, "pod-resources alone: a pod, by the next poll (1 s)", node, zones, held, filesLimit)
	}
	managers.Kill()
	if err := daemon.Sleep(ctx, 3*time.Second); err != nil {
		return err
	}
	// What is published stays while nobody tells anything else.
	if wrong := daemon.CPUsWrong(zones, held)(b.watch.Newest(node.Name).NodeResourceTopology); wrong != "" {
		b.check(false, "pod-resources server gone: the object stays", "%s\n%s", wrong, node.Log())
	} else {
		b.check(true, "pod-resources server gone: the object stays", "as it was")
	}
	if managers, err = start(); err != nil {
		return err
	}
	cpus, err := managers.Admit(daemon.Pod("third", "6"))
	if err != nil {
		return err
	}
	b.right(ctx, "pod-resources socket replaced", node, zones, []cpuset.CPUSet{cpus}, backoffLimit)
	return node.Stop()
}
