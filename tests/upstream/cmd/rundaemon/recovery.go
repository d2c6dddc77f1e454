// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
)

// The longest that a retry may be away: nrtd's backoff ends at 30 s; a refresh of 2 s comes a tenth later at most.
const (
	backoffLimit = 35 * time.Second
	refreshLimit = 3 * time.Second
	filesLimit   = 2 * time.Second
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const crdName = "noderesourcetopologies.topology.node.k8s.io"

func absent(object *topologyv1alpha2.NodeResourceTopology) string {
	if object != nil {
		return "the object is there"
	}
	return ""
}

// incident is one way to go wrong. While it lasts the node's state changes, unless `unchanged`.
type incident struct {
	name      string
	limit     time.Duration // from the end of mend to the right object
	begin     func(context.Context) error
	mend      func(context.Context) error
	unchanged bool
	says      string // logged meanwhile, "" = nothing in particular
}

// recovery breaks what nrtd depends on, one thing after the other, under one process of it.
func (b *bench) recovery(ctx context.Context) error {
	node, zones, err := b.twoSockets("node-a", "--refresh", "2s", "--poll", "1s", "--node-write-interval", "500ms")
	if err != nil {
		return err
	}
	defer node.Kill()
	held := []cpuset.CPUSet{}
	if err := b.alone(ctx, node, zones, held); err != nil {
		return err
	}
	for i, incident := range b.incidents(node, zones, &held) {
		if !b.wants(incident.name) {
			continue
		}
		if err := incident.begin(ctx); err != nil {
			return fmt.Errorf("%s: %w", incident.name, err)
		}
		if !incident.unchanged {
			held = of(zones, 1+i, 2+i)
			if _, err := node.Hold(daemon.All(zones), held...); err != nil {
				return err
			}
		}
		said := incident.says == "" || waitUntil(ctx, 15*time.Second, func() bool { return node.Logged(incident.says) })
		if err := incident.mend(ctx); err != nil {
			return fmt.Errorf("%s: %w", incident.name, err)
		}
		b.right(ctx, incident.name, node, zones, held, incident.limit)
		if incident.says != "" {
			b.check(said, incident.name+": is said", "the log has %q%s", incident.says, logUnless(said, node))
		}
	}
	if err := node.Stop(); err != nil {
		return err
	}
	for _, test := range []struct {
		run  func(context.Context) error
		rows []string
	}{
		{b.expiredToken, []string{"token expired, then renewed"}},
		{b.lateKubelet, []string{"kubelet directory absent, then present", "kubelet directory replaced"}},
		{b.replacedSocket, []string{"pod-resources alone: a pod, by the next poll (1 s)", "pod-resources socket replaced"}},
		{b.keptSources, []string{keptStopped, keptKilled, keptAnother}},
	} {
		if !slices.ContainsFunc(test.rows, b.wants) {
			continue
		}
		if err := test.run(ctx); err != nil {
			b.check(false, "recovery", "%v", err)
		}
	}
	if b.rows != "" {
		return nil
	}
	return b.compareTable()
}

// wants tells whether a row was asked for.
func (b *bench) wants(row string) bool {
	return b.rows == "" || slices.Contains(strings.Split(b.rows, ";"), row)
}

// compareTable looks that the table of what nrtd recovers from has what was shown here, and nothing else of this program.
func (b *bench) compareTable() error {
	const table, program = "tests/scenario/recovery.md", "| tests/upstream/run.sh: "
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if _, name, found := strings.Cut(strings.TrimSuffix(line, " |\n"), program); found {
			listed[name] = true
		}
	}
	b.check(len(listed) > 0 && maps.Equal(listed, b.recovered), "recovery: table", "%s lists %d rows of this program, %d were tried %v",
		table, len(listed), len(b.recovered), slices.Sorted(maps.Keys(b.recovered)))
	return nil
}

func logUnless(ok bool, node *daemon.Node) string {
	if ok {
		return ""
	}
	return ": false\n" + node.Log()
}

