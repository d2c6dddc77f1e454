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
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// account is the extender's service account in the manifests, also the name of its ClusterRole.
const account = "nrtd-extender"

// podsOfFree is how many pods of 8 CPUs a free node of the kind o8x8 admits: CPU 0 is reserved.
const podsOfFree = 7

// unboundAfter is how long after the last binding the other pods count as never bound.
const unboundAfter = 30 * time.Second

// Filling is a cluster that is nearly full: `Free` of its nodes are, and all others have enough CPUs in all, and too few on each NUMA node.
type Filling struct {
	Nodes, Free int
	Low         bool // half of the other nodes have a pod of a lower priority instead, whose eviction would make room
	Protected   bool // with Low: a PodDisruptionBudget allows no disruption of half of these pods
	Volumes     bool // each pod has a volume that is, or will be, in one of two zones; all nodes of the other zone are free
	Beyond      int  // so many pods more than fit without an eviction; else one less than fit
}

// pods is how many pods are to be bound.
func (c *Filling) pods() int {
	if c.Beyond > 0 {
		return podsOfFree*c.Free + c.Beyond
	}
	return podsOfFree*c.Free - 1
}

// Fullness is what becomes of the pods of a cluster that is nearly full.
type Fullness struct {
	Pods, Bound, Failed int           // Failed: tries of the scheduler
	Last                time.Duration // from the first binding to the last
	Evicted, Protected  int           // pods of a lower priority; those of them that were protected
}

// Full has a way bind pods in a cluster that is nearly full. The extender has the rights of its account in the manifests, and with Kills
// the one that answers is killed after the first binding and started again.
func (d *Driver) Full(ctx context.Context, way Way, c Filling, seed uint64) (f Fullness, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := d.newPlay(&way, &Workloads[0])
	if err != nil {
		return f, err
	}
	defer p.close()
	if p.plane, err = startPlane(d.controlPlane(), d.Manifests, p.dir, nil); err != nil {
		return f, err
	}
	if err := p.connect(); err != nil {
		return f, err
	}
	if p.extenderConfig, err = p.useAccount(ctx); err != nil {
		return f, err
	}
	f.Pods = c.pods()
	if err := p.fill(ctx, c, seed); err != nil {
		return f, err
	}
	low, protectedLow, err := p.countLow(ctx)
	if err != nil {
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
	left, protectedLeft, err := p.countLow(ctx)
	if err != nil {
		return f, err
	}
	f.Evicted, f.Protected = low-left, protectedLow-protectedLeft
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
func (p *play) fill(ctx context.Context, c Filling, seed uint64) error {
	var objects [2]*topologyv1alpha2.NodeResourceTopology
	for i := range objects {
		var err error
		if objects[i], err = p.objectOfFull(ctx, i == 1); err != nil {
			return err
		}
	}
	order := rand.New(rand.NewPCG(seed, 8)).Perm(c.Nodes) // the first ones are free
	occupied := func(i int) bool { return c.Low && order[i] >= c.Free && order[i]%2 == 1 }
	if err := p.createNodes(ctx, c.Nodes, func(i int) *topologyv1alpha2.NodeResourceTopology {
		if order[i] < c.Free || occupied(i) || c.Volumes && c.zoneOf(order[i]) != volumeZone {
			return objects[1]
		}
		return objects[0]
	}); err != nil {
		return err
	}
	if c.Low {
		if err := p.createLow(ctx, c, occupied); err != nil {
			return err
		}
	}
	if c.Volumes {
		if err := p.labelZones(ctx, c, order); err != nil {
			return err
		}
		if err := p.createClass(ctx); err != nil {
			return err
		}
		if err := p.provision(ctx); err != nil {
			return err
		}
	}
	return parallel(c.pods(), func(i int) error {
		pod := (&Slot{MilliCPUs: 8000, Memory: gib >> 2, Guaranteed: true}).Pod(podName(i, 0))
		if c.Low {
			pod.Spec.PriorityClassName = urgentClass
		}
		if c.Volumes {
			if err := p.addClaim(ctx, pod, i%2 == 1); err != nil {
				return err
			}
		}
		_, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// createLow makes a pod of a lower priority on each node that is occupied: the scheduler's own filter refuses the node, and the eviction of
// the pod would make room.
func (p *play) createLow(ctx context.Context, c Filling, occupied func(i int) bool) error {
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
	if c.Protected {
		if err := p.protect(ctx, lowNamespace); err != nil {
			return err
		}
	}
	return parallel(c.Nodes, func(i int) error {
		if !occupied(i) {
			return nil
		}
		pod := (&Slot{MilliCPUs: 60000, Memory: gib}).Pod(podName(i, 0))
		pod.Namespace, pod.Spec.NodeName = lowNamespace, nodeName(i)
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(0)) // no kubelet ends it
		if c.Protected && i%4 < 2 {
			pod.Labels = map[string]string{protectedLabel: "true"}
		}
		_, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// countLow is how many pods of a lower priority there are that are not being deleted, and how many of these are protected.
func (p *play) countLow(ctx context.Context) (all, protected int, err error) {
	pods, err := p.client.CoreV1().Pods(lowNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, 0, err
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			all++
			if pod.Labels[protectedLabel] != "" {
				protected++
			}
		}
	}
	return all, protected, nil
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
