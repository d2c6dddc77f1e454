// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/x509/pkix"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// certKubeconfig writes a kubeconfig for a fresh client certificate of the given user and groups.
func (c *ControlPlane) certKubeconfig(name, user string, groups ...string) error {
	if err := c.pki.issue(name, pkix.Name{CommonName: user, Organization: groups}); err != nil {
		return err
	}
	cert, err := os.ReadFile(c.pki.certFile(name))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.pki.keyFile(name))
	if err != nil {
		return err
	}
	return c.writeKubeconfig(name, &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

// writeKubeconfig writes DIR/NAME.kubeconfig; it holds all it needs, so it can be copied elsewhere.
func (c *ControlPlane) writeKubeconfig(name string, auth *clientcmdapi.AuthInfo) error {
	ca, err := os.ReadFile(c.pki.caFile())
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: c.URL(), CertificateAuthorityData: ca}
	config.AuthInfos[name] = auth
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: name}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, c.Kubeconfig(name))
}
