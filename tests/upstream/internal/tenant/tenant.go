// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/outcome"
)

// The user and the others, each in a namespace.
const (
	userNamespace   = "tenant-a"
	victimNamespace = "tenant-b"
	markerNode      = "node-marker"
)

// Limits of what the user may cost the others. On a busy machine CPU times are several times those of an idle one: the first three
// limits are multiplied by Test.Slack.
const (
	requestLimit = 50 * time.Millisecond  // CPU time of one request for a hostile pod with all nodes, without parsing
	readingLimit = 100 * time.Millisecond // CPU time of parsing a megabyte, which delays no other request
	othersLimit  = 100 * time.Millisecond // CPU time of the process during another user's request: the requests before it, the request itself, and parsing in other threads
	healthLimit  = 2 * time.Second        // a thread that no request blocks
	readyLimit   = 30 * time.Second       // a new replica
	followLimit  = 30 * time.Second       // until what the user did is known
	assumedLimit = 2 * time.Second        // how long a deleted pod may stay assumed
	askedLimit   = 320 << 20              // additional memory during requests of megabytes: the Deployment's limit is 512 MiB
	peakLimit    = 128 << 20              // and while the pods are there
	restLimit    = 96 << 20               // and when they are gone
	returnLimit  = 75 * time.Second       // the extender gives free memory back once a minute
)

// Test is one run.
type Test struct {
	Cluster, Machines, Programs, Nrtd string
	Nodes                             int
	Slack                             int    // the limits of CPU times are so many times as long
	Short                             bool   // a quarter of the pods of each kind
	Only                              string // kinds of pods and of attempts whose names contain it
	Attempts, First                   int    // attempts from First on
	Seed                              uint64 // of attempts

	dir        string
	config     *rest.Config
	admin      kubernetes.Interface
	dynamic    dynamic.Interface
	user       kubernetes.Interface
	names      []string
	victims    []*v1.Pod
	made       []string // the user's pods that are there
	extender   *outcome.Extender
	nodes      map[string]*nodeIdentity
	scheduler  *http.Client // that asks about others' pods
	asked      int          // about these
	answersAll bool         // the extender names all nodes that admit a pod
	mu         sync.Mutex   // of made and nodes
	hurt       bool         // by the kind of pods under test
	passed     int
	failed     int
	rows       []row
}

// row is what one kind of pods cost.
type row struct {
	name                string
	made, refused, size int
	reading, request    time.Duration
	others, wall        time.Duration
	rss                 int64
	why                 string // the API server's answer where it refuses pods
}

// check counts one check and prints its failure.
func (t *Test) check(ok bool, name, format string, args ...any) bool {
	if ok {
		t.passed++
		return true
	}
	t.failed++
	t.hurt = true
	fmt.Printf("not ok %s: %s\n", name, fmt.Sprintf(format, args...))
	return false
}

// Run plays everything. It returns whether all checks passed.
func (t *Test) Run(ctx context.Context, dir string) (ok bool, err error) {
	t.dir = dir
	if err := t.connect(ctx); err != nil {
		return false, err
	}
	if err := t.makeNodes(ctx); err != nil {
		return false, fmt.Errorf("nodes: %w", err)
	}
	if err := t.start(ctx); err != nil {
		return false, err
	}
	defer func() { t.extender.Stop() }()
	if err := t.play(ctx); err != nil {
		return false, err
	}
	t.table()
	fmt.Printf("%d passed, %d failed\n", t.passed, t.failed)
	return t.failed == 0, nil
}

