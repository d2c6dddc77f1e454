// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

const (
	volumeZone    = "zone-0" // of all volumes, also the name of their StorageClass
	provisioner   = "disks.example.com"
	selectedNode  = "volume.kubernetes.io/selected-node"
	bindCompleted = "pv.kubernetes.io/bind-completed"
)

// zoneOf is the zone of the node with this place in the order in which a cluster is filled: the first half of the nodes is in that of the volumes.
func (c *Filling) zoneOf(place int) string {
	if place < c.Nodes/2 {
		return volumeZone
	}
	return "zone-1"
}

// labelZones puts the nodes into their zones.
func (p *play) labelZones(ctx context.Context, c Filling, order []int) error {
	return parallel(c.Nodes, func(i int) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"%s":"%s"}}}`, v1.LabelTopologyZone, c.zoneOf(order[i]))
		_, err := p.client.CoreV1().Nodes().Patch(ctx, nodeName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// createClass makes the StorageClass, whose volumes wait until the scheduler has selected a node.
func (p *play) createClass(ctx context.Context) error {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := p.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: volumeZone},
		Provisioner: provisioner, VolumeBindingMode: &wait,
		AllowedTopologies: []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{
			{Key: v1.LabelTopologyZone, Values: []string{volumeZone}}}}}}, metav1.CreateOptions{})
	return err
}

// addClaim gives the pod a volume: one that exists, or with `late` one that is made when the scheduler has selected a node.
func (p *play) addClaim(ctx context.Context, pod *v1.Pod, late bool) error {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: ptr.To(volumeZone),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}}}
	pod.Spec.Volumes = []v1.Volume{{Name: "disk", VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}}
	claim, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	if err != nil || late {
		return err
	}
	return p.bindClaim(ctx, claim)
}

// bindClaim makes a volume and binds the claim to it, as the controllers of a cluster do.
func (p *play) bindClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-" + claim.Name},
		Spec: v1.PersistentVolumeSpec{Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: volumeZone,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: provisioner, VolumeHandle: claim.Name}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{volumeZone}}}}}}}}}
	if _, err := p.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		return err
	}
	claims := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	bound := claim.DeepCopy()
	bound.Spec.VolumeName = volume.Name
	metav1.SetMetaDataAnnotation(&bound.ObjectMeta, bindCompleted, "yes")
	bound, err := claims.Update(ctx, bound, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	bound.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, AccessModes: claim.Spec.AccessModes, Capacity: volume.Spec.Capacity}
	_, err = claims.UpdateStatus(ctx, bound, metav1.UpdateOptions{})
	return err
}

// provision makes the volumes of claims for which the scheduler has selected a node.
func (p *play) provision(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(p.client, 0)
	informer := factory.Core().V1().PersistentVolumeClaims().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) {
		claim := object.(*v1.PersistentVolumeClaim)
		if claim.Annotations[selectedNode] == "" || claim.Spec.VolumeName != "" {
			return
		}
		if err := p.bindClaim(ctx, claim); err != nil && ctx.Err() == nil {
			p.failed(fmt.Errorf("claim %s: %w", claim.Name, err))
		}
	}}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}
