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
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout bounds how long any part may take until it is ready.
const startTimeout = 2 * time.Minute

// Options says what a control plane holds.
type Options struct {
	Dir       string   // where kubeconfigs, certificates, logs and data go
	Manifests []string // YAML files and folders applied at the start: the CRD, roles, admission policies
	Nodes     []string // nodes to register, each with its identity
	Agent     Agent    // the service account of the agent under test
	Scheduler string   // configuration file of the scheduler, "" for none
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	options Options
	pki     *authority
	etcd    *embed.Etcd
	server  *apiServer
	sched   chan error
	cancel  context.CancelFunc
}

// Start starts etcd and the API server, registers what options name, then starts the scheduler.
// On failure nothing is left running.
func Start(options Options) (*ControlPlane, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &ControlPlane{options: options, cancel: cancel}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	waitCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	var err error
	if c.pki, err = newAuthority(filepath.Join(c.options.Dir, "pki")); err != nil {
		return err
	}
	if c.etcd, err = startEtcd(waitCtx, c.options.Dir, c.pki); err != nil {
		return err
	}
	etcdURL := "https://" + c.etcd.Clients[0].Addr().String()
	if c.server, err = startAPIServer(ctx, etcdURL, c.pki); err != nil {
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
	if err := applyManifests(waitCtx, config, c.options.Manifests); err != nil {
		return err
	}
	if err := c.registerNodes(waitCtx, client); err != nil {
		return err
	}
	if c.options.Scheduler == "" {
		return nil
	}
	return c.startScheduler(ctx)
}

// waitReady waits until /readyz answers and the namespaces every cluster has exist.
func (c *ControlPlane) waitReady(ctx context.Context, client kubernetes.Interface) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-c.server.done:
			c.server.done <- err
			return false, fmt.Errorf("kube-apiserver ended: %w", err)
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
func (c *ControlPlane) URL() string { return c.server.url }

// Kubeconfig is the path of the kubeconfig of that name: "admin", "kubelet-NODE" or "agent-NODE".
func (c *ControlPlane) Kubeconfig(name string) string {
	return filepath.Join(c.options.Dir, name+".kubeconfig")
}

// Config is the administrator's client configuration.
func (c *ControlPlane) Config() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", c.Kubeconfig("admin"))
}

// Done is closed over by the caller's select: it gets an error when a part ends by itself.
func (c *ControlPlane) Done() <-chan error { return c.server.done }

// Stop ends every part, the scheduler first and etcd last, and removes the data; logs and kubeconfigs stay.
func (c *ControlPlane) Stop() error {
	c.cancel()
	var errs []error
	if c.sched != nil {
		errs = append(errs, await(c.sched, "kube-scheduler"))
	}
	if c.server != nil {
		errs = append(errs, await(c.server.done, "kube-apiserver"))
	}
	if c.etcd != nil {
		c.etcd.Close()
	}
	errs = append(errs, os.RemoveAll(filepath.Join(c.options.Dir, "etcd")))
	return errors.Join(errs...)
}

func await(done <-chan error, what string) error {
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("%s did not stop within a minute", what)
	}
}
