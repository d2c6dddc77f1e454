// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs the parts of Kubernetes that nrtd talks to in one process: etcd, kube-apiserver and
// kube-scheduler, all on the loopback, with certificates of their own.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// How long the whole may take until it is ready, and until it has ended.
const (
	startTimeout = 5 * time.Minute
	stopTimeout  = time.Minute
)

// Options says what a control plane holds.
type Options struct {
	Dir                         string   // where kubeconfigs, certificates, logs and data go
	Manifests                   []string // YAML files and folders applied at the start: the CRD, roles, admission policies
	Nodes                       []string // nodes to register, each with its identity
	Agent                       Agent    // the service account of the agent under test
	Scheduler                   string   // configuration file of the scheduler, "" for none
	Audit                       string   // audit policy, for a file of requests; "" for none
	FeatureGates, RuntimeConfig string   // as kube-apiserver's flags
	Resume                      bool     // go on with what a killed control plane has left in Dir, at the same address
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	options Options
	pki     *authority
	etcd    *embed.Etcd
	url     string
	cancel  context.CancelFunc
	running sync.WaitGroup
	ended   chan error // gets an error for each part that ends by itself
}

// Start starts etcd and the API server, registers what options name, then starts the scheduler.
// On failure nothing is left running.
func Start(options Options) (*ControlPlane, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &ControlPlane{options: options, cancel: cancel, ended: make(chan error, 2)}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	waitCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	if err := c.findAuthority(); err != nil {
		return err
	}
	var err error
	if c.etcd, err = startEtcd(waitCtx, c.options.Dir, c.pki); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	if err := c.certKubeconfig("admin", "kubernetes-admin", "system:masters"); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig("admin"))
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := c.waitReady(waitCtx, client); err != nil {
		return err
	}
	if c.options.Resume {
		return c.startSchedulerIfWanted(ctx)
	}
	if err := applyManifests(waitCtx, config, c.options.Manifests); err != nil {
		return err
	}
	if err := c.registerNodes(waitCtx, client); err != nil {
		return err
	}
	return c.startSchedulerIfWanted(ctx)
}

func (c *ControlPlane) startSchedulerIfWanted(ctx context.Context) error {
	if c.options.Scheduler == "" {
		return nil
	}
	return c.startScheduler(ctx)
}

// findAuthority makes a certificate authority for a control plane without data, or takes what a killed one had.
func (c *ControlPlane) findAuthority() (err error) {
	pki := filepath.Join(c.options.Dir, "pki")
	if c.options.Resume {
		c.pki, err = oldAuthority(pki)
		return err
	}
	if err := os.RemoveAll(filepath.Join(c.options.Dir, "etcd")); err != nil {
		return err
	}
	c.pki, err = newAuthority(pki)
	return err
}

// waitReady waits until /readyz answers and the namespaces every cluster has exist.
func (c *ControlPlane) waitReady(ctx context.Context, client kubernetes.Interface) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-c.ended:
			return false, err
		default:
		}
		if last = client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); last != nil {
			return false, nil
		}
		_, last = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		if last != nil && !apierrors.IsNotFound(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("kube-apiserver is not ready: %w (last answer: %w)", err, last)
	}
	return nil
}

// URL is the address of the API server.
func (c *ControlPlane) URL() string { return c.url }

// Kubeconfig is the path of the kubeconfig of that name: "admin", "kubelet-NODE" or "agent-NODE".
func (c *ControlPlane) Kubeconfig(name string) string {
	return filepath.Join(c.options.Dir, name+".kubeconfig")
}

// Config is the administrator's client configuration.
func (c *ControlPlane) Config() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", c.Kubeconfig("admin"))
}

// Ended gets an error when a part ends before Stop.
func (c *ControlPlane) Ended() <-chan error { return c.ended }

// run runs one part in the background. What it returns once it was told to stop is no error: kube-scheduler always
// returns one.
func (c *ControlPlane) run(ctx context.Context, part string, body func() error) {
	c.running.Add(1)
	go func() {
		defer c.running.Done()
		if err := body(); ctx.Err() == nil {
			c.ended <- fmt.Errorf("%s ended: %w", part, err)
		}
	}()
}

// Stop ends every part, etcd last, and removes the data; logs and kubeconfigs stay.
func (c *ControlPlane) Stop() error {
	c.cancel()
	stopped := make(chan struct{})
	go func() {
		c.running.Wait()
		close(stopped)
	}()
	var err error
	select {
	case <-stopped:
	case <-time.After(stopTimeout):
		err = fmt.Errorf("the control plane did not stop within %v", stopTimeout)
	}
	if c.etcd != nil {
		c.etcd.Close()
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(c.options.Dir, "etcd")))
}
