// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"nrtd.dev/tests/upstream/internal/managers"
)

var unknownGate = regexp.MustCompile(`gate '(.*)' is not known`)

// CompareGates returns the feature gates of this kubelet that nrtd says it does not know, and a name that no kubelet has
// if nrtd does not say so of it.
func CompareGates(ctx context.Context, nrtd *Nrtd) ([]string, error) {
	const invented = "NoKubeletHasThis"
	gates := managers.FeatureGates()
	gates[invented] = true
	folder, err := os.MkdirTemp("", "nk-gates-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	text, err := json.Marshal(map[string]any{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "featureGates": gates})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	_, said, err := nrtd.runBoth(ctx, "dump", "--what", "inventory", "--kubelet-config", path, "--pod-resources", "none")
	if err != nil {
		return nil, err
	}
	strange := map[string]bool{}
	for _, found := range unknownGate.FindAllStringSubmatch(said, -1) {
		strange[found[1]] = true
	}
	if !strange[invented] {
		return nil, fmt.Errorf("nrtd knows a feature gate that there is not: %s", said)
	}
	delete(strange, invented)
	return slices.Sorted(maps.Keys(strange)), nil
}