// connect makes the namespaces and the user: a service account with the role edit.
func (t *Test) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", t.kubeconfig())
	if err != nil {
		return err
	}
	config.QPS = -1
	t.config, t.nodes = config, map[string]*nodeIdentity{}
	if t.admin, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if t.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	for _, namespace := range []string{userNamespace, victimNamespace} {
		if _, err := t.admin.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		for _, name := range []string{"default", "user"} {
			if _, err := t.admin.CoreV1().ServiceAccounts(namespace).Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
	}
	// The controller that puts the parts of the role edit together is in kube-controller-manager, which does not run here.
	for _, role := range []string{"edit", "system:aggregate-to-edit", "system:aggregate-to-view"} {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(role, ":", "-")},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: userNamespace, Name: "user"}}}
		if _, err := t.admin.RbacV1().RoleBindings(userNamespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	token, err := t.admin.CoreV1().ServiceAccounts(userNamespace).CreateToken(ctx, "user", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	asUser := rest.AnonymousClientConfig(config)
	asUser.BearerToken, asUser.QPS = token.Status.Token, -1
	asUser.ContentType = "application/vnd.kubernetes.protobuf" // the most that fits into a request
	asUser.AcceptContentTypes = asUser.ContentType
	t.user, err = kubernetes.NewForConfig(asUser)
	return err
}

func (t *Test) kubeconfig() string { return filepath.Join(t.Cluster, "admin.kubeconfig") }

func (t *Test) start(ctx context.Context) (err error) {
	flags := []string{"--kubeconfig", t.kubeconfig()}
	if t.answersAll {
		flags = append(flags, "--answer", "all")
	}
	t.extender, err = outcome.StartExtender(ctx, t.Nrtd, filepath.Join(t.dir, "extender.log"), flags...)
	return err
}

// again starts the extender again where it was hurt: the kinds of pods that follow are to be judged by themselves.
func (t *Test) again(ctx context.Context) error {
	t.hurt = false
	t.extender.Stop()
	return t.start(ctx)
}

// play plays each kind of pods, what the user can do beside creating them, and the attempts.
func (t *Test) play(ctx context.Context) error {
	if t.First == 0 && t.Only != "attempts" {
		if err := t.playPods(ctx); err != nil {
			return err
		}
	}
	return t.playAttempts(ctx)
}

func (t *Test) playPods(ctx context.Context) error {
	d := t.others(ctx)
	err := daemon.Sleep(ctx, 3*time.Second)
	t.end(d)
	if err != nil {
		return err
	}
	t.rows = append(t.rows, row{name: "nothing", others: d.cpu, wall: d.wall, rss: t.rss()})
	quiet := t.rss()
	before, err := t.verdicts()
	if err != nil {
		return err
	}
	t.rights(ctx)
	for _, k := range kindsOfPods {
		if strings.Contains(k.name, t.Only) {
			if err := t.playKind(ctx, &k); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	most := quiet
	for _, r := range t.rows {
		most = max(most, r.rss)
	}
	t.check(most-quiet < askedLimit, "memory during requests", "%.0f MiB, %.0f before", daemon.MiB(most), daemon.MiB(quiet))
	peak := t.settled(ctx, quiet+peakLimit)
	t.check(peak-quiet < peakLimit, "memory with the pods", "%.0f MiB, %.0f before them", daemon.MiB(peak), daemon.MiB(quiet))
	t.replica(ctx, "all pods")
	if err := t.remove(ctx); err != nil {
		return err
	}
	t.followed(ctx, "the end of all")
	rest := t.settled(ctx, quiet+restLimit)
	t.rows = append(t.rows, row{name: "they are gone", rss: rest})
	t.check(rest-quiet < restLimit, "memory without the pods", "%.0f MiB, %.0f before them", daemon.MiB(rest), daemon.MiB(quiet))
	t.same(ctx, "others' verdicts", before)
	for _, deed := range []struct {
		name string
		do   func(ctx context.Context, before string) error
	}{{"mirror pods", t.mirrors}, {"rejected pods", t.rejected}, {"create and delete", t.loop}} {
		if strings.Contains(deed.name, t.Only) {
			if err := deed.do(ctx, before); err != nil {
				return fmt.Errorf("%s: %w", deed.name, err)
			}
			t.same(ctx, deed.name+": others' verdicts", before)
		}
	}
	return nil
}

// same: each node takes the pods that it took before.
func (t *Test) same(ctx context.Context, name, before string) {
	after, err := t.verdicts()
	if t.check(err == nil, name, "%v", err) {
		t.check(after == before, name, "%s", difference(before, after))
	}
	if t.hurt {
		if err := t.again(ctx); err != nil {
			t.check(false, name+": the extender starts again", "%v", err)
		}
	}
}

func (t *Test) rss() int64 {
	rss, err := t.extender.RSS()
	if err != nil {
		return 0 // it has ended, which its answers say
	}
	return rss
}

// settled is the memory once it is less, or when it is not less for long.
func (t *Test) settled(ctx context.Context, than int64) int64 {
	_ = t.until(ctx, returnLimit, func() bool { return t.rss() < than }) // the caller judges what it is
	return t.rss()
}

// playKind creates the pods, sends requests for each, and measures other users' requests meanwhile.
func (t *Test) playKind(ctx context.Context, k *kind) error {
	r := row{name: k.name, size: k.size}
	d := t.others(ctx)
	pods, err := t.create(ctx, k, &r)
	if err == nil {
		t.followed(ctx, k.name)
		for _, pod := range pods {
			if !k.bound {
				t.askAbout(pod, &r)
			}
		}
	}
	t.end(d)
	if err != nil {
		return err
	}
	if k.bound {
		r.request = 0
	}
	r.others, r.wall, r.rss = d.cpu, d.wall, t.rss()
	t.rows = append(t.rows, r)
	slack := time.Duration(t.Slack)
	t.check(r.request <= slack*requestLimit, k.name+": a request", "%v of CPU time, %v at most", r.request, slack*requestLimit)
	t.check(r.reading <= slack*readingLimit, k.name+": reading a request", "%v of CPU time a megabyte, %v at most", r.reading, slack*readingLimit)
	t.check(d.cpu <= slack*othersLimit, k.name+": others' questions", "%v of CPU time, %v at most; answered after %.2f s", d.cpu, slack*othersLimit, d.wall.Seconds())
	t.check(d.wrong == 0, k.name+": others' answers", "%d of %d are none: %s", d.wrong, d.asked, d.first)
	t.check(d.unready == 0, k.name+": ready", "%d times not: %s", d.unready, d.first)
	t.check(d.unwell == 0 && d.health < healthLimit, k.name+": healthy", "%d times not, answered after %.2f s: %s", d.unwell, d.health.Seconds(), d.first)
	t.replica(ctx, k.name)
	if !t.hurt {
		return nil
	}
	if err := t.remove(ctx); err != nil {
		return err
	}
	return t.again(ctx)
}

// create creates as many pods of the kind as there are to be, each as large as the API server takes.
func (t *Test) create(ctx context.Context, k *kind, r *row) (pods []*v1.Pod, err error) {
	count := k.count
	if t.Short {
		count = (count + 3) / 4
	}
	for i := range count {
		var pod *v1.Pod
		for ; ; r.size = r.size * 9 / 10 {
			pod = k.make(i, r.size)
			if pod.Name == "x" {
				pod.Name = fmt.Sprintf("%s-%d", strings.Trim(strings.Map(nameRune, k.name), "-"), i)
			}
			if k.bound {
				pod.Spec.NodeName = t.names[i%len(t.names)]
			}
			pod, err = t.user.CoreV1().Pods(userNamespace).Create(ctx, pod, metav1.CreateOptions{})
			if !tooLarge(err) || r.size < 2 {
				break
			}
		}
		switch {
		case err == nil:
			r.made++
			t.made = append(t.made, pod.Name)
			pods = append(pods, pod)
		case apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err):
			r.refused++
			if r.why == "" {
				r.why = err.Error()
			}
		default:
			return nil, err
		}
	}
	return pods, nil
}

func nameRune(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
		return c
	}
	return '-'
}

// tooLarge: the request, or what is stored of it.
func tooLarge(err error) bool {
	return err != nil && (apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "too large") ||
		strings.Contains(err.Error(), "ResourceExhausted") || strings.Contains(err.Error(), "larger than max") || strings.Contains(err.Error(), "must have at most"))
}

