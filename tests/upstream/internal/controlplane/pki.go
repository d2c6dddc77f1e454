// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certLifetime bounds every certificate; a control plane never lives that long.
const certLifetime = 24 * time.Hour

// authority signs the certificates of one control plane and keeps them in one folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	old  bool // what it has signed before is used again
}

// oldAuthority is the one that newAuthority has left in the folder, with every certificate that it signed.
func oldAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir, old: true}
	pair, err := tls.LoadX509KeyPair(a.caFile(), a.keyFile("ca"))
	if err != nil {
		return nil, err
	}
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(crypto.Signer)
	return a, nil
}

// newAuthority makes a certificate authority and writes it to DIR/ca.crt and DIR/ca.key.
func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "nrtd-test-ca"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, cert: cert, key: key}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(a.keyFile("ca"), "PRIVATE KEY", keyDER); err != nil {
		return nil, err
	}
	return a, writePEM(a.caFile(), "CERTIFICATE", der)
}

func (a *authority) caFile() string              { return filepath.Join(a.dir, "ca.crt") }
func (a *authority) certFile(name string) string { return filepath.Join(a.dir, name+".crt") }
func (a *authority) keyFile(name string) string  { return filepath.Join(a.dir, name+".key") }

// issue writes NAME.crt and NAME.key: a certificate for subject that serves on the loopback and is a client as well.
func (a *authority) issue(name string, subject pkix.Name) error {
	if _, err := os.Stat(a.keyFile(name)); a.old && err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := sign(&x509.Certificate{
		Subject:     subject,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		// The last is this machine's loopback, as a virtual machine of QEMU reaches it.
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1), net.IPv4(10, 0, 2, 2)},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	if err := writePEM(a.certFile(name), "CERTIFICATE", der); err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(a.keyFile(name), "PRIVATE KEY", keyDER)
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Minute)
	template.NotAfter = time.Now().Add(certLifetime)
	return x509.CreateCertificate(rand.Reader, template, parent, public, key)
}

func writePEM(path, kind string, der []byte) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
