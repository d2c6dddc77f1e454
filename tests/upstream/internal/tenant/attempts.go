// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// attempt is what somebody does again and again, with the least rights with which it can be done.
type attempt struct {
	kind  string
	what  string   // with its numbers
	nodes []string // that it may make unknown, or fill
	fills bool     // its pods are placed as others' are, so that they may fill any node
	pause time.Duration
	begin func(ctx context.Context) error // may be nil
	step  func(ctx context.Context, i int) error
	end   func(ctx context.Context) error // takes back what begin and step did besides pods
}

// draw is the source of an attempt's numbers.
type draw struct {
	*rand.Rand
	pods string // begins the names of the attempt's pods
}

// pod is the name of the attempt's pod of this number.
func (d draw) pod(i int) string { return fmt.Sprint(d.pods, "-", i) }

// upTo is a number from 1 to most; its order of magnitude is what is uniform.
func (d draw) upTo(most int) int {
	return int(math.Exp(d.Float64() * math.Log(float64(most)+0.999)))
}

func (d draw) pause() time.Duration {
	return []time.Duration{0, 10, 50, 100, 350}[d.IntN(5)] * time.Millisecond
}

// nodesOf are nodes without others' pods: what an attempt does to these is not what others' pods hold there.
func (d draw) nodesOf(t *Test, most int) (names []string) {
	free := t.names[len(kinds):]
	for _, i := range d.Perm(len(free))[:min(d.upTo(most), len(free))] {
		names = append(names, free[i])
	}
	return names
}

type kindOfAttempts struct {
	name string
	make func(t *Test, d draw) *attempt
}

// attemptKinds are by the tenant, by a node, and by the network.
var attemptKinds = []kindOfAttempts{
	{"pods by nodeName", podsByName}, {"pending pods", pendingPods}, {"changed pods", changedPods}, {"resized pods", resizedPods},
	{"scheduling gates", openedGates}, {"gangs", gangs}, {"budgets", budgets}, {"terminating pods", terminatingPods},
	{"reservations", reservations}, {"a node's object", nodeObject}, {"a node's metadata", nodeMetadata},
	{"statuses of a node's pods", podStatuses}, {"connections", connections}}

// drawAttempt is one attempt of a random kind.
func (t *Test) drawAttempt(d draw, kinds []kindOfAttempts) *attempt {
	k := kinds[d.IntN(len(kinds))]
	a := k.make(t, d)
	a.kind = k.name
	return a
}

// template is a pod of a random kind of hostile pods. All pods of an attempt together have some 20 000 containers, names or amounts.
func (d draw) template(count int) (what string, pod func(i int) *v1.Pod) {
	k := kindsOfPods[max(0, d.IntN(len(kindsOfPods)+6)-6)] // the first kind often: it costs the most to judge
	size := max(d.upTo(max(1, min(k.size, 20000/count))), d.upTo(max(1, min(k.size, 20000/count))))
	return fmt.Sprintf("%s of size %d", k.name, size), func(i int) *v1.Pod {
		pod := k.make(i, size)
		pod.Name = d.pod(i)
		return pod
	}
}

// createAs creates a pod as the user. A pod that the API server refuses is no attempt.
func (t *Test) createAs(ctx context.Context, pod *v1.Pod) error {
	_, err := t.user.CoreV1().Pods(userNamespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		t.mu.Lock()
		t.made = append(t.made, pod.Name)
		t.mu.Unlock()
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsAlreadyExists(err), tooLarge(err):
		return nil
	}
	return err
}

