// SPDX-License-Identifier: Apache-2.0

// managers runs the kubelet's topology, CPU, memory and device managers and its pod-resources server, without a
// kubelet. It reads one JSON object a line from standard input and answers each with one line:
//
//	{"admit": POD}                    the verdict, and what each container got
//	{"remove": "namespace/name"}      {"removed": ...}
//	{"register": {"resource": "vendor.com/nic", "numa": [[0], [0, 1], []]}}   a device plugin; a list of NUMA nodes a device
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

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"nrtd.dev/tests/upstream/internal/managers"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	sysroot := flag.String("sysroot", "", "folder that holds the machine's /sys (default: this machine)")
	machine := flag.String("machine", "", "what nrtd dump --what machine -o json printed, instead of -sysroot")
	config := flag.String("config", "", "KubeletConfiguration file")
	root := flag.String("root", "", "the kubelet's --root-dir: state files and sockets go there")
	log := flag.String("log", "", "file for what the managers log (default: nowhere)")
	timeout := flag.Duration("timeout", time.Hour, "stop by itself after this time")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *sysroot, *machine, *config, *root, *log); err != nil {
		fmt.Fprintln(os.Stderr, "managers:", err)
		os.Exit(1)
	}
}

// command is one line of input.
type command struct {
	Admit    *v1.Pod           `json:"admit"`
	Remove   string            `json:"remove"`
	Register *managers.Devices `json:"register"`
}

func run(ctx context.Context, sysroot, machineFile, configFile, root, log string) error {
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
	m, err := managers.Start(ctx, root, machine, config)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]string{"ready": root}); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- serve(ctx, m, out) }()
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
func serve(ctx context.Context, m *managers.Managers, out *json.Encoder) error {
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
			answer = m.Admit(c.Admit)
		case c.Remove != "":
			answer, err = map[string]string{"removed": c.Remove}, m.Remove(c.Remove)
		case c.Register != nil:
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
