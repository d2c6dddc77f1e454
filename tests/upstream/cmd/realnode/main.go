// SPDX-License-Identifier: Apache-2.0

// realnode runs on a machine with a real kubelet, containerd and nrtd: it starts and ends pods, restarts the kubelet,
// changes its settings and the hardware, and holds what nrtd publishes against the cgroups. tests/node/run.sh makes that
// machine. The last line is "N passed, N failed".
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/cpuset"
	"nrtd.dev/tests/upstream/internal/daemon"
	"nrtd.dev/tests/upstream/internal/quiet"
	"nrtd.dev/tests/upstream/internal/realnode"
)

// reservedBytes is what the kubelet keeps of NUMA node 0; repetitions is how often the order of writes is measured.
const (
	reservedBytes = 512 << 20
	repetitions   = 4
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the administrator's")
	node := flag.String("node", "node-a", "this node")
	plugin := flag.Bool("plugin", false, "be the device plugin, and nothing else")
	flag.Parse()
	quiet.LogTo(io.Discard)
	if *plugin {
		realnode.Serve(context.Background(), "/var/lib/kubelet", realnode.Devices)
		return
	}
	test, err := run(*kubeconfig, *node)
	if err != nil {
		fmt.Println("realnode:", err)
		os.Exit(1)
	}
	fmt.Printf("%d passed, %d failed\n", test.Passed, test.Failed)
}

func run(kubeconfig, node string) (*realnode.Test, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	watcher, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	machine, err := realnode.ReadMachine()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watch := daemon.NewWatch(ctx, watcher)
	sampler := realnode.NewSampler(ctx, realnode.NewCgroups("/sys/fs/cgroup"), machine, realnode.Devices, realnode.Settings{
		ReservedCPUs: cpuset.New(0), ReservedBytes: map[int]int64{0: reservedBytes}, Static: true}, os.Stdout,
		func() *topologyv1alpha2.NodeResourceTopology { return watch.Newest(node).NodeResourceTopology })
	test := &realnode.Test{Node: node, Pods: realnode.Pods{Client: client}, Sampler: sampler, Out: os.Stdout, Repetitions: repetitions,
		Published: func(since time.Time) []time.Time { return watch.Writes(node, since) }}
	if err := test.KubeletReady(); err != nil {
		return nil, err
	}
	test.Writes, err = realnode.NewWrites("/var/lib/kubelet", "/sys/fs/cgroup")
	if err != nil {
		return nil, err
	}
	test.Plan(ctx, flag.Args())
	said, longest := sampler.Report()
	fmt.Println(said)
	if longest > realnode.LongestMoment {
		err = fmt.Errorf("the longest lasted %v", longest)
	}
	test.Check("no amount was published above what there was for over a second", err)
	return test, nil
}
