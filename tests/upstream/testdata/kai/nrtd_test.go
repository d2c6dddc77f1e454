// SPDX-License-Identifier: Apache-2.0

// The reader and the exporter of KAI-Scheduler beside nrtd, on made-up machines with the real kubelet managers. kai.sh puts this file
// into KAI's package of the NUMA plugin, whose functions are not exported.
package numa

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	nrtv1alpha2 "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kai-scheduler/KAI-scheduler/pkg/npe/consts"
	"github.com/kai-scheduler/KAI-scheduler/pkg/npe/cputopology"
	"github.com/kai-scheduler/KAI-scheduler/pkg/npe/placement"
	"github.com/kai-scheduler/KAI-scheduler/pkg/npe/podresources"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/api/common_info"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/api/node_info"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/api/pod_info"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/api/pod_status"
)

const nic = "vendor.com/nic"

// kubelet is the program `managers` for a copy of a machine.
type kubelet struct {
	root   string // of the machine
	socket string
	in     io.WriteCloser
	out    *json.Decoder
}

func startKubelet(t *testing.T, machine, policy, scope string) *kubelet {
	root, err := os.MkdirTemp("", "kai-") // a short path: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	k := &kubelet{root: root}
	folder := filepath.Join(k.root, "var/lib/kubelet")
	k.socket = filepath.Join(folder, "pod-resources/kubelet.sock")
	if said, err := exec.Command("cp", "-a", machine+"/.", k.root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "config.yaml")
	text := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: %s
topologyManagerScope: %s
reservedSystemCPUs: "0"
systemReserved: {memory: 412Mi}
evictionHard: {memory.available: 100Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}]
`, policy, scope)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(os.Getenv("NRTD_MANAGERS"), "-sysroot", k.root, "-config", config, "-root", folder)
	process.Stderr = os.Stderr
	k.in, _ = process.StdinPipe()
	out, _ := process.StdoutPipe()
	k.out = json.NewDecoder(out)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.in.Close()
		process.Wait()
	})
	var ready struct{ Ready string }
	if err := k.out.Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kubelet) ask(t *testing.T, line any, answer any) {
	t.Helper()
	if err := json.NewEncoder(k.in).Encode(line); err != nil {
		t.Fatal(err)
	}
	if err := k.out.Decode(answer); err != nil {
		t.Fatal(err)
	}
}

func (k *kubelet) admit(t *testing.T, pod *v1.Pod) bool {
	t.Helper()
	var answer struct {
		Admitted bool
		Error    string
	}
	k.ask(t, map[string]any{"admit": pod}, &answer)
	if answer.Error != "" {
		t.Fatal(answer.Error)
	}
	return answer.Admitted
}

// turn waits until the pod-resources server answers again: it answers ten requests at once, and then one every 10 ms.
func turn() { time.Sleep(100 * time.Millisecond) }

// dump runs `nrtd dump` on the machine.
func (k *kubelet) dump(t *testing.T, what string, ret any, flags ...string) {
	t.Helper()
	command := exec.Command(os.Getenv("NRTD"), append([]string{"dump", "--what", what, "-o", "json", "--sysroot", k.root,
		"--pod-resources", k.socket, "--node-name", "node-a"}, flags...)...)
	turn()
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, ret)
	}
	if err != nil {
		t.Fatalf("nrtd dump --what %s: %v", what, err)
	}
}

// observed are the annotations that nrtd writes, by namespace and name.
func (k *kubelet) observed(t *testing.T) map[string]string {
	t.Helper()
	var pods v1.PodList
	k.dump(t, "kai", &pods)
	ret := map[string]string{}
	for _, pod := range pods.Items {
		ret[pod.Namespace+"/"+pod.Name] = pod.Annotations[consts.NumaPlacementAnnotation]
	}
	return ret
}

// exported are the annotations that KAI's numa-placement-exporter writes.
func (k *kubelet) exported(t *testing.T) map[string]string {
	t.Helper()
	cpus, err := cputopology.Load(filepath.Join(k.root, "sys"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := podresources.New(k.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	turn()
	pods, err := client.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ret := map[string]string{}
	for _, pod := range pods {
		if found := placement.Compute(pod, cpus); found != nil {
			if ret[pod.GetNamespace()+"/"+pod.GetName()], err = found.Marshal(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ret
}

func randomPod(random *rand.Rand, n, containers int) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p-%d", n), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))},
		Status:     v1.PodStatus{QOSClass: v1.PodQOSGuaranteed},
	}
	for i := range containers {
		amounts := v1.ResourceList{
			"cpu":    *resource.NewQuantity(1+random.Int64N(6), resource.DecimalSI),
			"memory": *resource.NewQuantity((1+random.Int64N(40))<<28, resource.BinarySI),
		}
		if random.IntN(3) == 0 {
			amounts[nic] = *resource.NewQuantity(1+random.Int64N(2), resource.DecimalSI)
		}
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprintf("c-%d", i), Image: "i",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}})
	}
	return pod
}

// roots counts the zones of PCIe roots that KAI read.
var roots int

// devices are near NUMA nodes 0 and 1; on the machine gpus they are PCI devices below three roots.
func devices(machine string) map[string]any {
	if filepath.Base(machine) != "gpus" {
		return map[string]any{"resource": nic, "numa": [][]int{{0}, {0}, {1}, {1}}}
	}
	return map[string]any{"resource": nic, "numa": [][]int{{0}, {1}, {1}, {1}},
		"ids": []string{"0000:18:00.0", "0000:99:00.2", "0000:99:00.3", "0000:99:00.4"}}
}

// objects are the node's object without and with zones of PCIe roots, of one state: the devices of a rejected pod become free in nrtd's
// object some time after the rejection, which may be between two dumps.
func (k *kubelet) objects(t *testing.T) (object, rooted nrtv1alpha2.NodeResourceTopology) {
	t.Helper()
	for range 10 {
		var again nrtv1alpha2.NodeResourceTopology
		object, rooted = nrtv1alpha2.NodeResourceTopology{}, nrtv1alpha2.NodeResourceTopology{}
		k.dump(t, "nrt", &object)
		k.dump(t, "nrt", &rooted, "--pcie-roots", "on")
		k.dump(t, "nrt", &again)
		if reflect.DeepEqual(object.Zones, again.Zones) {
			return
		}
	}
	t.Fatal("the object changes with each dump")
	return
}

// reader is KAI's view of the node, from nrtd's object and annotations.
func reader(t *testing.T, k *kubelet, pods []*v1.Pod) (*numaPlugin, *node_info.NodeInfo, *nrtv1alpha2.NodeResourceTopology) {
	t.Helper()
	object, rooted := k.objects(t)
	testVectorMap.AddResource(nic)
	topo := node_info.BuildNumaTopology(&object, testVectorMap)
	if topo == nil {
		t.Fatal("KAI finds no topology in nrtd's object")
	}
	roots += len(rooted.Zones) - len(object.Zones)
	if !reflect.DeepEqual(topo, node_info.BuildNumaTopology(&rooted, testVectorMap)) {
		t.Error("KAI finds another topology with zones of PCIe roots")
	}
	plugin, session, node := wiredPlugin(topo)
	observed := k.observed(t)
	node.PodInfos = map[common_info.PodID]*pod_info.PodInfo{}
	for _, pod := range pods {
		bound := pod.DeepCopy()
		bound.Annotations = map[string]string{consts.NumaPlacementAnnotation: observed["default/"+pod.Name]}
		id := common_info.PodID(pod.UID)
		node.PodInfos[id] = &pod_info.PodInfo{UID: id, Status: pod_status.Running, Pod: bound}
	}
	plugin.reconstructNodeAvailable(session)
	session.ClusterInfo.ResourceVectorMap = testVectorMap
	plugin.initCaches(session)
	return plugin, node, &object
}

// checkAmounts: what KAI finds available by the annotations is what nrtd's zones show. KAI's exporter does not count memory on several
// NUMA nodes, so memory is compared where no pod has such memory.
func checkAmounts(t *testing.T, node *node_info.NodeInfo, object *nrtv1alpha2.NodeResourceTopology, memory, devices bool) {
	t.Helper()
	for i, zone := range node.NumaTopology.Zones {
		for _, amount := range object.Zones[i].Resources {
			name := v1.ResourceName(amount.Name)
			if name != v1.ResourceCPU && !(devices && name == nic) && !(memory && name == v1.ResourceMemory) {
				continue
			}
			if got := zoneAvail(node.NumaTopology, i, name); got != amount.Available.Value() {
				t.Errorf("zone %s: %s is %d for KAI, %s in nrtd's object", zone.ID, name, got, amount.Available.String())
			}
		}
	}
}

func TestNrtd(t *testing.T) {
	machines, err := filepath.Glob(filepath.Join(os.Getenv("NRTD_MACHINES"), "*"))
	if err != nil || len(machines) == 0 {
		t.Fatal("no machines in NRTD_MACHINES")
	}
	policies := map[string]node_info.TopologyManagerPolicy{"best-effort": node_info.TopologyPolicyBestEffort,
		"restricted": node_info.TopologyPolicyRestricted, "single-numa-node": node_info.TopologyPolicySingleNUMANode}
	scopes := map[string]node_info.TopologyManagerScope{"container": node_info.TopologyScopeContainer, "pod": node_info.TopologyScopePod}
	compared, refused, admitted, both, wrong := 0, 0, 0, 0, 0
	for n, machine := range machines {
		for policy, wantPolicy := range policies {
			for scope, wantScope := range scopes {
				t.Run(filepath.Base(machine)+"/"+policy+"/"+scope, func(t *testing.T) {
					random := rand.New(rand.NewPCG(uint64(n), uint64(len(policy+scope))))
					k := startKubelet(t, machine, policy, scope)
					var answer struct{ Error string }
					k.ask(t, map[string]any{"register": devices(machine)}, &answer)
					if answer.Error != "" {
						t.Skip(answer.Error)
					}
					var pods []*v1.Pod
					ok, clean := true, true
					for i := range 12 {
						pod := randomPod(random, i, 1+random.IntN(2))
						plugin, node, object := reader(t, k, pods)
						if node.NumaTopology.Policy != wantPolicy || node.NumaTopology.Scope != wantScope {
							t.Fatalf("KAI reads the policy %v and the scope %v", node.NumaTopology.Policy, node.NumaTopology.Scope)
						}
						// A rejected pod may hold what its first container got until the next pod comes, and devices until the next
						// pod with devices. The state files show it, and the pod-resources API does not.
						clean = clean && ok
						if ok {
							checkAmounts(t, node, object, policy == "single-numa-node", clean)
						}
						task := pod_info.NewTaskInfo(pod, testVectorMap)
						kai := plugin.predicate(task, nil, node) == nil
						ok = k.admit(t, pod)
						if ok {
							pods = append(pods, pod)
							admitted++
						} else {
							refused++
						}
						if kai && ok {
							both++
						}
						if policy != "best-effort" && kai && !ok {
							wrong++
							t.Logf("the kubelet rejects a pod that KAI admits: %v", podAmounts(pod))
						}
						want, got := k.exported(t), k.observed(t)
						compared += len(want)
						if len(want) != len(got) {
							t.Errorf("%d annotations of KAI's exporter, %d of nrtd", len(want), len(got))
						}
						for name, value := range want {
							if got[name] != value {
								t.Errorf("%s: KAI's exporter %s, nrtd %s", name, value, got[name])
							}
						}
					}
				})
			}
		}
	}
	if roots == 0 {
		t.Error("no object had a zone of a PCIe root")
	}
	fmt.Printf("kai: %d annotations compared; of %d pods the kubelets admitted %d; KAI admits %d of these, and %d others; %d zones of PCIe roots\n",
		compared, admitted+refused, admitted, both, wrong, roots)
}

func podAmounts(pod *v1.Pod) string {
	var texts []string
	for _, c := range pod.Spec.Containers {
		for name, amount := range c.Resources.Requests {
			texts = append(texts, fmt.Sprintf("%s=%s", name, amount.String()))
		}
	}
	return strings.Join(texts, " ")
}
