// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"nrtd.dev/tests/upstream/internal/managers"
)

// change is one of the smallest changes of a refused pod with which `nrtd fit` says that it would fit.
type change struct {
	Container               *string // nil: the pod has one
	Resource, Request, Fits string
}

// nearest is these changes.
type nearest struct {
	change
	Further []change
}

func (n *nearest) apply(pod *v1.Pod) (bool, error) {
	for _, c := range append([]change{n.change}, n.Further...) {
		if done, err := c.apply(pod); err != nil || !done {
			return done, err
		}
	}
	return true, nil
}

// apply makes the change. It returns false if the pod has no such container.
func (c *change) apply(pod *v1.Pod) (bool, error) {
	amount, err := resource.ParseQuantity(c.Fits)
	if err != nil {
		return false, fmt.Errorf("nrtd would have the pod fit with %q: %w", c.Fits, err)
	}
	done := false
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if c.Container != nil && *c.Container != list[i].Name {
				continue
			}
			for _, amounts := range []v1.ResourceList{list[i].Resources.Requests, list[i].Resources.Limits} {
				if _, there := amounts[v1.ResourceName(c.Resource)]; there {
					amounts[v1.ResourceName(c.Resource)] = amount
					done = true
				}
			}
		}
	}
	return done, nil
}

// compareNearest asks nrtd, at the end of a sequence, with which smaller amount a pod that was refused would fit. On a node of its own the
// managers, asked about the smaller pod, must admit it.
func (d *Driver) compareNearest(ctx context.Context, m *managers.Managers, machine *Machine, root string, c Case, pod *v1.Pod) ([]string, error) {
	if len(c.Devices) > 0 || pod.Spec.Resources != nil { // which devices containers get is left to chance
		return nil, nil
	}
	if err := settle(m, machine); err != nil {
		return nil, err
	}
	smaller := pod.DeepCopy()
	smaller.Name = "smaller"
	got, err := d.ask(ctx, m, machine, root, smaller)
	if err != nil {
		return []string{err.Error()}, nil
	}
	if got.Nearest == nil {
		return nil, nil
	}
	if done, err := got.Nearest.apply(smaller); err != nil || !done {
		return []string{fmt.Sprintf("nrtd would change what the pod does not have: %+v", *got.Nearest)}, err
	}
	unseen := len(lackOf(m, smaller).maybe) > 0
	want, err := d.decideWithout(ctx, machine, c, nil, smaller)
	if err != nil {
		return nil, err
	}
	if !want.Admitted && (unseen || strings.HasPrefix(want.Reason, "OutOf")) {
		return nil, nil // what pods use of the shared pool is not known to nrtd
	}
	d.Tally.Nearest++
	if !want.Admitted {
		return []string{fmt.Sprintf("with %+v the kubelet still refuses the pod: %s: %s", *got.Nearest, want.Reason, want.Message)}, nil
	}
	return nil, nil
}
