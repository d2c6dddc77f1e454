// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/volcano"
)

// issue is the node's name and label, and the beginning of the pods' names.
const issue = "issue-5500"

// The pods of the issue on a NUMA node with 16 free CPUs; the other NUMA node is full.
const large, small = 12, 4

// issue5500 gives the scheduler the pods of volcano-sh/volcano#5500: a large pod, which is deleted while a small one comes, and then another
// large one, for which there is room. The scheduler assumes the CPUs of each pod that it binds. It forgets them when the node's object has
// no fewer free CPUs than before, and, where the CRD has podAllocations, when the object lists the pod. Without podAllocations nrtd changes
// the object at each refresh, so that the scheduler forgets the CPUs of a pod that no object showed.
func (b *bench) issue5500(ctx context.Context) error {
	node, err := b.start(ctx, issue, issue, "--refresh=20s")
	if err != nil {
		return err
	}
	defer node.agent.Kill()
	free := b.maker.Zones[node.Machine][0].CPUs.Difference(reserved(node)).List()
	largeCPUs, smallCPUs := cpuset.New(free[:large]...), cpuset.New(free[:small]...)
	node.held["other"] = b.maker.Zones[node.Machine][1].CPUs.Difference(reserved(node))
	if err := b.hold(ctx, node); err != nil {
		return err
	}

	// nrtd publishes each change: the first pod is in the object before it ends.
	first, err := b.bound(ctx, "published-1", large)
	if err != nil {
		return err
	}
	node.held[first] = largeCPUs
	if err := b.hold(ctx, node); err != nil {
		return err
	}
	if err := b.remove(ctx, issue+"-published-1"); err != nil {
		return err
	}
	second, err := b.bound(ctx, "published-2", small)
	if err != nil {
		return err
	}
	delete(node.held, first)
	node.held[second] = smallCPUs
	if err := b.hold(ctx, node); err != nil {
		return err
	}
	if err := b.third(ctx, "published-3", "each change is published: the third pod gets the room"); err != nil {
		return err
	}
	if err := b.end(ctx, issue); err != nil {
		return err
	}
	delete(node.held, second)
	if err := b.hold(ctx, node); err != nil {
		return err
	}

	// The first pod begins and ends between two publications, as with an exporter that looks every few seconds.
	if err := syscall.Kill(node.agent.PID(), syscall.SIGSTOP); err != nil {
		return err
	}
	if _, err := b.bound(ctx, "missed-1", large); err != nil {
		return err
	}
	if err := b.remove(ctx, issue+"-missed-1"); err != nil {
		return err
	}
	if second, err = b.bound(ctx, "missed-2", small); err != nil {
		return err
	}
	node.held[second] = smallCPUs
	if err := syscall.Kill(node.agent.PID(), syscall.SIGCONT); err != nil {
		return err
	}
	if err := b.hold(ctx, node); err != nil {
		return err
	}
	title := "the first pod is in no object: the third pod gets the room"
	if !b.podAllocations {
		title += " at the next refresh"
	}
	if err := b.third(ctx, "missed-3", title); err != nil {
		return err
	}
	return node.agent.Stop()
}

func reserved(node *live) cpuset.CPUSet {
	set, _ := cpuset.Parse(node.Reserved)
	return set
}

// bound creates a pod of the issue, waits until the scheduler has bound it, and returns its UID.
func (b *bench) bound(ctx context.Context, name string, cpus int) (string, error) {
	pod := volcano.Pod{Containers: []string{fmt.Sprint(cpus)}, Guaranteed: true, Policy: "restricted"}
	if err := b.create(ctx, pod.Object(), issue+"-"+name, issue); err != nil {
		return "", err
	}
	if node, said := b.landed(ctx, issue+"-"+name, nil); node == "" {
		return "", fmt.Errorf("%s is not bound: %s", name, said)
	}
	return b.uid(ctx, issue+"-"+name), nil
}

// third creates the last pod of the issue and checks whether the scheduler finds a node for it.
func (b *bench) third(ctx context.Context, name, title string) error {
	pod := volcano.Pod{Containers: []string{fmt.Sprint(large)}, Guaranteed: true, Policy: "restricted"}
	if err := b.create(ctx, pod.Object(), issue+"-"+name, issue); err != nil {
		return err
	}
	begun := time.Now()
	node, said := b.landed(ctx, issue+"-"+name, nil)
	b.check(node != "", issue+": "+title, "the pod has no node, the scheduler says %q", said)
	fmt.Printf("volcano-scheduler: bound after %.1f s\n", time.Since(begun).Seconds())
	return nil
}