// askAbout sends requests as the scheduler does, with all nodes, and without nodes to measure the parsing.
func (t *Test) askAbout(pod *v1.Pod, r *row) {
	c := client(patience)
	defer c.CloseIdleConnections()
	var reading time.Duration
	for _, about := range []struct {
		names []string
		cost  *time.Duration
	}{{nil, &reading}, {t.names, &r.request}} {
		for _, q := range requestsFor(pod, about.names) {
			before := cpuOf(t.extender)
			_, err := ask(t.extender, c, q)
			spent := cpuOf(t.extender) - before
			if about.names == nil {
				mebibyte := spent * (1 << 20) / time.Duration(max(len(q.body), 1<<20))
				if r.reading == 0 || mebibyte < r.reading {
					r.reading = mebibyte
				}
			} else {
				spent -= reading
			}
			*about.cost = max(*about.cost, spent)
			if errors.Is(err, errAnswer) {
				t.check(false, r.name+": "+q.verb, "%v", err)
				r.request = max(r.request, patience)
				return
			}
		}
	}
}

// followed waits until the extender knows all that the API server has: a watch has its events in their order, so a pod
// that comes now, and takes a node of its own, is known after all others.
func (t *Test) followed(ctx context.Context, name string) {
	pods := t.admin.CoreV1().Pods(victimNamespace)
	pod := guaranteed("marker", "60", "1Gi")
	pod.Spec.NodeName = markerNode
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err == nil {
		err = t.until(ctx, followLimit, func() bool { return !t.takes(markerNode) })
	}
	if gone := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err == nil {
		err = gone
	}
	if err == nil {
		err = t.until(ctx, followLimit, func() bool { return t.takes(markerNode) })
	}
	t.check(err == nil, name+": known", "%v", err)
}

// takes: the node has room for many CPUs.
func (t *Test) takes(name string) bool {
	c := client(patience)
	defer c.CloseIdleConnections()
	pod := asked("marker-probe", map[v1.ResourceName]string{v1.ResourceCPU: "12", v1.ResourceMemory: "1Gi"})
	body, err := ask(t.extender, c, filterOf(pod, []string{name}))
	if err == nil {
		_, err = ask(t.extender, c, filterOf(pod, nil))
	}
	return err == nil && strings.Contains(string(body), name+`"],"Nodes"`)
}

func (t *Test) until(ctx context.Context, limit time.Duration, done func() bool) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, limit, true, func(context.Context) (bool, error) { return done(), nil })
}

// replica starts another extender, which has to become ready.
func (t *Test) replica(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	e, err := outcome.StartExtender(ctx, t.Nrtd, filepath.Join(t.dir, "replica.log"), "--kubeconfig", t.kubeconfig())
	if err == nil {
		e.Stop()
	}
	t.check(err == nil, name+": a new replica", "%v", err)
}

// remove deletes all pods that the user has.
func (t *Test) remove(ctx context.Context) error {
	t.made = nil
	return t.user.CoreV1().Pods(userNamespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})
}
