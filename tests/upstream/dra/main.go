// SPDX-License-Identifier: Apache-2.0

// Command dra runs the driver dra-driver-cpu beside nrtd: the driver's own code reads a machine, publishes its devices, prepares random
// claims and gives them back, into a folder of CDI spec files. After each step `nrtd dump` must publish what the driver has left in each
// NUMA node, and `nrtd dump --what inventory` the claims. Only what surrounds this code, the connections to the kubelet, the API server
// and the container runtime, is missing: the driver's constructor makes them, so the members are set here.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-logr/logr"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/cpuinfo"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/driver"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/store"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/utils/cpuset"
)

const (
	driverName = "dra.cpu"
	nodeName   = "n"
	capacity   = "dra.cpu/cpu"
)

var (
	nrtd     = flag.String("nrtd", "build/nrtd", "the program nrtd")
	machines = flag.String("machines", "", "folder of machines, a folder with sys and proc each")
	only     = flag.String("only", "", "run this machine only")
	steps    = flag.Int("steps", 12, "claims that are prepared or given back per machine and mode")
	seed     = flag.Uint64("seed", 1, "seed of the random steps")
)

// errUnreadable is returned for a machine that the driver does not support.
var errUnreadable = errors.New("the driver finds no CPU")

// quiet keeps the driver from logging each claim.
func quiet() context.Context { return logr.NewContext(context.Background(), logr.Discard()) }

// published keeps the devices in place of the API server.
type published struct{ devices []resourceapi.Device }

func (p *published) PublishResources(_ context.Context, r resourceslice.DriverResources) error {
	p.devices = nil
	for _, s := range r.Pools[nodeName].Slices {
		p.devices = append(p.devices, s.Devices...)
	}
	return nil
}

func (p *published) Stop() {}

// node is a machine with the driver and the claims that it has prepared.
type node struct {
	sysroot  string
	mode     string // individual, or what the driver groups CPUs by
	reserved cpuset.CPUSet
	topology *cpuinfo.CPUTopology
	driver   *driver.CPUDriver
	store    *store.CPUAllocation
	devices  []resourceapi.Device
	claims   map[types.UID]*resourceapi.ResourceClaim
	made     int
	strays   int // claims that got CPUs that they may not have, or none
}

