// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Devices are the plugin's, each with its NUMA node.
var Devices = map[string]int{"d1a": 1, "d1b": 1, "d3a": 3, "d3b": 3}

const config = "/var/lib/kubelet/config.yaml"

// set changes a line of the kubelet's configuration.
func set(key, value string) string {
	return fmt.Sprintf("sed -i '/^%s:/d' %s && echo '%s: %s' >>%s", key, config, key, value, config)
}

// Plan is every step of the groups that are chosen (of all when none is), in its order. The machine has four NUMA nodes of two
// CPUs and 1 GiB; CPU 0 is reserved.
func (t *Test) Plan(ctx context.Context, chosen []string) {
	t.Step("nothing runs", func() error { return nil })
	for _, group := range []struct {
		name  string
		steps func(context.Context)
	}{{"order", t.order}, {"pods", t.pods}, {"lives", t.lives}, {"restarts", t.restarts}, {"policies", t.policies}, {"hardware", t.hardware}} {
		if len(chosen) == 0 || slices.Contains(chosen, group.name) {
			group.steps(ctx)
		}
	}
}

// order measures in what order the kubelet writes.
func (t *Test) order(ctx context.Context) {
	t.Sampler.Begin("the order of writes")
	t.Check("the order of the kubelet's writes is measured", t.Measure(ctx))
}

func one(asks ...Ask) []Ask { return asks }

// pods: what containers can ask for.
func (t *Test) pods(ctx context.Context) {
	t.Step("a pod of one NUMA node", t.pod(ctx, "Running", Pod(t.Node, "one", true, nil, one(Ask{CPU: "2", Memory: "200Mi"}))))
	t.Step("a fraction of a CPU, Guaranteed", t.pod(ctx, "Running", Pod(t.Node, "fraction", true, nil, one(Ask{CPU: "500m", Memory: "100Mi"}))))
	t.Step("a pod that is not Guaranteed", t.pod(ctx, "Running", Pod(t.Node, "burstable", false, nil, one(Ask{CPU: "1", Memory: "100Mi"}))))
	t.Step("a pod of two NUMA nodes", t.pod(ctx, "Running", Pod(t.Node, "two", true, nil, one(Ask{CPU: "3", Memory: "1200Mi"}))))
	t.Step("a pod that is refused", t.pod(ctx, "TopologyAffinityError", Pod(t.Node, "refused", true, nil, one(Ask{CPU: "2", Memory: "100Mi"}))))
	t.Step("the refused one is deleted", t.gone(ctx, "refused"))
	t.Step("the pod of two NUMA nodes is deleted", t.gone(ctx, "two"))
	t.Step("several containers", t.pod(ctx, "Running", Pod(t.Node, "several", true, nil,
		one(Ask{CPU: "1", Memory: "50Mi"}, Ask{CPU: "1", Memory: "50Mi"}, Ask{CPU: "500m", Memory: "50Mi"}))))
	t.Step("all but the fraction are deleted", t.gone(ctx, "one", "burstable", "several"))
	t.Step("a CPU and a device", t.pod(ctx, "Running", Pod(t.Node, "device", true, nil, one(Ask{CPU: "1", Memory: "50Mi", Devices: 1}))))
	t.Step("a device without Guaranteed", t.pod(ctx, "Running", Pod(t.Node, "loose", false, nil, one(Ask{CPU: "100m", Devices: 1}))))
	t.Step("two devices of one NUMA node", t.pod(ctx, "Running", Pod(t.Node, "devices", true, nil, one(Ask{CPU: "2", Memory: "50Mi", Devices: 2}))))
	t.Step("huge pages", t.pod(ctx, "Running", Pod(t.Node, "huge", true, nil, one(Ask{CPU: "1", Memory: "50Mi", HugePages: "32Mi"}))))
	t.Step("all are deleted at once", t.gone(ctx, "fraction", "device", "loose", "devices", "huge"))
}

// lives: containers that end by themselves, or run before others.
func (t *Test) lives(ctx context.Context) {
	t.Step("a pod that completes", t.pod(ctx, "Succeeded", Pod(t.Node, "complete", true, nil, one(Ask{CPU: "2", Memory: "200Mi", Devices: 2, Seconds: 5}))))
	t.Step("another where it was", t.pod(ctx, "Running", Pod(t.Node, "next", true, nil, one(Ask{CPU: "2", Memory: "200Mi", Devices: 2}))))
	t.Step("the completed one is deleted", t.gone(ctx, "complete"))
	t.Step("one of two containers ends", t.pod(ctx, "1 has ended", Pod(t.Node, "half", true, nil,
		one(Ask{CPU: "1", Memory: "50Mi", Seconds: 4}, Ask{CPU: "1", Memory: "50Mi"}))))
	t.Step("both are deleted", t.gone(ctx, "next", "half"))
	t.Step("an init container with more than the container", t.pod(ctx, "Running", Pod(t.Node, "init", true,
		one(Ask{CPU: "2", Memory: "200Mi", Seconds: 4}), one(Ask{CPU: "1", Memory: "100Mi"}))))
	t.Step("a sidecar, an init container and a container", t.pod(ctx, "Running", Pod(t.Node, "sidecar", true,
		one(Ask{CPU: "1", Memory: "50Mi", Sidecar: true}, Ask{CPU: "1", Memory: "50Mi", Seconds: 4}), one(Ask{CPU: "1", Memory: "50Mi"}))))
	t.Step("both are deleted", t.gone(ctx, "init", "sidecar"))
	t.Step("a container that is started again", func() error {
		pod := Pod(t.Node, "again", true, nil, one(Ask{CPU: "1", Memory: "50Mi", Seconds: 3, Status: 1}))
		pod.Spec.RestartPolicy = "OnFailure"
		if err := t.pod(ctx, "Running", pod)(); err != nil {
			return err
		}
		time.Sleep(6 * time.Second)
		return nil
	})
	t.Step("it is deleted", t.gone(ctx, "again"))
}