func (t *Test) deleteAs(ctx context.Context, name string) error {
	err := t.user.CoreV1().Pods(userNamespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// each does something for so many.
func each(count int, do func(i int) error) error {
	for i := range count {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// podsByName are created and deleted again; of some, the kubelet says meanwhile that it has rejected them.
func podsByName(t *Test, d draw) *attempt {
	count, nodes, rejected := max(d.upTo(150), d.upTo(150)), d.nodesOf(t, 3), d.IntN(2) == 0
	what, make := d.template(count)
	create := func(ctx context.Context, i int) error {
		pod := make(i)
		pod.Spec.NodeName = nodes[i%len(nodes)]
		return t.createAs(ctx, pod)
	}
	return &attempt{what: fmt.Sprintf("%d pods (%s) on %d nodes, rejected: %t", count, what, len(nodes), rejected), nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) error { return each(count, func(i int) error { return create(ctx, i) }) },
		step: func(ctx context.Context, i int) error {
			i %= count
			name := make(i).Name
			if rejected {
				if err := t.reject(ctx, name, v1.PodFailed, "TopologyAffinityError"); err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
			if err := t.deleteAs(ctx, name); err != nil {
				return err
			}
			return create(ctx, i)
		}}
}

// pendingPods are created, asked about by their scheduler, and deleted.
func pendingPods(t *Test, d draw) *attempt {
	count := d.upTo(150)
	what, make := d.template(count)
	c := client(patience)
	return &attempt{what: fmt.Sprintf("%d pending pods (%s)", count, what), fills: true, pause: d.pause(),
		step: func(ctx context.Context, i int) error {
			pod := make(i % count)
			if err := t.deleteAs(ctx, pod.Name); err != nil {
				return err
			}
			if err := t.createAs(ctx, pod); err != nil {
				return err
			}
			stored, err := t.user.CoreV1().Pods(userNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil {
				_, err = ask(t.extender, c, filterOf(stored, t.names))
			}
			return refusal(err)
		},
		end: func(context.Context) error { c.CloseIdleConnections(); return nil }}
}

// refusal: an answer of the extender that refuses the hostile request is as good as any.
func refusal(err error) error {
	if err != nil && strings.Contains(err.Error(), "filter: ") {
		return nil
	}
	return err
}

// changedPods get other labels and annotations.
func changedPods(t *Test, d draw) *attempt {
	count, labels, bytes, nodes := d.upTo(60), d.upTo(300), d.upTo(200<<10), d.nodesOf(t, 3)
	if d.IntN(2) == 0 {
		nodes = []string{""}
	}
	return &attempt{what: fmt.Sprintf("%d pods, %d labels, %d bytes of annotations", count, labels, bytes), nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) error {
			return each(count, func(i int) error {
				pod := guaranteed(d.pod(i), "1", "1Mi")
				pod.Spec.NodeName = nodes[i%len(nodes)]
				return t.createAs(ctx, pod)
			})
		},
		step: func(ctx context.Context, i int) error {
			changed := map[string]string{}
			for k := range labels {
				changed[fmt.Sprint("example.com/l", k)] = fmt.Sprint(i)
			}
			return t.patchAs(ctx, d.pod(i%count), types.MergePatchType, map[string]any{"metadata": map[string]any{
				"labels": changed, "annotations": map[string]string{"example.com/a": strings.Repeat(fmt.Sprint(i%10), bytes)}}})
		}}
}

// patchAs patches the user's pod of this name.
func (t *Test) patchAs(ctx context.Context, name string, kind types.PatchType, patch any, subresources ...string) error {
	_, err := t.user.CoreV1().Pods(userNamespace).Patch(ctx, name, kind, marshal(patch), metav1.PatchOptions{}, subresources...)
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// running are Guaranteed pods that their node's kubelet runs.
func (t *Test) running(ctx context.Context, d draw, count int, nodes []string) error {
	return each(count, func(i int) error {
		pod := guaranteed(d.pod(i), "1", "64Mi")
		pod.Spec.NodeName = nodes[i%len(nodes)]
		if err := t.createAs(ctx, pod); err != nil {
			return err
		}
		return t.asNode(pod.Spec.NodeName).patchStatus(ctx, pod.Name, map[string]any{"phase": "Running"})
	})
}

// resizedPods grow and shrink in place, by a user who has the right to patch pods/resize.
func resizedPods(t *Test, d draw) *attempt {
	count, nodes := d.upTo(60), d.nodesOf(t, 3)
	return &attempt{what: fmt.Sprintf("%d pods resized", count), nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) error {
			if err := t.allowResizes(ctx); err != nil {
				return err
			}
			return t.running(ctx, d, count, nodes)
		},
		step: func(ctx context.Context, i int) error {
			amounts := map[string]string{"cpu": fmt.Sprint(1 + i%7), "memory": fmt.Sprintf("%dMi", 64+i%512)}
			resources := map[string]any{"limits": amounts, "requests": amounts}
			return t.patchAs(ctx, d.pod(i%count), types.StrategicMergePatchType,
				map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "resources": resources}}}}, "resize")
		}}
}

