// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"nrtd.dev/tests/upstream/internal/traffic"
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
	if err := flags.Parse(append(c.auditFlags(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--anonymous-auth=false",
		"--client-ca-file="+pki.caFile(),
		"--tls-cert-file="+pki.certFile("apiserver"),
		"--tls-private-key-file="+pki.keyFile("apiserver"),
		"--etcd-servers=https://"+c.etcd.Clients[0].Addr().String(),
		"--etcd-cafile="+pki.caFile(),
		"--etcd-certfile="+pki.certFile("apiserver"),
		"--etcd-keyfile="+pki.keyFile("apiserver"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+pki.certFile("service-account"),
		"--service-account-signing-key-file="+pki.keyFile("service-account"),
		"--feature-gates="+c.options.FeatureGates,
		"--runtime-config="+c.options.RuntimeConfig,
	)); err != nil {
		return err
	}
	s.SecureServing.Listener, s.SecureServing.BindPort = served.Listener(listener), port
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

// Auditing is the name of the file in Dir with a line for each request that Options.Audit tells of.
const Auditing = "audit.log"

// auditFlags has the server write that file; it goes on where another server ended.
func (c *ControlPlane) auditFlags() []string {
	if c.options.Audit == "" {
		return nil
	}
	return []string{"--audit-policy-file=" + c.options.Audit, "--audit-log-path=" + filepath.Join(c.options.Dir, Auditing),
		"--audit-log-maxsize=100000", "--audit-log-mode=blocking"}
}

// What /metrics has of the connections to the server.
const (
	Connections = "nrtd_test_connections"
	BytesIn     = "nrtd_test_bytes_in"
	BytesOut    = "nrtd_test_bytes_out"
)

// served counts them.
var served traffic.Counter

func init() {
	for name, n := range map[string]*atomic.Int64{Connections: &served.Connections, BytesIn: &served.In, BytesOut: &served.Out} {
		legacyregistry.RawMustRegister(metrics.NewGaugeFunc(&metrics.GaugeOpts{Name: name, Help: "since the start"},
			func() float64 { return float64(n.Load()) }))
	}
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
