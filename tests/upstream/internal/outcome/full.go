// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// account is the extender's service account in the manifests, also the name of its ClusterRole.
const account = "nrtd-extender"

// podsOfFree is how many pods of 8 CPUs a free node of the kind o8x8 admits: CPU 0 is reserved.
const podsOfFree = 7

// unboundAfter is how long after the last binding the other pods count as never bound.
const unboundAfter = 30 * time.Second

// Fullness is what becomes of the pods of a cluster that is nearly full.
type Fullness struct {
	Pods, Bound, Failed int           // Failed: tries of the scheduler
	Last                time.Duration // from the first binding to the last
	Evicted             int           // pods of a lower priority
}

// Full has a way bind one pod less than fit on `free` nodes of a cluster whose other nodes have enough CPUs in all, and too few on each
// NUMA node. With `low`, half of the other nodes have a pod of a lower priority instead, whose eviction would make room. The extender has
// the rights of its account in the manifests, and with Kills the one that
// answers is killed after the first binding and started again.
func (d *Driver) Full(ctx context.Context, way Way, nodes, free int, low bool, seed uint64) (f Fullness, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := d.newPlay(&way, &Workloads[0])
	if err != nil {
		return f, err
	}
	defer p.close()
	if p.plane, err = startPlane(d.program("controlplane"), d.Manifests, p.dir, nil); err != nil {
		return f, err
	}
	if err := p.connect(); err != nil {
		return f, err
	}
	if p.extenderConfig, err = p.useAccount(ctx); err != nil {
		return f, err
	}
	f.Pods = podsOfFree*free - 1
	if err := p.fill(ctx, nodes, free, low, seed); err != nil {
		return f, err
	}
	bindings := make(chan binding, f.Pods)
	if err := p.countBound(ctx, bindings); err != nil {
		return f, err
	}
	if err := p.startExtender(ctx); err != nil {
		return f, err
	}
	if err := p.startScheduler(); err != nil {
		return f, err
	}
	var first time.Time
	late := time.NewTimer(readyTimeout)
	defer late.Stop()
	for waits := true; waits && f.Bound < f.Pods; {
		select {
		case one := <-bindings:
			if f.Bound++; first.IsZero() {
				first = one.at
			}
			f.Last = one.at.Sub(first)
			late.Reset(unboundAfter)
			if f.Bound == 1 && d.Kills > 0 {
				if err := p.killExtender(); err != nil {
					return f, err
				}
			}
		case <-late.C:
			waits = false
		case <-ctx.Done():
			return f, ctx.Err()
		}
	}
	if f.Evicted, err = p.countEvicted(ctx); err != nil {
		return f, err
	}
	searches, err := stopScheduler(p.scheduler)
	p.scheduler = nil
	f.Failed = searches.Attempts - f.Bound
	if err == nil {
		err = p.failure()
	}
	return f, err
}

// useAccount gives the extender its account of the manifests, without the right to nominate if the way has it denied. It returns the kubeconfig.
func (p *play) useAccount(ctx context.Context) (string, error) {
	roles := p.client.RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, account, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if p.way.denied {
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/status") })
		if _, err := roles.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
			return "", err
		}
	}
	token, err := p.client.CoreV1().ServiceAccounts("nrtd").CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(p.kubeconfig("admin"))
	if err != nil {
		return "", err
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	path := filepath.Join(p.dir, account+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// lowNamespace is where the pods of a lower priority are.
const lowNamespace = "low"

// fill makes the nodes, their objects and the pods.
func (p *play) fill(ctx context.Context, nodes, free int, low bool, seed uint64) error {
	var objects [2]*topologyv1alpha2.NodeResourceTopology
	for i := range objects {
		var err error
		if objects[i], err = p.objectOfFull(ctx, i == 1); err != nil {
			return err
		}
	}
	order := rand.New(rand.NewPCG(seed, 8)).Perm(nodes) // the first ones are free
	occupied := func(i int) bool { return low && order[i] >= free && order[i]%2 == 1 }
	if err := p.createNodes(ctx, nodes, func(i int) *topologyv1alpha2.NodeResourceTopology {
		if order[i] < free || occupied(i) {
			return objects[1]
		}
		return objects[0]
	}); err != nil {
		return err
	}
	if low {
		if err := p.createLow(ctx, nodes, occupied); err != nil {
			return err
		}
	}
	return parallel(podsOfFree*free-1, func(i int) error {
		pod := (&Slot{MilliCPUs: 8000, Memory: gib >> 2, Guaranteed: true}).Pod(podName(i, 0))
		if low {
			pod.Spec.PriorityClassName = urgentClass
		}
		_, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// createLow makes a pod of a lower priority on each node that is occupied: the scheduler's own filter refuses the node, and the eviction of
// the pod would make room.
func (p *play) createLow(ctx context.Context, nodes int, occupied func(i int) bool) error {
	if err := p.createPriorities(ctx); err != nil {
		return err
	}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lowNamespace}}
	if _, err := p.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	owner := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}} // there is no controller
	if _, err := p.client.CoreV1().ServiceAccounts(lowNamespace).Create(ctx, owner, metav1.CreateOptions{}); err != nil {
		return err
	}
	return parallel(nodes, func(i int) error {
		if !occupied(i) {
			return nil
		}
		pod := (&Slot{MilliCPUs: 60000, Memory: gib}).Pod(podName(i, 0))
		pod.Namespace, pod.Spec.NodeName = lowNamespace, nodeName(i)
		_, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// countEvicted is how many of the pods of a lower priority have been evicted.
func (p *play) countEvicted(ctx context.Context) (evicted int, err error) {
	pods, err := p.client.CoreV1().Pods(lowNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			evicted++
		}
	}
	return evicted, nil
}

// objectOfFull is what nrtd publishes of a node that is free, or on each of whose NUMA nodes a CPU is held.
func (p *play) objectOfFull(ctx context.Context, free bool) (*topologyv1alpha2.NodeResourceTopology, error) {
	node, err := daemon.New(p.dir, fmt.Sprintf("free-%v", free), filepath.Join(p.Machines, "o8x8"), p.Nrtd, "", "0")
	if err != nil {
		return nil, err
	}
	node.Settings = settingsOfScale
	empty, err := node.Dump(ctx)
	if err != nil {
		return nil, err
	}
	zones, err := daemon.ZonesOf(empty, cpuset.New(0))
	if err != nil {
		return nil, err
	}
	var held []cpuset.CPUSet
	for _, zone := range zones {
		if !free {
			held = append(held, cpuset.New(zone.Allocatable.List()[0]))
		}
	}
	if _, err := node.Hold(daemon.All(zones), held...); err != nil {
		return nil, err
	}
	return node.Dump(ctx)
}