// openedGates are removed one by one.
func openedGates(t *Test, d draw) *attempt {
	count, size := d.upTo(60), d.upTo(500)
	left := map[int]int{}
	create := func(ctx context.Context, i int) error {
		pod := gates(i, size)
		pod.Name, left[i] = d.pod(i), size
		return t.createAs(ctx, pod)
	}
	return &attempt{what: fmt.Sprintf("%d pods with %d gates", count, size), pause: d.pause(),
		begin: func(ctx context.Context) error { return each(count, func(i int) error { return create(ctx, i) }) },
		step: func(ctx context.Context, i int) error {
			i %= count
			if left[i] == 0 {
				if err := t.deleteAs(ctx, d.pod(i)); err != nil {
					return err
				}
				return create(ctx, i)
			}
			left[i]--
			return t.patchAs(ctx, d.pod(i), types.MergePatchType, map[string]any{"spec": map[string]any{"schedulingGates": gates(i, left[i]).Spec.SchedulingGates}})
		}}
}

// gangs are asked about in one candidate placement after the other. Of an API server of 1.36 or later the pods would have the group.
func gangs(t *Test, d draw) *attempt {
	count, groups := d.upTo(150), d.upTo(20)
	c := client(patience)
	return &attempt{what: fmt.Sprintf("%d pods in %d gangs", count, groups), pause: d.pause(), fills: true,
		step: func(ctx context.Context, i int) error {
			pod := asked(fmt.Sprint("gang-", i%count), map[v1.ResourceName]string{v1.ResourceCPU: "1", v1.ResourceMemory: "1Mi"})
			pod.Namespace = userNamespace
			body := strings.Replace(string(filterOf(pod, t.names).body), `"spec":{`,
				fmt.Sprintf(`"spec":{"schedulingGroup":{"podGroupName":"gang-%d"},`, i%groups), 1)
			_, err := ask(t.extender, c, request{"filter", []byte(body)})
			return refusal(err)
		},
		// Without a binding no placement was chosen.
		end: func(ctx context.Context) error {
			defer c.CloseIdleConnections()
			return each(count, func(i int) error {
				pod := asked(fmt.Sprint("gang-", i), map[v1.ResourceName]string{v1.ResourceCPU: "1", v1.ResourceMemory: "1Mi"})
				pod.Namespace = userNamespace
				_, err := ask(t.extender, c, filterOf(pod, nil))
				return refusal(err)
			})
		}}
}

// budgets select the user's pods by many expressions each, and change.
func budgets(t *Test, d draw) *attempt {
	count, expressions, pods, nodes := d.upTo(200), d.upTo(100), d.upTo(60), d.nodesOf(t, 3)
	budget := func(i, round int) *policyv1.PodDisruptionBudget {
		selector := &metav1.LabelSelector{}
		for k := range expressions {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: fmt.Sprint("key-", k), Operator: metav1.LabelSelectorOpNotIn, Values: []string{fmt.Sprint(round), "x", "y"}})
		}
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: d.pod(i)},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: selector}}
	}
	api := t.user.PolicyV1().PodDisruptionBudgets(userNamespace)
	return &attempt{what: fmt.Sprintf("%d budgets of %d expressions, %d pods", count, expressions, pods), nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) error {
			if err := t.running(ctx, d, pods, nodes); err != nil {
				return err
			}
			return each(count, func(i int) error {
				_, err := api.Create(ctx, budget(i, 0), metav1.CreateOptions{})
				return err
			})
		},
		step: func(ctx context.Context, i int) error {
			_, err := api.Patch(ctx, d.pod(i%count), types.MergePatchType, marshal(map[string]any{"spec": budget(i%count, i).Spec}), metav1.PatchOptions{})
			return err
		},
		end: func(ctx context.Context) error {
			return api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}}
}