// right waits for the right object and prints how long it took from now.
func (b *bench) right(ctx context.Context, name string, node *daemon.Node, zones []daemon.Zone, held []cpuset.CPUSet, limit time.Duration) {
	limit = b.within(limit)
	b.recovered[name] = true
	mended := time.Now()
	at, err := b.watch.Wait(ctx, node.Name, limit, daemon.CPUsWrong(zones, held))
	if err != nil {
		b.check(false, "recovery: "+name, "%v\n%s", err, node.Log())
		return
	}
	b.check(true, "recovery: "+name, "right after %.2f s (limit %v)", max(0, at.Sub(mended)).Seconds(), limit)
}

func waitUntil(ctx context.Context, within time.Duration, done func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, within, true, func(context.Context) (bool, error) {
		return done(), nil
	}) == nil
}

func (b *bench) incidents(node *daemon.Node, zones []daemon.Zone, held *[]cpuset.CPUSet) []incident {
	away := b.pick(5*time.Second, time.Minute)
	nrts := b.dynamic.Resource(daemon.Resource)
	nothing := func(context.Context) error { return nil }
	var crd *unstructured.Unstructured
	return []incident{{
		name: "object deleted", limit: refreshLimit, unchanged: true, mend: nothing,
		begin: func(ctx context.Context) error {
			if err := nrts.Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			_, err := b.watch.Wait(ctx, node.Name, 5*time.Second, absent)
			return err
		},
	}, {
		name: "object edited", limit: refreshLimit, unchanged: true, mend: nothing,
		begin: func(ctx context.Context) error {
			_, err := nrts.Patch(ctx, node.Name, types.MergePatchType, []byte(`{"zones":[]}`), metav1.PatchOptions{FieldManager: "somebody"})
			if err != nil {
				return err
			}
			_, err = b.watch.Wait(ctx, node.Name, 5*time.Second, func(object *topologyv1alpha2.NodeResourceTopology) string {
				if object == nil || len(object.Zones) > 0 {
					return "the object is not edited yet"
				}
				return ""
			})
			return err
		},
	}, {
		name: "API server killed", limit: backoffLimit, says: "onnect",
		begin: func(ctx context.Context) error {
			if err := b.clusterScript("kill", b.cluster); err != nil {
				return err
			}
			return daemon.Sleep(ctx, away/2)
		},
		mend: func(ctx context.Context) error {
			if err := daemon.Sleep(ctx, away/2); err != nil {
				return err
			}
			return b.clusterScript("start", b.cluster, "-resume", "-timeout", "12h")
		},
	}, {
		name: "CRD deleted and created again", limit: backoffLimit, says: "CRD",
		begin: func(ctx context.Context) (err error) {
			if crd, err = b.dynamic.Resource(crds).Get(ctx, crdName, metav1.GetOptions{}); err != nil {
				return err
			}
			return b.deleteCRD(ctx)
		},
		mend: func(ctx context.Context) error { return b.createCRD(ctx, crd) },
	}}
}

// clusterScript runs cluster.sh, which is beside this module's folder of programs.
func (b *bench) clusterScript(args ...string) error {
	out, err := exec.Command("tests/upstream/cluster.sh", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cluster.sh %v: %w: %s", args, err, out)
	}
	return nil
}