// restarts: the kubelet and nrtd end and come back, with pods.
func (t *Test) restarts(ctx context.Context) {
	t.Step("two pods", func() error {
		if err := t.pod(ctx, "Running", Pod(t.Node, "stays", true, nil, one(Ask{CPU: "2", Memory: "200Mi", Devices: 1})))(); err != nil {
			return err
		}
		return t.pod(ctx, "Running", Pod(t.Node, "goes", true, nil, one(Ask{CPU: "1", Memory: "100Mi"})))()
	})
	t.Step("the kubelet is restarted", t.kubelet("systemctl stop kubelet"))
	t.Step("the kubelet is killed", t.kubelet("systemctl kill -s KILL kubelet; sleep 1; systemctl stop kubelet"))
	t.Step("a pod is deleted while the kubelet does not run", func() error {
		if err := shell("systemctl stop kubelet"); err != nil {
			return err
		}
		return t.Pods.Delete(ctx, "goes")
	})
	t.Step("the kubelet starts again", func() error {
		if err := t.kubelet("true")(); err != nil {
			return err
		}
		return t.Pods.Wait(ctx, "goes", "gone", State)
	})
	t.Step("the kubelet is killed while pods come", func() error {
		for _, name := range []string{"come-1", "come-2"} {
			if err := t.Pods.Create(ctx, Pod(t.Node, name, true, nil, one(Ask{CPU: "1", Memory: "50Mi"}))); err != nil {
				return err
			}
		}
		if err := t.kubelet("sleep 1; systemctl kill -s KILL kubelet; sleep 1; systemctl stop kubelet")(); err != nil {
			return err
		}
		for _, name := range []string{"come-1", "come-2"} {
			if err := t.Pods.Wait(ctx, name, "Running", State); err != nil {
				return err
			}
		}
		return nil
	})
	t.Step("nrtd is killed", func() error {
		return shell("systemctl kill -s KILL nrtd; sleep 1; timeout 120 sh -c 'until systemctl -q is-active nrtd; do sleep 1; done'")
	})
	t.Step("all are deleted", t.gone(ctx, "stays", "come-1", "come-2"))
}

// policies: the kubelet's policy is changed, its state file removed.
func (t *Test) policies(ctx context.Context) {
	const remove, memory = "rm /var/lib/kubelet/cpu_manager_state", "/var/lib/kubelet/memory_manager_state"
	t.Step("the option distribute-cpus-across-numa", t.kubelet("systemctl stop kubelet", remove,
		set("cpuManagerPolicyOptions", `{distribute-cpus-across-numa: "true"}`)))
	t.Step("a pod by this option", t.pod(ctx, "Running", Pod(t.Node, "spread", true, nil, one(Ask{CPU: "4", Memory: "1200Mi"}))))
	t.Step("the memory manager's file is removed, with this pod", func() error {
		if err := shell("systemctl stop kubelet; rm " + memory); err != nil {
			return err
		}
		t.Sampler.Forget(memory)
		return t.kubelet("sleep 3")()
	})
	t.Step("policy none, with a pod that has exclusive CPUs", func() error {
		t.Sampler.Change(func(s *Settings) { s.Static = false })
		return t.kubelet("systemctl stop kubelet", remove, set("cpuManagerPolicyOptions", "{}"), set("cpuManagerPolicy", "none"))()
	})
	t.Step("policy static, with that pod", func() error {
		t.Sampler.Change(func(s *Settings) { s.Static = true })
		return t.kubelet("systemctl stop kubelet", remove, set("cpuManagerPolicy", "static"))()
	})
	t.Step("it is deleted", t.gone(ctx, "spread"))
}

// cpu takes a CPU offline (0) or online (1). No file of the kubelet shows it, the kernel reports it.
func (t *Test) cpu(id, online int) func() error {
	return func() error {
		return shell(fmt.Sprintf("echo %d >/sys/devices/system/cpu/cpu%d/online", online, id))
	}
}

// hardware: CPUs and huge pages come and go.
func (t *Test) hardware(ctx context.Context) {
	t.Step("a pod", t.pod(ctx, "Running", Pod(t.Node, "one", true, nil, one(Ask{CPU: "2", Memory: "200Mi"}))))
	t.Step("a CPU that nobody has goes offline", t.cpu(7, 0))
	t.Step("it comes back", t.cpu(7, 1))
	t.Step("a CPU of the pod goes offline", t.cpu(3, 0))
	t.Step("and comes back", t.cpu(3, 1))
	t.Step("it is deleted", t.gone(ctx, "one"))
	t.Step("more huge pages, and a kubelet that sees them", func() error {
		t.Sampler.Change(func(*Settings) {})
		return t.kubelet("systemctl stop kubelet",
			"echo 32 >/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages", "rm /var/lib/kubelet/memory_manager_state")()
	})
	t.Step("a pod with them", t.pod(ctx, "Running", Pod(t.Node, "huge", true, nil, one(Ask{CPU: "2", Memory: "50Mi", HugePages: "60Mi"}))))
	t.Step("it is deleted", t.gone(ctx, "huge"))
}
