// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"
	"sigs.k8s.io/yaml"
)

// Spec is what a Numatopology object says.
type Spec struct {
	Policies    map[string]string    `json:"policies,omitempty"`
	ResReserved map[string]string    `json:"resReserved,omitempty"`
	NumaRes     map[string]Amount    `json:"numares,omitempty"`
	CPUDetail   map[string]CPUDetail `json:"cpuDetail,omitempty"`
}

// Amount is a resource of Spec.
type Amount struct {
	Allocatable string `json:"allocatable,omitempty"`
	Capacity    int    `json:"capacity,omitempty"`
}

// CPUDetail is a CPU of Spec.
type CPUDetail struct {
	NUMA   int `json:"numa,omitempty"`
	Socket int `json:"socket,omitempty"`
	Core   int `json:"core,omitempty"`
}

// SpecOf reads an object's spec.
func SpecOf(object map[string]any) (*Spec, error) {
	text, err := json.Marshal(object["spec"])
	if err != nil {
		return nil, err
	}
	spec := &Spec{}
	return spec, json.Unmarshal(text, spec)
}

// kubeletConfig is what the exporter reads of the kubelet's configuration file.
type kubeletConfig struct {
	CPUManagerPolicy      string
	TopologyManagerPolicy string
	KubeReserved          map[string]string
	SystemReserved        map[string]string
}

// cpusIn reads a CPU list of the kernel; a file that is not there has none.
func cpusIn(path ...string) cpuset.CPUSet {
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return cpuset.New()
	}
	cpus, err := cpuset.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return cpuset.New()
	}
	return cpus
}

func numberIn(path ...string) (int, error) {
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Exporter is what Volcano's resource-exporter would write about the node in dir, by its documented behaviour: reading
// dir/sys/devices/system, and the kubelet's config.yaml and cpu_manager_state (--enable-pod-resource=false).
func Exporter(dir string) (*Spec, error) {
	devices, kubelet := filepath.Join(dir, "sys/devices/system"), filepath.Join(dir, "var/lib/kubelet")
	text, err := os.ReadFile(filepath.Join(kubelet, "config.yaml"))
	if err != nil {
		return nil, err
	}
	config := kubeletConfig{}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	var state struct{ DefaultCPUSet string }
	if text, err = os.ReadFile(filepath.Join(kubelet, "cpu_manager_state")); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, err
	}
	reserved := resource.Quantity{Format: resource.DecimalSI}
	for _, amounts := range []map[string]string{config.KubeReserved, config.SystemReserved} {
		if amount, ok := amounts["cpu"]; ok {
			reserved.Add(resource.MustParse(amount))
		}
	}
	spec := &Spec{
		Policies:    map[string]string{"CPUManagerPolicy": config.CPUManagerPolicy, "TopologyManagerPolicy": config.TopologyManagerPolicy},
		ResReserved: map[string]string{"cpu": reserved.String()},
		CPUDetail:   map[string]CPUDetail{},
	}
	capacity := 0
	for _, node := range cpusIn(devices, "node/online").List() {
		cpus := cpusIn(devices, "node", fmt.Sprintf("node%d", node), "cpulist")
		capacity += cpus.Size()
		for _, cpu := range cpus.List() {
			topology := filepath.Join(devices, "cpu", fmt.Sprintf("cpu%d", cpu), "topology")
			core, err := numberIn(topology, "core_id")
			socket, err2 := numberIn(topology, "physical_package_id")
			if spec.CPUDetail == nil || err != nil || err2 != nil {
				spec.CPUDetail = nil // one CPU that cannot be read takes all away
				continue
			}
			spec.CPUDetail[strconv.Itoa(cpu)] = CPUDetail{NUMA: node, Socket: socket, Core: core}
		}
	}
	spec.NumaRes = map[string]Amount{"cpu": {Allocatable: state.DefaultCPUSet, Capacity: capacity}}
	return spec, nil
}

// Compared has what differs between the exporter's object of a node and nrtd's.
type Compared struct {
	Explained map[string]int // by the rule that explains it
	Others    []string
}