// terminatingPods have a finalizer; they are deleted, and come back when it is gone.
func terminatingPods(t *Test, d draw) *attempt {
	count, nodes := d.upTo(100), d.nodesOf(t, 3)
	create := func(ctx context.Context, i int) error {
		pod := guaranteed(d.pod(i), fmt.Sprint(1+i%5), "64Mi")
		pod.Spec.NodeName, pod.Finalizers = nodes[i%len(nodes)], []string{"example.com/stay"}
		return t.createAs(ctx, pod)
	}
	release := func(ctx context.Context, i int) error {
		return t.patchAs(ctx, d.pod(i), types.MergePatchType, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	}
	return &attempt{what: fmt.Sprintf("%d pods", count), nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) error { return each(count, func(i int) error { return create(ctx, i) }) },
		step: func(ctx context.Context, i int) error {
			i %= count
			if err := t.deleteAs(ctx, d.pod(i)); err != nil {
				return err
			}
			if err := release(ctx, i); err != nil {
				return err
			}
			return create(ctx, i)
		},
		end: func(ctx context.Context) error { return each(count, func(i int) error { return release(ctx, i) }) }}
}

// annotationsMax are the bytes of annotations that the API server accepts for an object.
const annotationsMax = 250 << 10

// reservations are on the node's own Node, by the node.
func reservations(t *Test, d draw) *attempt {
	count, nodes := d.upTo(80), d.nodesOf(t, 1)
	bytes := min(32<<10, annotationsMax/count)
	size := d.upTo(max(1, bytes/90-3))
	node := t.asNode(nodes[0])
	return &attempt{what: fmt.Sprintf("%d reservations of %d containers", count, size), nodes: nodes, pause: d.pause(),
		step: func(ctx context.Context, i int) error {
			annotations := map[string]any{}
			for k := range count {
				pod := podOf("x", containers(size, func(c int) map[v1.ResourceName]string {
					return exclusive("memory", fmt.Sprint(4096*(1+(i+k+c)%7)))
				})...)
				for c := range pod.Spec.Containers {
					pod.Spec.Containers[c].Image, pod.Spec.Containers[c].Name = "", ""
				}
				annotations[fmt.Sprint("reservation.nrtd.dev/", k)] = string(marshal(map[string]any{"namespace": "x", "pod": fmt.Sprint("p", k),
					"created": metav1.NewTime(time.Now().Add(-time.Minute)), "expires": metav1.NewTime(time.Now().Add(50 * time.Minute)), "step": i,
					"spec": map[string]any{"containers": pod.Spec.Containers}}))
			}
			return node.patchNode(ctx, map[string]any{"metadata": map[string]any{"annotations": annotations}})
		},
		end: func(ctx context.Context) error { return t.plainNode(ctx, nodes[0]) }}
}

// nodeMetadata are labels and annotations of the node's own Node, by the node.
func nodeMetadata(t *Test, d draw) *attempt {
	labels, annotations, nodes := d.upTo(400), d.upTo(4000), d.nodesOf(t, 1)
	prefix := []string{"example.com/a", "reservation.nrtd.dev/", "nrtd.dev/", "scheduling.example.com/"}[d.IntN(4)]
	node := t.asNode(nodes[0])
	return &attempt{what: fmt.Sprintf("%d labels, %d annotations %s*", labels, annotations, prefix), nodes: nodes, pause: d.pause(),
		step: func(ctx context.Context, i int) error {
			l, a := map[string]any{}, map[string]any{}
			for k := range labels {
				l[fmt.Sprint("example.com/l", k)] = fmt.Sprint(i % 9)
			}
			for k := range annotations {
				a[fmt.Sprint(prefix, k)] = fmt.Sprint(i % 9)
			}
			return node.patchNode(ctx, map[string]any{"metadata": map[string]any{"labels": l, "annotations": a}})
		},
		end: func(ctx context.Context) error { return t.plainNode(ctx, nodes[0]) }}
}

