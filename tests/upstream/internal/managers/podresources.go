// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cri-client/pkg/util"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	apisgrpc "k8s.io/kubernetes/pkg/kubelet/apis/grpc"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
)

// ServePodResources serves the real pod-resources API on ROOT/pod-resources/kubelet.sock, with its rate limit. A server
// that is there ends; its socket is replaced.
func (m *Managers) ServePodResources(ctx context.Context) error {
	if m.stopServer != nil {
		m.stopServer()
	}
	endpoint, err := kubeletutil.LocalEndpoint(filepath.Join(m.Root, "pod-resources"), podresources.Socket)
	if err != nil {
		return err
	}
	listener, err := util.CreateListener(endpoint)
	if err != nil {
		return err
	}
	server := grpc.NewServer(apisgrpc.WithRateLimiter(ctx, "podresources", podresources.DefaultQPS, podresources.DefaultBurstTokens))
	podresourcesapi.RegisterPodResourcesListerServer(server, podresources.NewV1PodResourcesServer(ctx, m.providers()))
	go server.Serve(listener)
	m.stopServer = server.Stop
	return nil
}

// GetActivePods, GetPods and the rest answer the pod-resources server as the kubelet and its container manager do.
func (m *Managers) GetActivePods() []*v1.Pod {
	m.lists.Add(1)
	return m.activePods()
}

func (m *Managers) GetPods() []*v1.Pod { return m.GetActivePods() }

// Lists is how often the pod-resources server has been asked which pods there are.
func (m *Managers) Lists() int64 { return m.lists.Load() }

func (m *Managers) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	for _, pod := range m.activePods() {
		if pod.Namespace == namespace && pod.Name == name {
			return pod, true
		}
	}
	return nil, false
}

func (m *Managers) GetDevices(uid, container string) []*podresourcesapi.ContainerDevices {
	return containerDevices(m.devices.GetDevices(uid, container))
}

func (m *Managers) GetAllocatableCPUs() []int64 {
	return wide(m.cpus.GetAllocatableCPUs().UnsortedList())
}

func wide(list []int) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}
