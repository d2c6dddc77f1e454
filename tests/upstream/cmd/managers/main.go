// SPDX-License-Identifier: Apache-2.0

// managers runs the kubelet's topology, CPU, memory and device managers and its pod-resources server, without a
// kubelet. It reads one JSON object a line from standard input and answers each with one line:
//
//	{"admit": POD}                    the verdict, and what each container got
//	{"admit": POD, "dieAt": 2}        the process is killed before the second time that a manager allocates
//	{"drop": "namespace/name"}        {"dropped": ...}; the pod has ended and is deleted. The state files keep what it
//	                                  held until the next pod comes, as a kubelet's do
//	{"complete": "namespace/name"}    {"completed": ...}; it has ended and is not deleted
//	{"tidyCPUs": true}                {"tidied": "cpus"}; the CPU manager's loop, which runs every 10 s in a kubelet
//	{"returned": {"namespace/name": UID}}   {"returned": true}; with -restart: all pods of before have been admitted again,
//	                                  these are completed, the kubelet forgets the rest
//	{"serve": true}                   {"serving": true}; the pod-resources socket is replaced
//	{"lists": true}                   {"lists": n}; how often the pod-resources API was asked for the pods
//	{"free": {"api": true, "files": true}}   {RESOURCE: {NUMA node: {"Allocatable": n, "Available": n}}}, as these sources tell
//	{"node": true}                    the node's status as the kubelet reports it: what it has, what of it is for pods
//	{"register": {"resource": "vendor.com/nic", "numa": [[0], [0, 1], []]}}   a device plugin; a list of NUMA nodes a device;
//	                                                                           "ids" names the devices
//
// It ends with its input, on SIGTERM, or when its time is over.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
	"nrtd.dev/tests/upstream/internal/managers"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	sysroot := flag.String("sysroot", "", "folder that holds the machine's /sys (default: this machine)")
	machine := flag.String("machine", "", "what nrtd dump --what machine -o json printed, instead of -sysroot")
	config := flag.String("config", "", "KubeletConfiguration file")
	root := flag.String("root", "", "the kubelet's --root-dir: state files and sockets go there")
	restart := flag.Bool("restart", false, "the kubelet has pods from before")
	running := flag.Bool("running", false, "with -restart: the containers of these pods run, also while the device plugins have not registered")
	log := flag.String("log", "", "file for what the managers log (default: nowhere)")
	timeout := flag.Duration("timeout", time.Hour, "stop by itself after this time")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *sysroot, *machine, *config, *root, *log, starter(*restart, *running)); err != nil {
		fmt.Fprintln(os.Stderr, "managers:", err)
		os.Exit(1)
	}
}

// command is one line of input.
type command struct {
	Admit    *v1.Pod                    `json:"admit"`
	DieAt    int                        `json:"dieAt"`
	Drop     string                     `json:"drop"`
	Complete string                     `json:"complete"`
	TidyCPUs bool                       `json:"tidyCPUs"`
	Register *managers.Devices          `json:"register"`
	Returned *map[string]types.UID      `json:"returned"`
	Serve    bool                       `json:"serve"`
	Lists    bool                       `json:"lists"`
	Free     *struct{ API, Files bool } `json:"free"`
	Node     bool                       `json:"node"`
}

type starting func(context.Context, string, *cadvisorapi.MachineInfo, *kubeletconfig.KubeletConfiguration) (*managers.Managers, error)

func starter(restart, running bool) starting {
	switch {
	case restart && running:
		return managers.RestartRunning
	case restart:
		return managers.Restart
	}
	return managers.Start
}

func run(ctx context.Context, sysroot, machineFile, configFile, root, log string, start starting) error {
	if root == "" || configFile == "" {
		return errors.New("-root and -config are needed")
	}
	quiet.LogTo(io.Discard)
	if log != "" {
		f, err := os.Create(log)
		if err != nil {
			return err
		}
		defer f.Close()
		quiet.LogTo(f)
	}
	machine, err := describe(sysroot, machineFile)
	if err != nil {
		return err
	}
	config, err := managers.LoadConfig(configFile)
	if err != nil {
		return err
	}
	m, err := start(ctx, root, machine, config)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]string{"ready": root}); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- serve(ctx, m, machine, out) }()
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	return errors.Join(err, m.Stop())
}

func describe(sysroot, machineFile string) (*cadvisorapi.MachineInfo, error) {
	if machineFile != "" {
		return managers.MachineInfoFromDump(machineFile)
	}
	return managers.MachineInfo(sysroot)
}

// serve answers line after line until the input ends.
func serve(ctx context.Context, m *managers.Managers, machine *cadvisorapi.MachineInfo, out *json.Encoder) error {
	var devices []managers.Devices
	in := json.NewDecoder(os.Stdin)
	for {
		var c command
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		var answer any
		var err error
		switch {
		case c.Admit != nil:
			m.DieAt(c.DieAt)
			answer = m.Admit(c.Admit)
			m.DieAt(0)
		case c.Drop != "":
			answer, err = map[string]string{"dropped": c.Drop}, m.Drop(c.Drop)
		case c.Complete != "":
			answer, err = map[string]string{"completed": c.Complete}, m.Complete(c.Complete)
		case c.TidyCPUs:
			m.TidyCPUs()
			answer = map[string]string{"tidied": "cpus"}
		case c.Returned != nil:
			answer, err = map[string]bool{"returned": true}, m.Returned(*c.Returned)
		case c.Serve:
			answer, err = map[string]bool{"serving": true}, m.ServePodResources(ctx)
		case c.Lists:
			answer = map[string]int64{"lists": m.Lists()}
		case c.Free != nil:
			answer = m.Free(machine, devices, c.Free.API, c.Free.Files)
		case c.Node:
			answer = m.NodeStatus()
		case c.Register != nil:
			devices = append(devices, *c.Register)
			answer, err = map[string]string{"registered": c.Register.Resource}, m.Register(ctx, *c.Register)
		default:
			err = errors.New("a line that says nothing")
		}
		if err != nil {
			answer = map[string]string{"error": err.Error()}
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}
