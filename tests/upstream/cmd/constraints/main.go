// SPDX-License-Identifier: Apache-2.0

// constraints has kube-scheduler's own plugins decide which nodes a pod may go to, in random clusters of nodes with labels, taints
// and pods: `kubectl numa why` must keep the pod away from the same nodes. The replicas that `kubectl numa fit` places must be legal: the
// plugins let them onto the nodes one after the other. Volumes and resources are not compared.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"nrtd.dev/tests/upstream/internal/programs"
)

func main() {
	nrtd := flag.String("nrtd", "build/nrtd", "the program")
	cases := flag.Int("cases", 300, "random clusters")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "random seed")
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)
	metrics.Register()
	if err := run(*nrtd, *cases, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "constraints:", err)
		os.Exit(1)
	}
}

func run(nrtd string, cases int, seed uint64) error {
	dir, err := os.MkdirTemp("", "nrtd-constraints-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	totals := counts{}
	for i := range cases {
		c := draw(rand.New(rand.NewPCG(seed, uint64(i))))
		if err := c.compare(nrtd, dir, &totals); err != nil {
			kept := filepath.Join("build", "upstream", "failures", fmt.Sprintf("constraints-%d-%d", seed, i))
			if keepErr := keep(dir, kept); keepErr != nil {
				return errors.Join(err, keepErr)
			}
			return fmt.Errorf("case %d, kept in %s: %w", i, kept, err)
		}
	}
	fmt.Printf("%d clusters: %d nodes take the pod, schedulers keep it away from %d; %d replicas placed, in %d clusters not all\n",
		cases, totals.open, totals.closed, totals.placed, totals.short)
	if totals.open == 0 || totals.closed == 0 || totals.placed == 0 || totals.short == 0 {
		return errors.New("the clusters do not differ enough to say anything")
	}
	return nil
}

type counts struct{ open, closed, placed, short int }

func keep(dir, kept string) error {
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	return os.CopyFS(kept, os.DirFS(dir))
}

func write(dir, name string, object any) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, text, 0o644)
}

// ask runs a program and reads its JSON; status 0 and 3 are answers.
func ask(program string, ret any, args ...string) error {
	out, err := exec.Command(program, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 3 {
		return fmt.Errorf("%s %v: %w: %s", program, args, err, exit.Stderr)
	} else if err != nil && exit == nil {
		return err
	}
	return json.Unmarshal(out, ret)
}

type answer struct {
	NotLookedAt []string
	Nodes       []struct{ Name, KeptAway string }
}

type fit struct {
	Replicas *struct{ Wanted, Placed int }
	Items    []struct {
		Name     string
		Replicas int
	}
}

func (c *cluster) compare(nrtd, dir string, totals *counts) error {
	files := map[string]any{"pod.json": c.pod, "nrt.json": c.objects(), "nodes.json": list(c.nodes), "pods.json": list(c.pods)}
	paths := map[string]string{}
	for name, object := range files {
		path, err := write(dir, name, object)
		if err != nil {
			return err
		}
		paths[name] = path
	}
	numa := programs.KubectlNuma(nrtd)
	common := []string{"--from", paths["nrt.json"], "--from", paths["nodes.json"], "--from", paths["pods.json"], "-o", "json"}
	var why answer
	if err := ask(numa, &why, append([]string{"why", c.pod.Name, "-n", c.pod.Namespace, "--from", paths["pod.json"]}, common...)...); err != nil {
		return err
	}
	if len(why.NotLookedAt) > 0 {
		return fmt.Errorf("not looked at: %v", why.NotLookedAt)
	}
	judged, err := c.judge(c.pods)
	if err != nil {
		return err
	}
	for _, node := range why.Nodes {
		reason, closed := judged[node.Name]
		if closed != (node.KeptAway != "") {
			return fmt.Errorf("node %s: nrtd says '%s', kube-scheduler '%s'", node.Name, node.KeptAway, reason)
		}
		if closed {
			totals.closed++
		} else {
			totals.open++
		}
	}
	return c.compareReplicas(numa, append([]string{"-f", paths["pod.json"]}, common...), totals)
}

// compareReplicas puts the replicas where nrtd says, in any order that the plugins let through.
func (c *cluster) compareReplicas(numa string, common []string, totals *counts) error {
	var placed fit
	if err := ask(numa, &placed, append([]string{"fit", "--replicas", "7"}, common...)...); err != nil {
		return err
	}
	left, total := map[string]int{}, 0
	for _, item := range placed.Items {
		left[item.Name] = item.Replicas
		total += item.Replicas
	}
	if placed.Replicas == nil || total != placed.Replicas.Placed {
		return fmt.Errorf("%d replicas on the nodes, not as many as are placed", total)
	}
	totals.placed += total
	pods := append([]*v1.Pod{}, c.pods...)
	for total > 0 {
		judged, err := c.judge(pods)
		if err != nil {
			return err
		}
		moved := false
		for _, item := range placed.Items {
			if _, closed := judged[item.Name]; closed || left[item.Name] == 0 {
				continue
			}
			copy := c.pod.DeepCopy()
			copy.Name, copy.UID = fmt.Sprintf("copy-%d", total), ""
			copy.Spec.NodeName = item.Name
			pods = append(pods, copy)
			left[item.Name]--
			total--
			moved = true
			break
		}
		if !moved {
			return fmt.Errorf("kube-scheduler lets no more of these replicas onto their nodes: %v", left)
		}
	}
	if placed.Replicas.Placed == placed.Replicas.Wanted {
		return nil
	}
	totals.short++
	return nil
}

// judge says of each node that keeps a pod away why, with these pods on the nodes.
func (c *cluster) judge(pods []*v1.Pod) (map[string]string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fw, snapshot, err := newFramework(ctx, pods, c.nodes)
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	judged := map[string]string{}
	result, status, _ := fw.RunPreFilterPlugins(ctx, state, c.pod)
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		name := node.Node().Name
		switch {
		case !status.IsSuccess():
			judged[name] = status.Message()
		case result != nil && !result.AllNodes() && !result.NodeNames.Has(name):
			judged[name] = "PreFilter"
		default:
			if s := fw.RunFilterPlugins(ctx, state, c.pod, node); !s.IsSuccess() {
				judged[name] = s.Message()
			}
		}
	}
	return judged, nil
}