// Rules that explain differences.
const (
	ReservedCPUs = "numares: reserved CPUs are not free"
	NoReserved   = "resReserved: 0"
	CoreNames    = "cpuDetail: a core is its lowest CPU"
	Defaults     = "policies: the kubelet's default where the file has none"
	CountedOnce  = "numares: a CPU that several NUMA nodes claim counts once"
	WithoutNUMA  = "a kernel without NUMA nodes has one"
)

// Compare compares what both say of the node in dir, whose reserved CPUs are given.
func Compare(dir string, exporter, nrtd *Spec, reserved cpuset.CPUSet) (*Compared, error) {
	c := &Compared{Explained: map[string]int{}}
	c.rule(NoReserved, exporter.ResReserved["cpu"], nrtd.ResReserved["cpu"], "0")
	for _, name := range []string{"CPUManagerPolicy", "TopologyManagerPolicy"} {
		want := exporter.Policies[name]
		if want == "" {
			want = "none"
		}
		c.rule(Defaults, exporter.Policies[name], nrtd.Policies[name], want)
	}
	theirs, err := cpuset.Parse(exporter.NumaRes["cpu"].Allocatable)
	if err != nil {
		return nil, err
	}
	ours, err := cpuset.Parse(nrtd.NumaRes["cpu"].Allocatable)
	if err != nil {
		return nil, err
	}
	c.rule(ReservedCPUs, theirs.String(), ours.String(), theirs.Difference(reserved).String())
	if _, err := os.Stat(filepath.Join(dir, "sys/devices/system/node/online")); err != nil && len(exporter.CPUDetail) == 0 {
		c.Explained[WithoutNUMA]++
		return c, nil
	}
	c.rule(CountedOnce, strconv.Itoa(exporter.NumaRes["cpu"].Capacity), strconv.Itoa(nrtd.NumaRes["cpu"].Capacity),
		strconv.Itoa(len(exporter.CPUDetail)))
	for id := range nrtd.CPUDetail {
		if _, known := exporter.CPUDetail[id]; !known {
			c.other("CPU %s is in nrtd's cpuDetail alone", id)
		}
	}
	for id, theirs := range exporter.CPUDetail {
		ours, known := nrtd.CPUDetail[id]
		if !known {
			c.other("CPU %s is in the exporter's cpuDetail alone", id)
			continue
		}
		if theirs.NUMA != ours.NUMA || theirs.Socket != ours.Socket {
			c.other("CPU %s: the exporter says %+v, nrtd %+v", id, theirs, ours)
		}
		c.rule(CoreNames, strconv.Itoa(theirs.Core), strconv.Itoa(ours.Core), strconv.Itoa(lowest(dir, exporter.CPUDetail, id)))
	}
	return c, nil
}

// lowest is the lowest CPU of this one's core, which for the kubelet, too, is what has one name in a socket and NUMA node; on
// s390 sockets have names in a book, and books in a drawer.
func lowest(dir string, details map[string]CPUDetail, cpu string) int {
	least := math.MaxInt
	for id, other := range details {
		if number, err := strconv.Atoi(id); err == nil && other == details[cpu] && book(dir, id) == book(dir, cpu) {
			least = min(least, number)
		}
	}
	return least
}

func book(dir, cpu string) string {
	topology := filepath.Join(dir, "sys/devices/system/cpu/cpu"+cpu, "topology")
	book, _ := os.ReadFile(filepath.Join(topology, "book_id"))
	drawer, _ := os.ReadFile(filepath.Join(topology, "drawer_id"))
	return string(drawer) + string(book)
}

// rule counts a difference that the rule explains: nrtd says what the rule wants.
func (c *Compared) rule(rule, exporter, nrtd, want string) {
	switch {
	case nrtd != want:
		c.other("%s: the exporter says %q, nrtd %q, not %q", rule, exporter, nrtd, want)
	case exporter != nrtd:
		c.Explained[rule]++
	}
}

func (c *Compared) other(format string, values ...any) {
	c.Others = append(c.Others, fmt.Sprintf(format, values...))
}