func (b *bench) deleteCRD(ctx context.Context) error {
	if err := b.dynamic.Resource(crds).Delete(ctx, crdName, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if !waitUntil(ctx, 30*time.Second, func() bool {
		_, err := b.dynamic.Resource(daemon.Resource).List(ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	}) {
		return errors.New("the objects are served although the CRD is deleted")
	}
	return nil
}

func (b *bench) createCRD(ctx context.Context, old *unstructured.Unstructured) error {
	crd := old.DeepCopy()
	crd.Object["metadata"] = map[string]any{"name": crdName, "annotations": old.Object["metadata"].(map[string]any)["annotations"]}
	delete(crd.Object, "status")
	if _, err := b.dynamic.Resource(crds).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	if !waitUntil(ctx, 30*time.Second, func() bool {
		_, err := b.dynamic.Resource(daemon.Resource).List(ctx, metav1.ListOptions{})
		return err == nil
	}) {
		return errors.New("the objects are not served although the CRD is there")
	}
	return nil
}

// expiredToken gives nrtd a token file whose token ends while it runs, as when the kubelet could not renew it in time.
func (b *bench) expiredToken(ctx context.Context) error {
	node, zones, err := b.twoSockets("node-a", "--refresh", "2s", "--poll", "1s")
	if err != nil {
		return err
	}
	defer node.Kill()
	// The server takes a token for a minute longer than it says, and remembers for 10 s that it did.
	const lifetime = -45
	token := filepath.Join(b.dir, "token")
	renew := func(seconds int64) error {
		text, err := b.token(ctx, seconds)
		if err != nil {
			return err
		}
		if err := os.WriteFile(token+".new", []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(token+".new", token)
	}
	config, err := clientcmd.LoadFromFile(node.Kubeconfig)
	if err != nil {
		return err
	}
	for _, user := range config.AuthInfos {
		user.Token, user.TokenFile = "", token
	}
	node.Kubeconfig = filepath.Join(b.dir, "token.kubeconfig")
	if err := clientcmd.WriteToFile(*config, node.Kubeconfig); err != nil {
		return err
	}
	if err := renew(lifetime); err != nil {
		return err
	}
	if err := b.alone(ctx, node, zones, nil); err != nil {
		return err
	}
	// A refused refresh shows that the server does not take it any more.
	expired := waitUntil(ctx, 40*time.Second, func() bool { return node.Logged("<3>") })
	b.check(expired, "token expired: is said", "an error is logged%s", logUnless(expired, node))
	held := of(zones, 9, 9)
	if _, err := node.Hold(daemon.All(zones), held...); err != nil {
		return err
	}
	if err := daemon.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	early := daemon.CPUsWrong(zones, held)(b.watch.Newest(node.Name).NodeResourceTopology) == ""
	b.check(!early, "token expired: nothing is written", "the object has the change: %v, want false", early)
	if err := renew(3600); err != nil {
		return err
	}
	b.right(ctx, "token expired, then renewed", node, zones, held, backoffLimit)
	return node.Stop()
}

// token signs a token of node-a's agent as the API server does.
func (b *bench) token(ctx context.Context, seconds int64) (string, error) {
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(b.cluster, "pki", "service-account.key"))
	if err != nil {
		return "", err
	}
	generator, err := serviceaccount.JWTTokenGenerator("https://kubernetes.default.svc", key)
	if err != nil {
		return "", err
	}
	account, err := b.client.CoreV1().ServiceAccounts("nrtd").Get(ctx, "nrtd", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	pod, err := b.client.CoreV1().Pods("nrtd").Get(ctx, "nrtd-node-a", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	public, private, err := serviceaccount.Claims(core.ServiceAccount{ObjectMeta: account.ObjectMeta},
		&core.Pod{ObjectMeta: pod.ObjectMeta}, nil, nil, seconds, 0, []string{"https://kubernetes.default.svc"})
	if err != nil {
		return "", err
	}
	return generator.GenerateToken(ctx, public, private)
}

// lateKubelet starts nrtd before there is any directory of the kubelet, then takes that away and brings it back.
func (b *bench) lateKubelet(ctx context.Context) error {
	// Without what makes it look again for another reason.
	node, zones, err := b.twoSockets("node-a", "--poll", "0", "--node-write-interval", "1h")
	if err != nil {
		return err
	}
	defer node.Kill()
	if err := os.RemoveAll(node.Kubelet()); err != nil {
		return err
	}
	if err := b.alone(ctx, node, zones, nil); err != nil {
		return err
	}
	// The start's last run is over.
	if err := daemon.Sleep(ctx, 3*time.Second); err != nil {
		return err
	}
	held := of(zones, 5, 6)
	if _, err := node.Hold(daemon.All(zones), held...); err != nil {
		return err
	}
	b.right(ctx, "kubelet directory absent, then present", node, zones, held, filesLimit)
	if err := os.Rename(node.Kubelet(), node.Kubelet()+".old"); err != nil {
		return err
	}
	if err := daemon.Sleep(ctx, time.Second); err != nil {
		return err
	}
	held = of(zones, 7, 3)
	if _, err := node.Hold(daemon.All(zones), held...); err != nil {
		return err
	}
	b.right(ctx, "kubelet directory replaced", node, zones, held, filesLimit)
	return node.Stop()
}