// nodeObject is the node's own object with more zones, resources, costs and attributes, or with a damaged state, by the node.
func nodeObject(t *Test, d draw) *attempt {
	nodes := d.nodesOf(t, 1)
	zones := d.upTo(200)
	resources, attributes := d.upTo(max(1, 12000/zones)), d.upTo(1000)
	costs := d.IntN(2) == 0 && zones <= 100
	damaged := d.IntN(2) == 0
	at := d.Float64()
	node := t.asNode(nodes[0])
	var own *topologyv1alpha2.NodeResourceTopology
	return &attempt{what: fmt.Sprintf("%d zones of %d resources, %d attributes, costs: %t, damaged state: %t", zones, resources, attributes, costs, damaged),
		nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) (err error) { own, err = t.object(ctx, nodes[0]); return err },
		step: func(ctx context.Context, i int) error {
			object := own.DeepCopy()
			for z := range zones {
				zone := topologyv1alpha2.Zone{Name: fmt.Sprint("node-", len(own.Zones)+z), Type: "Node"}
				for r := range resources {
					zone.Resources = append(zone.Resources, topologyv1alpha2.ResourceInfo{Name: fmt.Sprintf("a/%x", r),
						Capacity: *amount(1), Allocatable: *amount(1), Available: *amount(i % 2)})
				}
				for k := range zones {
					if costs {
						zone.Costs = append(zone.Costs, topologyv1alpha2.CostInfo{Name: fmt.Sprint("node-", len(own.Zones)+k), Value: 10 + int64(z+k+i)%20})
					}
				}
				object.Zones = append(object.Zones, zone)
			}
			for k := range object.Attributes {
				if value := object.Attributes[k].Value; damaged && len(value) > 0 {
					middle := int(at * float64(len(value)))
					object.Attributes[k].Value = value[:middle] + fmt.Sprint(i%10) + value[middle+1:]
				}
			}
			for k := range attributes {
				object.Attributes = append(object.Attributes, topologyv1alpha2.AttributeInfo{Name: fmt.Sprint("a", k), Value: fmt.Sprint(i)})
			}
			return node.writeObject(ctx, object)
		},
		end: func(ctx context.Context) error { return node.writeObject(ctx, own) }}
}

// podStatuses are what the node's kubelet writes of the pods that run there.
func podStatuses(t *Test, d draw) *attempt {
	count, bytes, nodes := d.upTo(60), d.upTo(100<<10), d.nodesOf(t, 1)
	return &attempt{what: fmt.Sprintf("%d pods, %d bytes", count, bytes), nodes: nodes, pause: d.pause(),
		begin: func(ctx context.Context) error { return t.running(ctx, d, count, nodes) },
		step: func(ctx context.Context, i int) error {
			conditions := []map[string]any{}
			for k := range 1 + i%50 {
				conditions = append(conditions, map[string]any{"type": fmt.Sprint("example.com/c", k), "status": []string{"True", "False"}[i%2]})
			}
			return t.asNode(nodes[0]).patchStatus(ctx, d.pod(i%count), map[string]any{"phase": []string{"Running", "Pending"}[i/count%2],
				"message": strings.Repeat(fmt.Sprint(i%10), bytes), "conditions": conditions})
		}}
}

// connections come from an address of the loopback: that of the questions, or another.
func connections(t *Test, d draw) *attempt {
	held, most := make([]net.Conn, 0, 400), d.upTo(400)
	sent := [][]byte{nil, []byte("P"), []byte("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{"), []byte("\x16\x03\x01\x02\x00\x01"),
		[]byte("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), []byte(strings.Repeat("x", 100000))}[d.IntN(6)]
	from := []string{"127.0.0.1", "127.0.0.9"}[d.IntN(2)]
	pause := d.pause() / 10
	end := func(context.Context) error {
		for _, connection := range held {
			connection.Close()
		}
		held = held[:0]
		return nil
	}
	return &attempt{what: fmt.Sprintf("%d from %s, each sends %d bytes", most, from, len(sent)), pause: pause, end: end,
		step: func(ctx context.Context, i int) error {
			dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
			connection, err := dialer.DialContext(ctx, "tcp", t.extender.Address())
			if err != nil {
				return nil // of the listener's queue, or of the extender's limit
			}
			_ = connection.SetDeadline(time.Now().Add(100 * time.Millisecond))
			_, _ = connection.Write(sent) // it may be closed already
			if held = append(held, connection); len(held) > most {
				held[0].Close()
				held = held[1:]
			}
			return nil
		}}
}

// object is a node's object.
func (t *Test) object(ctx context.Context, name string) (*topologyv1alpha2.NodeResourceTopology, error) {
	content, err := t.dynamic.Resource(objects).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	object := &topologyv1alpha2.NodeResourceTopology{}
	text, err := content.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, object)
	}
	object.ManagedFields = nil
	return object, err
}
