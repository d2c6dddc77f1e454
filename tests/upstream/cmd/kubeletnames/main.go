// SPDX-License-Identifier: Apache-2.0

// kubeletnames prints the feature gates, with their maturity and the gates that they need, and the configuration fields of the kubelet
// whose code it is built with. It imports only what registers gates, so that it can be built with releases whose managers cannot.
package main

import (
	"fmt"
	"reflect"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	_ "k8s.io/kubernetes/pkg/features" // registers the gates, those of the libraries too
)

func main() {
	// As the kubelet does (cmd/kubelet/app/server.go, pkg/kubelet/server/server.go).
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	utilruntime.Must(metricsfeatures.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if spec.PreRelease != "PRE-ALPHA" { // a gate of a later release
			fmt.Printf("gate %s %c\n", name, maturity(spec))
		}
	}
	// From 1.35 on.
	if gates, ok := any(utilfeature.DefaultMutableFeatureGate).(interface {
		Dependencies() map[featuregate.Feature][]featuregate.Feature
	}); ok {
		for name, needed := range gates.Dependencies() {
			for _, other := range needed {
				fmt.Printf("need %s>%s +\n", name, other)
			}
		}
	}
	fmt.Println("field apiVersion +")
	fmt.Println("field kind +")
	config := reflect.TypeFor[kubeletconfigv1beta1.KubeletConfiguration]()
	for i := range config.NumField() {
		if name, _, _ := strings.Cut(config.Field(i).Tag.Get("json"), ","); name != "" {
			fmt.Printf("field %s +\n", name)
		}
	}
}

// maturity is a letter: a(lpha), b(eta), g(enerally available), d(eprecated) or l(ocked); a capital letter if the gate is on by
// default.
func maturity(spec featuregate.FeatureSpec) rune {
	letter := map[string]rune{"ALPHA": 'a', "BETA": 'b', "": 'g', "DEPRECATED": 'd'}[string(spec.PreRelease)]
	if spec.LockToDefault {
		letter = 'l'
	}
	if letter == 0 {
		panic("a gate of maturity " + string(spec.PreRelease))
	}
	if spec.Default {
		letter += 'A' - 'a'
	}
	return letter
}
