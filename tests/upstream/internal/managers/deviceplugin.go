// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Devices are the devices of one resource: for each, the NUMA nodes it is near (none = not told), and its id if it is not the
// one that ID makes up.
type Devices struct {
	Resource string   `json:"resource"`
	NUMA     [][]int  `json:"numa"`
	IDs      []string `json:"ids,omitempty"`
}

// plugin is a device plugin that only offers devices.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	devices []*pluginapi.Device
	done    chan struct{}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-stream.Context().Done():
	}
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{})
	}
	return response, nil
}

// Register starts a device plugin in this process, registers it through the kubelet's registration socket, and waits
// until the kubelet counts its devices.
func (m *Managers) Register(ctx context.Context, d Devices) error {
	p := &plugin{done: make(chan struct{})}
	for i, nodes := range d.NUMA {
		device := &pluginapi.Device{ID: d.ID(i), Health: pluginapi.Healthy}
		for _, node := range nodes {
			if device.Topology == nil {
				device.Topology = &pluginapi.TopologyInfo{}
			}
			device.Topology.Nodes = append(device.Topology.Nodes, &pluginapi.NUMANode{ID: int64(node)})
		}
		p.devices = append(p.devices, device)
	}
	folder := filepath.Join(m.Root, "device-plugins")
	endpoint := strings.NewReplacer("/", "-", ".", "-").Replace(d.Resource) + ".sock"
	listener, err := net.Listen("unix", filepath.Join(folder, endpoint))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	go server.Serve(listener)
	m.stop = append(m.stop, func() { close(p.done); server.Stop() })

	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: endpoint, ResourceName: d.Resource}); err != nil {
		return fmt.Errorf("register %s: %w", d.Resource, err)
	}
	return wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		capacity, _ := m.deviceCapacity()
		count := capacity[v1.ResourceName(d.Resource)]
		// The device manager counts them first and writes them down then.
		text, _ := os.ReadFile(filepath.Join(folder, "kubelet_internal_checkpoint"))
		return count.Value() == int64(len(d.NUMA)) && strings.Contains(string(text), fmt.Sprintf("%q:[", d.Resource)), nil
	})
}
