// SPDX-License-Identifier: Apache-2.0

// volcanoexporter compares what Volcano's resource-exporter writes about a node with what nrtd writes, member by member, and
// has nrtd's object take the place of the exporter's on a real API server. The exporter's program is not in the Go module
// proxy: unless it is given, what its object has is computed from its documented behaviour.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/apply"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/volcano"
)

// configurations of the kubelet: with its reserved CPUs named, and with nothing said of policies.
var configurations = []string{
	"kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\ncpuManagerPolicy: static\n" +
		"topologyManagerPolicy: restricted\nreservedSystemCPUs: \"0\"\n",
	"kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\ncpuManagerPolicy: static\n" +
		"reservedSystemCPUs: \"0\"\nkubeReserved: {cpu: 500m}\nsystemReserved: {cpu: 500m}\n",
}

type bench struct {
	apply                      *apply.Client
	nrtd, exporter, kubeconfig string
	dir                        string
	explained                  map[string]int
	failed                     int
}

func main() {
	b := &bench{explained: map[string]int{}}
	flag.StringVar(&b.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the control plane")
	flag.StringVar(&b.nrtd, "nrtd", "build/nrtd", "the program under test")
	flag.StringVar(&b.exporter, "exporter", "", "the exporter's program, which is compared with its documented behaviour too")
	crds := flag.String("crds", "", "folder of Volcano's custom resource definitions")
	machines := flag.String("machines", "", "folder of machines, each a folder with sys in it")
	seed := flag.Uint64("seed", rand.Uint64N(1000000), "random seed")
	flag.Parse()
	quiet.LogTo(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := b.run(ctx, *crds, *machines, *seed); err != nil {
		fmt.Println("not ok volcano-exporter:", err)
		b.failed++
	}
	if b.failed > 0 {
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, crds, machines string, seed uint64) error {
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	if b.apply, err = apply.NewClient(config); err != nil {
		return err
	}
	objects, err := apply.Files([]string{filepath.Join(crds, "nodeinfo.volcano.sh_numatopologies.yaml")})
	if err != nil {
		return err
	}
	if _, err := b.apply.Apply(ctx, objects[0]); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "nrtd-volcano-exporter-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	paths, err := filepath.Glob(filepath.Join(machines, "*", "sys"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no machine in %s: %w", machines, err)
	}
	fmt.Printf("volcano-exporter: seed %d, %d machines\n", seed, len(paths))
	for i, path := range paths {
		if err := b.machine(ctx, filepath.Dir(path), configurations[i%2], rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(filepath.Dir(path)), err)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(b.explained)) {
		fmt.Printf("volcano-exporter: %d differences by the rule \"%s\"\n", b.explained[rule], rule)
	}
	fmt.Printf("volcano-exporter: %d machines, %d failed\n", len(paths), b.failed)
	return nil
}

// machine compares the objects of a node on this machine, of which some containers hold CPUs.
func (b *bench) machine(ctx context.Context, machine, configuration string, r *rand.Rand) error {
	name := filepath.Base(machine)
	node, err := daemon.New(b.dir, name, machine, b.nrtd, "", "0")
	if err != nil {
		return err
	}
	nrt, err := node.Dump(ctx)
	if err != nil {
		return err
	}
	zones, err := daemon.ZonesOf(nrt, cpuset.New(0))
	if err != nil {
		return err
	}
	if _, err := node.Hold(daemon.All(zones), daemon.Draw(r, zones)...); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(node.Kubelet(), "config.yaml"), []byte(configuration), 0o600); err != nil {
		return err
	}
	node.Settings = nil
	text, err := node.DumpText(ctx, "--what", "numatopology")
	if err != nil {
		return err
	}
	ours := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &ours.Object); err != nil {
		return err
	}
	nrtd, err := volcano.SpecOf(ours.Object)
	if err != nil {
		return err
	}
	exporter, differences, err := b.export(ctx, node)
	if err != nil {
		return err
	}
	compared, err := volcano.Compare(node.Dir, exporter, nrtd, cpuset.New(0))
	if err != nil {
		return err
	}
	for rule, count := range compared.Explained {
		b.explained[rule] += count
	}
	stored, err := b.apply.Apply(ctx, ours)
	if err != nil {
		return err
	}
	left, err := unlike(stored.Object["spec"], ours.Object["spec"], "written over the exporter's object, nrtd's is %s, not %s")
	if err != nil {
		return err
	}
	differences = append(differences, left...)
	b.report(name, append(differences, compared.Others...))
	return nil
}

// unlike compares what two things are as JSON; message has places for both.
func unlike(one, other any, message string) ([]string, error) {
	has, err := json.Marshal(one)
	if err != nil {
		return nil, err
	}
	wants, err := json.Marshal(other)
	if err != nil || string(has) == string(wants) {
		return nil, err
	}
	return []string{fmt.Sprintf(message, has, wants)}, nil
}

func (b *bench) report(name string, differences []string) {
	if len(differences) == 0 {
		fmt.Printf("ok volcano-exporter: %s\n", name)
		return
	}
	b.failed++
	fmt.Printf("not ok volcano-exporter: %s\n", name)
	for _, line := range differences[:min(len(differences), 8)] {
		fmt.Printf("  | %s\n", line)
	}
}

// export has the exporter write its object, or writes it in its place; it returns what the object says.
func (b *bench) export(ctx context.Context, node *daemon.Node) (spec *volcano.Spec, differences []string, err error) {
	want, err := volcano.Exporter(node.Dir)
	if err != nil {
		return nil, nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "nodeinfo.volcano.sh/v1alpha1", "kind": "Numatopology",
		"metadata": map[string]any{"name": node.Name}}}
	resource, err := b.apply.Resource(ctx, object)
	if err != nil {
		return nil, nil, err
	}
	if b.exporter == "" {
		text, err := json.Marshal(want)
		if err != nil {
			return nil, nil, err
		}
		said := map[string]any{}
		if err := json.Unmarshal(text, &said); err != nil {
			return nil, nil, err
		}
		object.Object["spec"] = said
		object.SetAnnotations(map[string]string{"timestamp": "1755000000"})
		_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldManager: "resource-exporter"})
		return want, nil, err
	}
	process := exec.CommandContext(ctx, b.exporter, "--kubeconfig", b.kubeconfig, "--check-period", "100ms",
		"--device-path", filepath.Join(node.Dir, "sys/devices/system"), "--kubelet-conf", filepath.Join(node.Kubelet(), "config.yaml"),
		"--cpu-manager-state", filepath.Join(node.Kubelet(), "cpu_manager_state"), "--enable-pod-resource=false")
	process.Env = append(os.Environ(), "MY_NODE_NAME="+node.Name)
	if err := process.Start(); err != nil {
		return nil, nil, err
	}
	defer process.Wait()
	defer process.Process.Kill()
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		made, err := resource.Get(ctx, node.Name, metav1.GetOptions{})
		if err == nil {
			spec, err = volcano.SpecOf(made.Object)
		}
		return err == nil, nil
	})
	if err != nil {
		return nil, nil, err
	}
	differences, err = unlike(spec, want, "the exporter says %s, by its documentation it would be %s")
	return spec, differences, err
}
