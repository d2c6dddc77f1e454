// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"unsafe"
	_ "unsafe"

	nrtv1alpha1 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha1"
	"github.com/koordinator-sh/koordinator/pkg/features"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/metriccache"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/statesinformer"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/statesinformer/impl"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/util"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/util/system"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
)

// node is a node as koordlet finds it.
type node struct {
	Root      string          `json:"root"`      // has sys, proc, var/lib/kubelet
	Config    json.RawMessage `json:"config"`    // the kubelet's KubeletConfiguration
	HugePages bool            `json:"hugePages"` // feature gate HugePageReport
	Pods      []*v1.Pod       `json:"pods"`
}

// facts stand for koordlet's cache of what its collectors have read.
type facts struct {
	metriccache.MetricCache
	values map[interface{}]interface{}
}

func (f *facts) Get(key interface{}) (interface{}, bool) {
	value, ok := f.values[key]
	return value, ok
}

// kubelet stands for the kubelet's HTTP endpoint.
type kubelet struct {
	config *kubeletconfig.KubeletConfiguration
}

func (k kubelet) GetAllPods() (v1.PodList, error) { return v1.PodList{}, nil }

func (k kubelet) GetKubeletConfiguration() (*kubeletconfig.KubeletConfiguration, error) {
	return k.config, nil
}

// set fills a field that is not exported.
func set(object interface{}, name string, value interface{}) {
	field := reflect.ValueOf(object).Elem().FieldByName(name)
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// reportNodeTopology is what koordlet does every few seconds.
//
//go:linkname reportNodeTopology github.com/koordinator-sh/koordinator/pkg/koordlet/statesinformer/impl.(*nodeTopoInformer).reportNodeTopology
func reportNodeTopology(informer unsafe.Pointer)

// lscpu stands before the command of that name, which koordlet runs: it reads another root. koordlet passes over a CPU without
// caches, which machines of the tests do not have; its report says nothing of them.
const lscpu = `#!/bin/sh
PATH=$KOORDLET_PATH
lscpu -s "$KOORDLET_ROOT" "$@" | awk '$5 == "-" { $5 = "0:0:0:0" } 1'
`

var tools string // the folder of that command

func readAs(root string) (*facts, error) {
	if tools == "" {
		path := os.Getenv("PATH")
		folder, err := os.MkdirTemp("", "nrtd-koordlet-")
		if err != nil {
			return nil, err
		}
		tools = folder
		if err := os.WriteFile(filepath.Join(tools, "lscpu"), []byte(lscpu), 0o755); err != nil {
			return nil, err
		}
		os.Setenv("KOORDLET_PATH", path)
		os.Setenv("PATH", tools+":"+path)
	}
	os.Setenv("KOORDLET_ROOT", root)
	system.Conf.SysRootDir = filepath.Join(root, "sys")
	system.Conf.ProcRootDir = filepath.Join(root, "proc")
	system.Conf.VarLibKubeletRootDir = filepath.Join(root, "var", "lib", "kubelet")
	cpus, err := util.GetLocalCPUInfo()
	if err != nil {
		return nil, err
	}
	nodes, err := util.GetNodeNUMAInfo()
	if err != nil {
		return nil, err
	}
	return &facts{values: map[interface{}]interface{}{
		metriccache.NodeCPUInfoKey:  (*metriccache.NodeCPUInfo)(cpus),
		metriccache.NodeNUMAInfoKey: util.GetAndMergeHugepageToNumaInfo(nodes),
	}}, nil
}

// report is koordlet's object of the node. With the feature gate NodeTopologyReport off koordlet makes the same and keeps it
// to itself.
func (n *node) report() (*nrtv1alpha1.NodeResourceTopology, error) {
	gates := map[string]bool{string(features.NodeTopologyReport): false, string(features.HugePageReport): n.HugePages}
	if err := features.DefaultMutableKoordletFeatureGate.SetFromMap(gates); err != nil {
		return nil, err
	}
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	config := &kubeletconfig.KubeletConfiguration{}
	if err := runtime.DecodeInto(codecs.UniversalDecoder(), n.Config, config); err != nil {
		return nil, err
	}
	cache, err := readAs(n.Root)
	if err != nil {
		return nil, err
	}
	informer, nodes, pods := impl.NewNodeTopoInformer(), impl.NewNodeInformer(), impl.NewPodsInformer()
	set(nodes, "node", &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	byUID := map[string]*statesinformer.PodMeta{}
	for _, pod := range n.Pods {
		byUID[string(pod.UID)] = &statesinformer.PodMeta{Pod: pod}
	}
	set(pods, "podMap", byUID)
	set(informer, "config", impl.NewDefaultConfig())
	set(informer, "metricCache", metriccache.MetricCache(cache))
	set(informer, "callbackRunner", impl.NewCallbackRunner())
	set(informer, "kubelet", impl.KubeletStub(kubelet{config}))
	set(informer, "nodeInformer", nodes)
	set(informer, "podsInformer", pods)
	reportNodeTopology(reflect.ValueOf(informer).UnsafePointer())
	object := informer.GetNodeTopo()
	if object == nil {
		return nil, errors.New("koordlet makes no object")
	}
	if len(object.Zones) == 0 {
		return nil, fmt.Errorf("koordlet's object has no zones")
	}
	return object, nil
}
