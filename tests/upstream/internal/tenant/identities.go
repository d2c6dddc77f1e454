// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"time"

	topologyv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var objects = topologyv1alpha2.SchemeGroupVersion.WithResource("noderesourcetopologies")

func amount(n int) *resource.Quantity { return resource.NewQuantity(int64(n), resource.DecimalSI) }

// nodeIdentity is what a node may do with its kubelet's certificate.
type nodeIdentity struct {
	name    string
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

// asNode is the identity of a node, once it has one.
func (t *Test) asNode(name string) *nodeIdentity {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.nodes[name]; known != nil {
		return known
	}
	config := rest.CopyConfig(t.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}}
	node := &nodeIdentity{name: name, typed: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config)}
	t.nodes[name] = node
	return node
}

// patchStatus patches the status of a pod that is bound to the node. The authorizer hears of the binding a moment later.
func (n *nodeIdentity) patchStatus(ctx context.Context, name string, status map[string]any) (err error) {
	for late := time.Now().Add(5 * time.Second); ; {
		_, err = n.typed.CoreV1().Pods(userNamespace).Patch(ctx, name, types.MergePatchType, marshal(map[string]any{"status": status}), metav1.PatchOptions{}, "status")
		if !apierrors.IsForbidden(err) || time.Now().After(late) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patchNode patches the node's own Node.
func (n *nodeIdentity) patchNode(ctx context.Context, patch map[string]any) error {
	_, err := n.typed.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, marshal(patch), metav1.PatchOptions{})
	return err
}

// writeObject replaces the node's own object.
func (n *nodeIdentity) writeObject(ctx context.Context, object *topologyv1alpha2.NodeResourceTopology) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	metadata := content["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	content["apiVersion"], content["kind"] = topologyv1alpha2.SchemeGroupVersion.String(), "NodeResourceTopology"
	patch := (&unstructured.Unstructured{Object: content})
	text, err := patch.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = n.dynamic.Resource(objects).Patch(ctx, n.name, types.MergePatchType, text, metav1.PatchOptions{})
	if tooLarge(err) {
		return fmt.Errorf("%d bytes: %w", len(text), err)
	}
	return err
}

// plainNode has no labels or annotations any more.
func (t *Test) plainNode(ctx context.Context, name string) error {
	node, err := t.admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Labels, node.Annotations = nil, nil
	_, err = t.admin.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// allowResizes gives the user the right that the role edit does not have.
func (t *Test) allowResizes(ctx context.Context) error {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "resize"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/resize"}, Verbs: []string{"patch"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "resize"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "resize"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: userNamespace, Name: "user"}}}
	_, err := t.admin.RbacV1().Roles(userNamespace).Create(ctx, role, metav1.CreateOptions{})
	if err == nil {
		_, err = t.admin.RbacV1().RoleBindings(userNamespace).Create(ctx, binding, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
