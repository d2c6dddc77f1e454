// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"nrtd.dev/tests/upstream/internal/managers"
)

// invented is a name that no kubelet has. It is the last one of a file, of whose fields nrtd names the first.
const invented = "zNoKubeletHasThis"

var unknownName = regexp.MustCompile(`(?:gate|field) '(.*)' is not known`)

// CompareNames returns the feature gates and the configuration fields of this kubelet that nrtd says it does not know.
func CompareNames(ctx context.Context, nrtd *Nrtd) ([]string, error) {
	gates := managers.FeatureGates()
	gates[invented] = true
	unknown, err := unknownNames(ctx, nrtd, map[string]any{"featureGates": gates})
	if err != nil {
		return nil, err
	}
	for _, name := range configFields() {
		found, err := unknownNames(ctx, nrtd, map[string]any{name: 1, invented: 1})
		if err != nil && !strings.Contains(err.Error(), name) { // else it reads the field, and wants something else there
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		unknown = append(unknown, found...)
	}
	return unknown, nil
}

// configFields returns the names of the fields of KubeletConfiguration.
func configFields() []string {
	var names []string
	config := reflect.TypeFor[kubeletconfigv1beta1.KubeletConfiguration]()
	for i := range config.NumField() {
		if name, _, _ := strings.Cut(config.Field(i).Tag.Get("json"), ","); name != "" { // else apiVersion and kind
			names = append(names, name)
		}
	}
	return names
}

// PrintNames writes a line "gate NAME" for each feature gate of this kubelet and "field NAME" for each configuration field.
func PrintNames(out io.Writer) {
	for name := range managers.FeatureGates() {
		fmt.Fprintln(out, "gate", name)
	}
	for _, name := range append(configFields(), "apiVersion", "kind") {
		fmt.Fprintln(out, "field", name)
	}
}

// unknownNames gives nrtd a configuration with the invented name in it, and returns the others that it does not know.
func unknownNames(ctx context.Context, nrtd *Nrtd, config map[string]any) ([]string, error) {
	folder, err := os.MkdirTemp("", "nk-names-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	config["apiVersion"], config["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	text, err := json.Marshal(config)
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
	var unknown []string
	for _, found := range unknownName.FindAllStringSubmatch(said, -1) {
		unknown = append(unknown, found[1])
	}
	if !slices.Contains(unknown, invented) && len(unknown) == 0 {
		return nil, fmt.Errorf("nrtd knows a name that there is not: %s", said)
	}
	return slices.DeleteFunc(unknown, func(name string) bool { return name == invented }), nil
}
