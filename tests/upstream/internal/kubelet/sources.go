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

// sourcesAfter is what nrtd is given to read after a step. A sample goes by the pod's name, so that it is the same in a
// sequence with fewer steps.
func (d *Driver) sourcesAfter(s Step) []source {
	if !d.Sample {
		return sources
	}
	name := s.Remove + s.Complete
	if s.Resize != nil {
		name = s.Resize.Pod
	}
	if s.Admit != nil {
		name = s.Admit.Name
	}
	i := int(name[len(name)-1]) % len(sources)
	return sources[i : i+1]
}

// compareAmounts compares what the NUMA nodes have left with what nrtd would publish from each of the sources.
func (d *Driver) compareAmounts(ctx context.Context, m *managers.Managers, machine *Machine, root string, devices []managers.Devices, given []source) ([]string, error) {
	if err := settle(m, machine); err != nil {
		return nil, err
	}
	var differences []string
	for _, s := range given {
		if !s.api && len(m.Completed()) > 0 {
			continue // the files do not tell that they have ended
		}
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
		"--kubelet-config", "/" + root + "/config.yaml", "--kubelet-version", Release(), "--node-name", "node", "-o", "json"}
	if s.api {
		args = append(args, "--pod-resources", socketOf(m))
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
	want := m.Free(machine.Info, devices, s.api, s.files)
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

func socketOf(m *managers.Managers) string {
	return filepath.Join(m.Root, "pod-resources", "kubelet.sock")
}

// settle makes the node what it is some time after the last change: folders of logs for the pods that are there, a kubelet
// that has not just started, and state files that are not brand new.
func settle(m *managers.Managers, machine *Machine) error {
	logs := filepath.Join(machine.Dir, "var/log/pods")
	if err := os.RemoveAll(logs); err != nil {
		return err
	}
	for _, pod := range append(m.GetActivePods(), m.Completed()...) {
		name := fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID)
		if err := os.MkdirAll(filepath.Join(logs, name), 0o755); err != nil {
			return err
		}
	}
	earlier := time.Now().Add(-time.Minute)
	for _, path := range []string{socketOf(m), filepath.Join(m.Root, "cpu_manager_state"), filepath.Join(m.Root, "memory_manager_state"),
		filepath.Join(m.Root, "device-plugins", "kubelet_internal_checkpoint")} {
		if err := os.Chtimes(path, earlier, earlier); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// OfferPCI tells sysfs the NUMA nodes of devices, as far as it can, in the machine's folder: of one device one. The function removes them.
func OfferPCI(dir string, devices []managers.Devices) (func(), error) {
	folder := filepath.Join(dir, "sys/bus/pci/devices")
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
