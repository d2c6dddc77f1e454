// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2/helper/numanode"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"nrtd.dev/tests/upstream/internal/managers"
)

// maxPublishedID is the last NUMA node id that schedulers can read.
const maxPublishedID = 63

// A source is what nrtd is given to read.
type source struct {
	name       string
	api, files bool
}

var sources = []source{{"the files", false, true}, {"the API", true, false}, {"both", true, true}}

// dumped is what `nrtd dump -o json` prints, as far as it is compared.
type dumped struct {
	Zones []struct {
		Name, Type string
		Resources  []struct {
			Name                   string
			Allocatable, Available resource.Quantity
		}
	}
}

// compareAmounts compares what the NUMA nodes have left with what nrtd would publish, from each source alone and from
// both.
func (d *Driver) compareAmounts(ctx context.Context, m *managers.Managers, machine *Machine, root string, devices []managers.Devices) ([]string, error) {
	if err := settle(m); err != nil {
		return nil, err
	}
	var differences []string
	for _, s := range sources {
		found, err := d.compareSource(ctx, m, machine, root, devices, s)
		if err != nil {
			return nil, err
		}
		for _, line := range found {
			differences = append(differences, "from "+s.name+": "+line)
		}
	}
	return differences, nil
}

func (d *Driver) compareSource(ctx context.Context, m *managers.Managers, machine *Machine, root string, devices []managers.Devices, s source) ([]string, error) {
	args := []string{"dump", "--sysroot", machine.Dir, "--kubelet-root", "/" + root,
		"--kubelet-config", "/" + root + "/config.yaml", "--node-name", "node", "-o", "json"}
	if s.api {
		args = append(args, "--pod-resources", filepath.Join(m.Root, "pod-resources", "kubelet.sock"))
	}
	if !s.files {
		args = append(args, "--state-files", "none")
	}
	text, warnings, err := d.Nrtd.runBoth(ctx, args...)
	if err != nil {
		return []string{err.Error()}, nil
	}
	var differences []string
	if strings.Contains(warnings, "disagree") {
		differences = append(differences, warnings)
	}
	var got dumped
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, err
	}
	want := expected(m, machine, devices, s)
	for _, zone := range got.Zones {
		id, err := numanode.NameToID(zone.Name)
		if err != nil || zone.Type != "Node" {
			continue
		}
		for _, r := range zone.Resources {
			amounts, known := want[r.Name][id]
			delete(want[r.Name], id)
			if !known || amounts.Allocatable < 0 { // below 0 nrtd publishes what the machine has
				continue
			}
			d.Tally.Amounts++
			if seen := (managers.Amounts{Allocatable: r.Allocatable.Value(), Available: r.Available.Value()}); seen != amounts {
				differences = append(differences, fmt.Sprintf("%s of %s: kubelet %+v, nrtd publishes %+v", r.Name, zone.Name, amounts, seen))
			}
		}
	}
	for _, device := range devices {
		for id := range want[device.Resource] {
			if id > maxPublishedID {
				continue
			}
			differences = append(differences, fmt.Sprintf("%s is not in zone node-%d", device.Resource, id))
		}
	}
	return differences, nil
}

// expected is what the managers have, by resource and NUMA node, as far as the source can tell it.
func expected(m *managers.Managers, machine *Machine, devices []managers.Devices, s source) map[string]map[int]managers.Amounts {
	want := map[string]map[int]managers.Amounts{}
	if cpus := m.CPUsTold(machine.Info.Topology, !s.files); cpus != nil {
		want[string(v1.ResourceCPU)] = cpus
	}
	names := []string{string(v1.ResourceMemory)}
	for _, pool := range machine.Info.HugePages {
		names = append(names, v1.ResourceHugePagesPrefix+resource.NewQuantity(int64(pool.PageSize)<<10, resource.BinarySI).String())
	}
	for _, name := range names {
		// The API tells blocks: how one lies on several NUMA nodes, and what init containers keep, is not in it.
		if memory := m.Memory(v1.ResourceName(name)); memory != nil && (s.files || m.MemoryToldByBlocks()) {
			want[name] = memory
		}
	}
	for _, d := range devices {
		if s.api || d.OneNodeAtMost() {
			want[d.Resource] = m.DevicesByNode(d.Resource, machine.nodeIDs(), !s.files)
		}
	}
	return want
}

// settle makes the kubelet's root what it is some time after the last change: a folder for each pod, and a checkpoint of
// devices that is not brand new. The device manager leaves a pod that has ended in it.
func settle(m *managers.Managers) error {
	folder := filepath.Join(m.Root, "pods")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for _, pod := range m.GetActivePods() {
		if err := os.Mkdir(filepath.Join(folder, string(pod.UID)), 0o755); err != nil {
			return err
		}
	}
	earlier := time.Now().Add(-time.Minute)
	err := os.Chtimes(filepath.Join(m.Root, "device-plugins", "kubelet_internal_checkpoint"), earlier, earlier)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// offerPCI tells sysfs the NUMA nodes of devices, as far as it can: of one device one. The folders go with the case.
func offerPCI(machine *Machine, devices []managers.Devices) (func(), error) {
	folder := filepath.Join(machine.Dir, "sys/bus/pci/devices")
	var made []string
	remove := func() {
		for _, path := range made {
			os.RemoveAll(path)
		}
	}
	for _, d := range devices {
		for i, nodes := range d.NUMA {
			node := -1
			if len(nodes) == 1 {
				node = nodes[0]
			} else if len(nodes) > 1 {
				continue
			}
			path := filepath.Join(folder, d.ID(i))
			if err := os.MkdirAll(path, 0o755); err != nil {
				return remove, err
			}
			made = append(made, path)
			if err := os.WriteFile(filepath.Join(path, "numa_node"), []byte(fmt.Sprintln(node)), 0o644); err != nil {
				return remove, err
			}
		}
	}
	return remove, nil
}
