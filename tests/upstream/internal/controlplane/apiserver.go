// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// startAPIServer starts the real kube-apiserver on a free port of the loopback, with Node and RBAC authorisation and
// the default admission plugins plus NodeRestriction. It returns before the server is ready.
func (c *ControlPlane) startAPIServer(ctx context.Context) error {
	pki := c.pki
	for name, subject := range map[string]pkix.Name{
		"apiserver":       {CommonName: "kube-apiserver"},
		"service-account": {CommonName: "service-account"},
	} {
		if err := pki.issue(name, subject); err != nil {
			return err
		}
	}
	address, err := c.address()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port

	s := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	named := s.Flags()
	for _, f := range named.FlagSets {
		flags.AddFlagSet(f)
	}
	if err := flags.Parse([]string{
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--anonymous-auth=false",
		"--client-ca-file=" + pki.caFile(),
		"--tls-cert-file=" + pki.certFile("apiserver"),
		"--tls-private-key-file=" + pki.keyFile("apiserver"),
		"--etcd-servers=https://" + c.etcd.Clients[0].Addr().String(),
		"--etcd-cafile=" + pki.caFile(),
		"--etcd-certfile=" + pki.certFile("apiserver"),
		"--etcd-keyfile=" + pki.keyFile("apiserver"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki.certFile("service-account"),
		"--service-account-signing-key-file=" + pki.keyFile("service-account"),
	}); err != nil {
		return err
	}
	s.SecureServing.Listener, s.SecureServing.BindPort = listener, port
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return fmt.Errorf("kube-apiserver options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("kube-apiserver options: %w", utilerrors.NewAggregate(errs))
	}
	c.url = fmt.Sprintf("https://127.0.0.1:%d", port)
	c.run(ctx, "kube-apiserver", func() error { return app.Run(ctx, completed) })
	return nil
}

// address is where to listen: any free port, or that of the control plane before this one.
func (c *ControlPlane) address() (string, error) {
	if !c.options.Resume {
		return "127.0.0.1:0", nil
	}
	config, err := c.Config()
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(config.Host, "https://"), nil
}
