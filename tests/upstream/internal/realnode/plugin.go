// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin is a device plugin whose containers see in their environment which devices they got.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	devices []*pluginapi.Device
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Envs: map[string]string{envDevices: strings.Join(container.DevicesIds, ",")}})
	}
	return response, nil
}

// Serve offers the devices, each at its NUMA node, to the kubelet and to every one that comes after it.
func Serve(ctx context.Context, kubelet string, devices map[string]int) {
	p := &plugin{}
	for id, node := range devices {
		p.devices = append(p.devices, &pluginapi.Device{ID: id, Health: pluginapi.Healthy,
			Topology: &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: int64(node)}}}})
	}
	folder := filepath.Join(kubelet, "device-plugins")
	var served os.FileInfo
	for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		// A kubelet that starts empties the folder and makes its socket.
		socket, err := os.Stat(filepath.Join(folder, "kubelet.sock"))
		if err != nil || (served != nil && os.SameFile(socket, served) && socket.ModTime().Equal(served.ModTime())) {
			continue
		}
		if p.register(ctx, folder) == nil {
			served = socket
		}
	}
}

func (p *plugin) register(ctx context.Context, folder string) error {
	const endpoint = "realnode.sock"
	os.Remove(filepath.Join(folder, endpoint))
	listener, err := net.Listen("unix", filepath.Join(folder, endpoint))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	go server.Serve(listener)
	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err == nil {
		defer connection.Close()
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
			Version: pluginapi.Version, Endpoint: endpoint, ResourceName: Resource})
	}
	if err != nil {
		server.Stop()
	}
	return err
}
