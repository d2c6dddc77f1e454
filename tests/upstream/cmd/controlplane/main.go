// SPDX-License-Identifier: Apache-2.0

// controlplane runs etcd, kube-apiserver and kube-scheduler in one process, on the loopback, until it is told to stop
// by SIGINT or SIGTERM, or its time is over. SIGUSR1 has etcd forget all revisions but the last.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nrtd.dev/tests/upstream/internal/controlplane"
	"nrtd.dev/tests/upstream/internal/quiet"
)

func main() {
	dir := flag.String("dir", "", "folder for kubeconfigs, logs and data (default: a temporary one, removed at the end)")
	manifests := flag.String("manifests", "", "YAML files and folders to apply at the start, separated by commas")
	nodes := flag.String("nodes", "node-a", "names of the nodes to register, separated by commas")
	agent := flag.String("agent", "nrtd/nrtd", "namespace/name of the agent's service account")
	scheduler := flag.String("scheduler", "", "configuration file of kube-scheduler (default: no scheduler)")
	audit := flag.String("audit", "", "audit policy: a line for each request it tells of, in audit.log of -dir (default: none)")
	gates := flag.String("feature-gates", "", "as of kube-apiserver")
	apis := flag.String("runtime-config", "", "as of kube-apiserver")
	resume := flag.Bool("resume", false, "go on with what a killed control plane has left in -dir, at the same address")
	timeout := flag.Duration("timeout", time.Hour, "stop by itself after this time")
	flag.Parse()
	if err := run(*dir, *timeout, controlplane.Options{
		Manifests: list(*manifests), Nodes: list(*nodes), Scheduler: *scheduler, Agent: agentOf(*agent), Audit: *audit,
		Resume: *resume, FeatureGates: *gates, RuntimeConfig: *apis}); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func agentOf(s string) controlplane.Agent {
	namespace, name, _ := strings.Cut(s, "/")
	return controlplane.Agent{Namespace: namespace, ServiceAccount: name}
}

func run(dir string, timeout time.Duration, options controlplane.Options) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "nrtd-cluster-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if options.Dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "kubernetes.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	quiet.LogTo(log)

	stop := make(chan os.Signal, 2)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	started := time.Now()
	plane, err := controlplane.Start(options)
	if err != nil {
		return err
	}
	fmt.Printf("ready %s in %.1f s\nexport KUBECONFIG=%s\n", plane.URL(), time.Since(started).Seconds(), plane.Kubeconfig("admin"))
	compact := make(chan os.Signal, 1)
	signal.Notify(compact, syscall.SIGUSR1)
	for late, ended := time.After(timeout), false; !ended; {
		select {
		case <-compact:
			revision, err := plane.Compact()
			fmt.Println("compacted", revision, err)
			continue
		case <-stop:
		case <-late:
			fmt.Println("time is over")
		case err = <-plane.Ended():
		}
		ended = true
	}
	err = errors.Join(err, plane.Stop())
	fmt.Println("stopped")
	return err
}
