// SPDX-License-Identifier: Apache-2.0

// benchpeers measures nrtd, NFD's topology-updater and the resource-topology-exporter beside each other on this machine,
// one after the other, fed by the same kubelet managers with their pod-resources server and the same API server, and
// prints a table: resident memory, start to first publish, change to publish.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/quiet"
)

const node = "node-a"

// What wait may want beside a number of CPUs.
const (
	nothing  = -1
	anything = -2
)

// exporter is one of those compared.
type exporter struct {
	name, note string
	args       []string
	notify     string // a file to touch after each change, "" = none
	environ    []string
}

type bench struct {
	cluster, nrtd, programs, dir string
	changes                      int
	client                       kubernetes.Interface
	dynamic                      dynamic.Interface
	watch                        *daemon.Watch
	managers                     *daemon.Managers
}

func main() {
	b := &bench{}
	flag.StringVar(&b.cluster, "cluster", "", "the control plane's folder")
	flag.StringVar(&b.nrtd, "nrtd", "build/nrtd", "nrtd")
	flag.StringVar(&b.programs, "programs", "build/upstream", "folder of managers and of peers")
	flag.IntVar(&b.changes, "changes", 10, "pods that come and go, one after the other, a program")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Println("not ok benchpeers:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "nrtd-peers-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(b.cluster, "admin.kubeconfig"))
	if err != nil {
		return err
	}
	config.QPS = -1
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if b.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	b.watch = daemon.NewWatch(ctx, b.dynamic)
	root := filepath.Join(b.dir, "kubelet")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	kubelet, err := daemon.KubeletConfig(b.dir)
	if err != nil {
		return err
	}
	if b.managers, err = daemon.StartManagers(filepath.Join(b.programs, "managers"), "", root, kubelet); err != nil {
		return err
	}
	defer b.managers.Kill()
	fmt.Printf("| exporter | RSS, MiB | RSS at rest, MiB | PSS at rest, MiB | start to first publish, ms | a pod comes: to publish, ms (median, worst of %d) | it goes: to publish, ms | |\n"+
		"|---|---|---|---|---|---|---|---|\n", b.changes)
	for _, e := range b.exporters(root, kubelet) {
		if err := b.measure(ctx, e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// exporters are started with their defaults, but for where the kubelet is and what needs a pod around them.
func (b *bench) exporters(root, kubelet string) []exporter {
	socket := filepath.Join(root, "pod-resources", "kubelet.sock")
	admin := filepath.Join(b.cluster, "admin.kubeconfig")
	notify := filepath.Join(b.dir, "notify")
	return []exporter{
		{name: "nrtd", args: []string{b.nrtd, "run", "--node-name", node, "--kubeconfig", admin, "--kubelet-root", root,
			"--kubelet-config", kubelet, "--lock", "none", "--http", "127.0.0.1:18095"}},
		{name: "nfd-topology-updater", note: "first publish waits for its interval",
			args: []string{filepath.Join(b.programs, "nfd-topology-updater"), "-kubeconfig", admin, "-kubelet-config-uri", "file://" + kubelet,
				"-podresources-socket", socket, "-kubelet-state-dir", root, "-port", "0"},
			environ: []string{"NODE_NAME=" + node, "NODE_ADDRESS=127.0.0.1", "KUBERNETES_NAMESPACE=nrtd"}},
		{name: "resource-topology-exporter", note: "its notify file is touched after each change", notify: notify,
			args: []string{filepath.Join(b.programs, "resource-topology-exporter"), "-kubeconfig", admin, "-kubelet-config-file", kubelet,
				"-podresources-socket", "unix://" + socket, "-podreadiness=false", "-notify-file", notify, "-hostname", node},
			environ: []string{"NODE_NAME=" + node}},
	}
}

// free is how many CPUs the object says are available, `nothing` without an object.
func free(object *topologyv1alpha2.NodeResourceTopology) (n int64) {
	if object == nil {
		return nothing
	}
	for _, zone := range object.Zones {
		for _, resource := range zone.Resources {
			if zone.Type == "Node" && resource.Name == string(v1.ResourceCPU) {
				n += resource.Available.Value()
			}
		}
	}
	return n
}

func (b *bench) wait(ctx context.Context, within time.Duration, want int64) (time.Time, error) {
	return b.watch.Wait(ctx, node, within, func(object *topologyv1alpha2.NodeResourceTopology) string {
		if got := free(object); got != want && !(want == anything && got >= 0) {
			return fmt.Sprintf("%d CPUs available, want %d (-1: no object, -2: any)", got, want)
		}
		return ""
	})
}

// restTime after the last change memory is looked at again.
const restTime = 15 * time.Second

// measure runs one exporter and prints its row.
func (b *bench) measure(ctx context.Context, e exporter) error {
	_ = b.dynamic.Resource(daemon.Resource).Delete(ctx, node, metav1.DeleteOptions{}) // there is none at first
	if _, err := b.wait(ctx, 5*time.Second, nothing); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(b.dir, e.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(e.args[0], e.args[1:]...)
	process.Env, process.Stdout, process.Stderr = append(os.Environ(), e.environ...), log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begin := time.Now()
	if err := process.Start(); err != nil {
		return err
	}
	defer func() {
		process.Process.Kill()
		process.Wait()
	}()
	first, err := b.wait(ctx, 3*time.Minute, anything)
	if err != nil {
		return withLog(err, log.Name())
	}
	idle := free(b.watch.Newest(node).NodeResourceTopology)
	var times [2][]float64 // of pods that come, of pods that go
	for i := range 2 * b.changes {
		time.Sleep(1200 * time.Millisecond) // RTE takes one event a second
		took, err := b.change(ctx, i, idle, e.notify)
		if err != nil {
			return withLog(fmt.Errorf("change %d: %w", i, err), log.Name())
		}
		times[i%2] = append(times[i%2], took)
	}
	usage, err := daemon.UsageOf(process.Process.Pid)
	if err != nil {
		return err
	}
	time.Sleep(restTime)
	rest, err := daemon.UsageOf(process.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %.1f | %.1f | %.1f | %.0f | %s | %s | %s |\n", e.name, daemon.MiB(usage.RSS), daemon.MiB(rest.RSS), daemon.MiB(rest.PSS),
		first.Sub(begin).Seconds()*1000, spread(times[0]), spread(times[1]), e.note)
	return nil
}

// spread is "median, worst".
func spread(times []float64) string {
	if len(times) == 0 {
		return ""
	}
	slices.Sort(times)
	return fmt.Sprintf("%.0f, %.0f", times[len(times)/2], times[len(times)-1])
}

// change gives a pod the last free CPU, the next time takes it away again; milliseconds until the object shows that.
func (b *bench) change(ctx context.Context, i int, idle int64, notify string) (float64, error) {
	pod, pods := daemon.Pod(fmt.Sprintf("pod-%d", i/2), "1"), b.client.CoreV1().Pods(metav1.NamespaceDefault)
	want := idle
	if i%2 == 0 { // exporters that ask the API server of a pod have to find it there
		bound := pod.DeepCopy()
		bound.Spec.NodeName = node
		if _, err := pods.Create(ctx, bound, metav1.CreateOptions{}); err != nil {
			return 0, err
		}
		want--
	}
	begin := time.Now()
	if i%2 == 0 {
		if _, err := b.managers.Admit(pod); err != nil {
			return 0, err
		}
	} else if err := b.managers.Drop(pod); err != nil {
		return 0, err
	}
	if notify != "" {
		if err := os.Chtimes(notify, time.Now(), time.Now()); err != nil {
			return 0, err
		}
	}
	at, err := b.wait(ctx, 3*time.Minute, want)
	if err == nil && i%2 == 1 {
		err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	}
	return at.Sub(begin).Seconds() * 1000, err
}

func withLog(err error, path string) error {
	text, _ := os.ReadFile(path)
	return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
}