// set writes an unexported member of the driver, which only its constructor sets.
func set(d *driver.CPUDriver, member string, value any) {
	field := reflect.ValueOf(d).Elem().FieldByName(member)
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// linkNodes adds the link of each CPU to its NUMA node, which the kernel has, and which recorded machines may lack.
func linkNodes(sysroot string) error {
	lists, err := filepath.Glob(filepath.Join(sysroot, "sys/devices/system/node/node*/cpulist"))
	if err != nil {
		return err
	}
	seen := cpuset.New()
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		cpus, err := cpuset.Parse(strings.Trim(string(text), "\n\x00"))
		if err != nil {
			return err
		}
		if both := seen.Intersection(cpus); !both.IsEmpty() {
			return fmt.Errorf("%w: CPUs %s are on two NUMA nodes", errUnreadable, both)
		}
		seen = seen.Union(cpus)
		node := filepath.Base(filepath.Dir(list))
		for _, cpu := range cpus.List() {
			link := filepath.Join(sysroot, "sys/devices/system/cpu", fmt.Sprintf("cpu%d", cpu), node)
			if err := os.Symlink("../../node/"+node, link); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func newNode(sysroot, mode string) (*node, error) {
	if err := os.Setenv("HOST_ROOT", sysroot); err != nil {
		return nil, err
	}
	if err := linkNodes(sysroot); err != nil {
		return nil, err
	}
	topology, err := cpuinfo.NewSystemCPUInfo().GetCPUTopology(logr.Discard())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if err != nil {
		return nil, err
	}
	if len(topology.CPUDetails) == 0 {
		return nil, errUnreadable
	}
	online, err := cpuinfo.OnlineCPUs(logr.Discard(), os.DirFS(filepath.Join(sysroot, "sys")).(fs.ReadLinkFS))
	if err != nil {
		return nil, err
	}
	cdi := filepath.Join(sysroot, "var/run/cdi")
	if err := errors.Join(os.RemoveAll(cdi), os.MkdirAll(cdi, 0o755)); err != nil {
		return nil, err
	}
	manager, err := driver.NewCdiManager(logr.Discard(), driverName, cdi)
	if err != nil {
		return nil, err
	}
	first := slices.Min(topology.CPUDetails.CPUs().List())
	n := &node{sysroot: sysroot, mode: mode, reserved: cpuset.New(first), topology: topology, driver: &driver.CPUDriver{},
		claims: map[types.UID]*resourceapi.ResourceClaim{}}
	n.store = store.NewCPUAllocation(topology, n.reserved)
	plugin := &published{}
	deviceMode, group := driver.CPU_DEVICE_MODE_GROUPED, mode
	if mode == driver.CPU_DEVICE_MODE_INDIVIDUAL {
		deviceMode, group = mode, ""
	}
	names := map[string]int{}
	for member, value := range map[string]any{
		"driverName": driverName, "nodeName": nodeName, "draPlugin": plugin, "cpuAllocationStore": n.store, "cdiMgr": manager,
		"podConfigStore": store.NewPodConfig(), "claimTracker": store.NewClaimTracker(), "pcieRootMapper": store.NewPCIeRootMapper(),
		"cpuTopology": topology, "reservedCPUs": n.reserved, "onlineCPUs": online, "cpuDeviceMode": deviceMode, "cpuDeviceGroupBy": group,
		"devicesPerResourceSlice": driver.Config{}.DevicesPerResourceSlice(), "deviceNameToCPUID": names, "deviceNameToSocketID": names,
		"deviceNameToNUMANodeID": names,
	} {
		set(n.driver, member, value)
	}
	initializeDeviceLookupMaps(n.driver)
	n.driver.PublishResources(quiet())
	n.devices = plugin.devices
	return n, nil
}

//go:linkname initializeDeviceLookupMaps github.com/kubernetes-sigs/dra-driver-cpu/pkg/driver.(*CPUDriver).initializeDeviceLookupMaps
func initializeDeviceLookupMaps(d *driver.CPUDriver)

// claim draws a claim as kube-scheduler would have allocated it: devices with room, one or two of them.
func (n *node) claim(r *rand.Rand) *resourceapi.ResourceClaim {
	n.made++
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("claim-%d", n.made),
		UID: types.UID(fmt.Sprintf("5ca1ab1e-0000-4000-8000-%012d", n.made))}}
	c.Status.Allocation = &resourceapi.AllocationResult{}
	free := n.free()
	wanted := 1 + r.IntN(2)
	for _, i := range r.Perm(len(n.devices)) {
		device := n.devices[i]
		room := n.cpusOf(device).Intersection(free).Size()
		if room == 0 {
			continue
		}
		result := resourceapi.DeviceRequestAllocationResult{Request: fmt.Sprintf("r%d", wanted), Driver: driverName, Pool: nodeName,
			Device: device.Name}
		if _, grouped := device.Capacity[capacity]; grouped {
			result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{
				capacity: *resource.NewQuantity(int64(1+r.IntN(room)), resource.DecimalSI)}
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, result)
		if wanted--; wanted == 0 {
			break
		}
	}
	return c
}

// cpusOf finds a device's CPUs by the attributes that the driver published.
func (n *node) cpusOf(device resourceapi.Device) cpuset.CPUSet {
	number := func(name resourceapi.QualifiedName) int { return int(*device.Attributes[name].IntValue) }
	switch n.mode {
	case driver.GROUP_BY_NUMA_NODE:
		return n.topology.CPUDetails.CPUsInNUMANodes(number("dra.cpu/numaNodeID"))
	case driver.GROUP_BY_SOCKET:
		return n.topology.CPUDetails.CPUsInSockets(number("dra.cpu/socketID"))
	default:
		return cpuset.New(number("dra.cpu/cpuID"))
	}
}

// free returns the CPUs of no claim. The driver's own set of them is wrong once it has given a CPU to two claims.
func (n *node) free() cpuset.CPUSet {
	free := n.topology.CPUDetails.CPUs().Difference(n.reserved)
	for uid := range n.claims {
		held, _ := n.store.GetResourceClaimAllocation(uid)
		free = free.Difference(held)
	}
	return free
}

// coresConfused tells whether the driver's allocator errs on the machine: it compares the CPUs of a core id with NumCPUs/NumCores. The driver
// reads ids that repeat in each socket, and the cores of hybrid machines have one or two CPUs.
func (n *node) coresConfused() bool {
	for _, info := range n.topology.CPUDetails {
		if n.topology.CPUDetails.CPUsInCores(info.CoreID).Size() != n.topology.CPUsPerCore() {
			return true
		}
	}
	return false
}

// step prepares a claim or gives one back.
func (n *node) step(r *rand.Rand) error {
	if len(n.claims) > 0 && (n.free().IsEmpty() || r.IntN(3) == 0) {
		uids := slices.Sorted(maps.Keys(n.claims))
		uid := uids[r.IntN(len(uids))]
		c := n.claims[uid]
		delete(n.claims, uid)
		result, err := n.driver.UnprepareResourceClaims(quiet(), []kubeletplugin.NamespacedObject{
			{NamespacedName: types.NamespacedName{Namespace: c.Namespace, Name: c.Name}, UID: uid}})
		return errors.Join(err, result[uid])
	}
	c := n.claim(r)
	offered := cpuset.New()
	for _, result := range c.Status.Allocation.Devices.Results {
		i := slices.IndexFunc(n.devices, func(d resourceapi.Device) bool { return d.Name == result.Device })
		offered = offered.Union(n.cpusOf(n.devices[i]).Intersection(n.free()))
	}
	result, err := n.driver.PrepareResourceClaims(quiet(), []*resourceapi.ResourceClaim{c})
	if err := errors.Join(err, result[c.UID].Err); err != nil {
		if n.coresConfused() { // the CPUs for one request were among those of the next
			n.strays++
			return nil
		}
		return err
	}
	n.claims[c.UID] = c
	given, _ := n.store.GetResourceClaimAllocation(c.UID)
	if given.IsEmpty() {
		return fmt.Errorf("the driver gave no CPU to claim %s", c.UID)
	}
	if !given.IsSubsetOf(offered) {
		if !n.coresConfused() {
			return fmt.Errorf("the driver gave CPUs %s of %s", given, offered)
		}
		n.strays++
	}
	return nil
}

// run prints nrtd's document for the node: the kubelet has the policy none, which the driver requires.
func (n *node) run(ret any, arguments ...string) error {
	command := exec.Command(*nrtd, append([]string{"dump", "-o", "json", "--sysroot", n.sysroot, "--node-name", nodeName, "--state-files", "none",
		"--pod-resources", "none", "--cpu-manager-policy", "none", "--reserved-cpus", n.reserved.String()}, arguments...)...)
	command.Stderr = &strings.Builder{}
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, command.Stderr)
	}
	return json.Unmarshal(text, ret)
}

