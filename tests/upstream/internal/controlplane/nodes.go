// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"nrtd.dev/tests/upstream/internal/apply"
)

// Agent names the service account of the agent under test, whose rights the manifests give.
type Agent struct {
	Namespace      string
	ServiceAccount string
}

// applyManifests applies the objects of the given files in their order.
func applyManifests(ctx context.Context, config *rest.Config, paths []string) error {
	objects, err := apply.Files(paths)
	if err != nil {
		return err
	}
	client, err := apply.NewClient(config)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if _, err := client.Apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// registerNodes registers each node as a kubelet would have and writes its two identities: kubelet-NODE with the
// node's client certificate, agent-NODE with a service account token bound to a pod on that node.
func (c *ControlPlane) registerNodes(ctx context.Context, client kubernetes.Interface) error {
	for _, namespace := range []string{metav1.NamespaceDefault, c.options.Agent.Namespace} {
		if err := ensureServiceAccount(ctx, client, namespace, "default"); err != nil {
			return err
		}
	}
	if err := ensureServiceAccount(ctx, client, c.options.Agent.Namespace, c.options.Agent.ServiceAccount); err != nil {
		return err
	}
	for _, name := range c.options.Nodes {
		if err := RegisterNode(ctx, client, name); err != nil {
			return fmt.Errorf("register node %s: %w", name, err)
		}
		if err := c.certKubeconfig("kubelet-"+name, "system:node:"+name, "system:nodes"); err != nil {
			return err
		}
		token, err := c.agentToken(ctx, client, name)
		if err != nil {
			return fmt.Errorf("agent identity of node %s: %w", name, err)
		}
		if err := c.writeKubeconfig("agent-"+name, &clientcmdapi.AuthInfo{Token: token}); err != nil {
			return err
		}
	}
	return nil
}

// ensureServiceAccount makes a namespace and a service account in it; no controller does that here.
func ensureServiceAccount(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().Namespaces().Create(ctx,
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// RegisterNode makes a Node that is ready and has room; a scenario that schedules sets its own amounts.
func RegisterNode(ctx context.Context, client kubernetes.Interface, name string) error {
	nodes := client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1.LabelHostname: name}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	// Admission taints every new node as not ready and a controller would lift that; there is none here.
	node.Spec.Taints = nil
	if node, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	amounts := v1.ResourceList{
		v1.ResourceCPU:              resource.MustParse("64"),
		v1.ResourceMemory:           resource.MustParse("256Gi"),
		v1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		v1.ResourcePods:             resource.MustParse("110"),
	}
	node.Status.Capacity, node.Status.Allocatable = amounts, amounts
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// agentToken makes the agent's pod on the node and returns a token bound to it, as the kubelet would mount it.
func (c *ControlPlane) agentToken(ctx context.Context, client kubernetes.Interface, node string) (string, error) {
	agent := c.options.Agent
	pod, err := client.CoreV1().Pods(agent.Namespace).Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "nrtd-" + node, Labels: map[string]string{"app.kubernetes.io/name": "nrtd"}},
		Spec: v1.PodSpec{
			NodeName:           node,
			ServiceAccountName: agent.ServiceAccount,
			Containers:         []v1.Container{{Name: "nrtd", Image: "nrtd"}},
		}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	request, err := client.CoreV1().ServiceAccounts(agent.Namespace).CreateToken(ctx, agent.ServiceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return request.Status.Token, nil
}
