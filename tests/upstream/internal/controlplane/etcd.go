// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd runs a one-member etcd in this process; clients need a certificate of pki.
func startEtcd(ctx context.Context, dir string, pki *authority) (*embed.Etcd, error) {
	if err := pki.issue("etcd", pkix.Name{CommonName: "etcd"}); err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name = "default"
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{filepath.Join(dir, "etcd.log")}
	cfg.UnsafeNoFsync = true // the data dies with the test
	cfg.ClientTLSInfo = transport.TLSInfo{
		CertFile:       pki.certFile("etcd"),
		KeyFile:        pki.keyFile("etcd"),
		TrustedCAFile:  pki.caFile(),
		ClientCertAuth: true,
	}
	client := url.URL{Scheme: "https", Host: "127.0.0.1:0"}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)

	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		etcd.Close()
		return nil, fmt.Errorf("etcd was not ready in time: %w", ctx.Err())
	}
}

// Compact has etcd forget all revisions before the last, which it returns.
func (c *ControlPlane) Compact() (int64, error) {
	revision := c.etcd.Server.KV().Rev()
	_, err := c.etcd.Server.Compact(context.Background(), &etcdserverpb.CompactionRequest{Revision: revision, Physical: true})
	return revision, err
}