// zones compares the available CPUs of each zone with those that the driver has left.
func (n *node) zones() error {
	var object struct {
		Zones []struct {
			Name, Type string
			Attributes []struct{ Name, Value string }
			Resources  []struct{ Name, Available string }
		}
	}
	if err := n.run(&object); err != nil {
		return err
	}
	seen := cpuset.New()
	for _, zone := range object.Zones {
		if zone.Type != "Node" {
			continue
		}
		id, err := strconv.Atoi(strings.TrimPrefix(zone.Name, "node-"))
		if err != nil {
			return err
		}
		cpus := n.topology.CPUDetails.CPUsInNUMANodes(id)
		for _, a := range zone.Attributes {
			if a.Name == "cpus" && a.Value != cpus.String() {
				return fmt.Errorf("zone %s has CPUs %s, the driver has %s", zone.Name, a.Value, cpus)
			}
		}
		left := n.free().Intersection(cpus).Size()
		available := "0"
		for _, r := range zone.Resources {
			if r.Name == "cpu" {
				available = r.Available
			}
		}
		if available != strconv.Itoa(left) {
			return fmt.Errorf("zone %s has %s CPUs available, the driver has %d left", zone.Name, available, left)
		}
		seen = seen.Union(cpus)
	}
	if all := n.topology.CPUDetails.CPUs(); !seen.Equals(all) {
		return fmt.Errorf("the zones have CPUs %s, the driver has %s", seen, all)
	}
	return nil
}

// inventory compares the CPUs of the claims.
func (n *node) inventory() error {
	var document struct {
		Claims []struct {
			UID  types.UID
			CPUs string
		}
	}
	if err := n.run(&document, "--what", "inventory"); err != nil {
		return err
	}
	if len(document.Claims) != len(n.claims) {
		return fmt.Errorf("nrtd has %d claims, the driver has %d", len(document.Claims), len(n.claims))
	}
	for _, c := range document.Claims {
		given, ok := n.store.GetResourceClaimAllocation(c.UID)
		if !ok || given.String() != c.CPUs {
			return fmt.Errorf("claim %s has CPUs '%s' by nrtd, and by the driver '%s'", c.UID, c.CPUs, given)
		}
	}
	return nil
}

// try runs the random steps of one machine in one mode.
func try(sysroot, mode string, r *rand.Rand) (*node, error) {
	n, err := newNode(sysroot, mode)
	if err != nil {
		return nil, err
	}
	for i := range *steps + 1 {
		if i > 0 {
			if err := n.step(r); err != nil {
				return n, err
			}
		}
		if err := errors.Join(n.zones(), n.inventory()); err != nil {
			return n, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return n, nil
}

func main() {
	flag.Parse()
	folders, err := os.ReadDir(*machines)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dra:", err)
		os.Exit(1)
	}
	passed, failed, claims, strays := 0, 0, 0, 0
	for _, folder := range folders {
		if *only != "" && folder.Name() != *only {
			continue
		}
		for _, mode := range []string{driver.GROUP_BY_NUMA_NODE, driver.GROUP_BY_SOCKET, driver.CPU_DEVICE_MODE_INDIVIDUAL} {
			n, err := try(filepath.Join(*machines, folder.Name()), mode, rand.New(rand.NewPCG(*seed, uint64(passed+failed))))
			if errors.Is(err, errUnreadable) {
				fmt.Printf("skipped: %s: %v\n", folder.Name(), err)
				break
			}
			if n != nil {
				claims += n.made
				strays += n.strays
			}
			if err != nil {
				failed++
				fmt.Printf("FAIL %s, %s: %v\n", folder.Name(), mode, err)
				continue
			}
			passed++
		}
	}
	fmt.Printf("%d claims; the driver gave %d of them CPUs of another device or claim, or reserved ones\n", claims, strays)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
