// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	utilfs "k8s.io/kubernetes/pkg/util/filesystem"
	"k8s.io/utils/cpuset"
)

// changedGates are the feature gates of the last configuration.
var changedGates []featuregate.Feature

// LoadConfig reads a KubeletConfiguration as the kubelet does: decoded strictly, defaulted and validated. Its feature
// gates become those of this process, in place of those of the configuration before. At a gate that it does not know the
// kubelet's code panics, and the kubelet ends; that is an error here.
func LoadConfig(path string) (ret *kubeletconfig.KubeletConfiguration, err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("%s: %v", path, said)
		}
	}()
	gates := utilfeature.DefaultMutableFeatureGate
	for _, gate := range changedGates {
		if err := gates.ResetFeatureValueToDefault(gate); err != nil {
			return nil, err
		}
	}
	changedGates = nil
	loader, err := configfiles.NewFsLoader(&utilfs.DefaultFs{}, path)
	if err != nil {
		return nil, err
	}
	config, err := loader.Load(context.Background())
	if err != nil {
		return nil, err
	}
	for gate := range config.FeatureGates {
		changedGates = append(changedGates, featuregate.Feature(gate))
	}
	if err := gates.SetFromMap(config.FeatureGates); err != nil {
		return nil, err
	}
	config.FailCgroupV1 = false // nothing here has to do with this machine's control groups
	if err := validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return config, nil
}

// reservation is what the kubelet keeps from pods, and which CPUs it was told by number. It follows the kubelet's
// start: reservedSystemCPUs replaces what the two reservations say of CPUs.
func reservation(config *kubeletconfig.KubeletConfiguration, capacity v1.ResourceList) (v1.ResourceList, cpuset.CPUSet, error) {
	cpus, err := cpuset.Parse(config.ReservedSystemCPUs)
	if err != nil {
		return nil, cpus, fmt.Errorf("reservedSystemCPUs: %w", err)
	}
	kube, system := copyOf(config.KubeReserved), copyOf(config.SystemReserved)
	if cpus.Size() > 0 {
		delete(kube, "cpu")
		system["cpu"] = strconv.Itoa(cpus.Size())
	}
	thresholds, err := eviction.ParseThresholdConfig(nil, config.EvictionHard, nil, nil, nil)
	if err != nil {
		return nil, cpus, err
	}
	total := v1.ResourceList{}
	for name, amount := range hardEvictionReservation(thresholds, capacity) {
		total[name] = amount
	}
	for _, list := range []map[string]string{kube, system} {
		for name, text := range list {
			amount, err := resource.ParseQuantity(text)
			if err != nil {
				return nil, cpus, fmt.Errorf("reserved %s: %w", name, err)
			}
			sum := total[v1.ResourceName(name)]
			sum.Add(amount)
			total[v1.ResourceName(name)] = sum
		}
	}
	for name, amount := range total {
		if amount.IsZero() {
			delete(total, name)
		}
	}
	return total, cpus, nil
}

func copyOf(m map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range m {
		out[key] = value
	}
	return out
}
