// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Gangs are PodGroups of KEP-4671, over placements of KEP-5732: the scheduler asks its extender for each pod of a gang in each
// rack, and then binds the pods in the best rack or nowhere.
const (
	gangGates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
	gangAPIs  = "scheduling.k8s.io/v1beta1=true"
	rackLabel = "test.nrtd.dev/rack"
	racks     = 3
)

var podGroups = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}

// gang is the PodGroup of a slot.
type gang struct {
	name string
	size int
	rack bool // all pods are to be in one rack
}

// drawGangs makes one or two gangs of some bursts: their slots have the same requests.
func drawGangs(r *rand.Rand, coming []Slot) {
	if len(coming) < 8 || r.IntN(2) == 0 {
		return
	}
	size := []int{4, 8}[r.IntN(2)]
	for first := 0; first+size <= len(coming); first += size {
		like := Slot{MilliCPUs: 1000 * []int64{2, 4, 8, 12}[r.IntN(4)], Memory: gib >> 2, Guaranteed: true, Burst: coming[first].Burst}
		like.gang = &gang{name: fmt.Sprintf("gang-%d-%d", like.Burst, first), size: size, rack: r.IntN(3) > 0}
		for i := first; i < first+size; i++ {
			coming[i] = like
		}
	}
}

// createGangs creates the PodGroups of slots that begin.
func (s *slots) createGangs(ctx context.Context, coming []*slotState) error {
	made := map[*gang]bool{}
	for _, slot := range coming {
		if slot.gang == nil || made[slot.gang] {
			continue
		}
		made[slot.gang] = true
		spec := map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(slot.gang.size)}}}
		if slot.gang.rack {
			spec["schedulingConstraints"] = map[string]any{"topology": []any{map[string]any{"key": rackLabel}}}
		}
		if _, err := s.objects.Resource(podGroups).Namespace(metav1.NamespaceDefault).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": podGroups.GroupVersion().String(), "kind": "PodGroup",
			"metadata": map[string]any{"name": slot.gang.name}, "spec": spec}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// createMember creates a pod of a gang; the Kubernetes of this module does not have the field.
func (s *slots) createMember(ctx context.Context, pod *v1.Pod, g *gang) (*v1.Pod, error) {
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = "v1", "Pod"
	object["spec"].(map[string]any)["schedulingGroup"] = map[string]any{"podGroupName": g.name}
	if text, err = json.Marshal(object); err != nil {
		return nil, err
	}
	made := &v1.Pod{}
	return made, s.client.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Body(text).
		SetHeader("Content-Type", "application/json").Do(ctx).Into(made)
}

// labelRacks puts the nodes, in the order of their names in the experiment, into racks.
func (p *play) labelRacks(ctx context.Context) error {
	names := NodeNames(p.Nodes)
	for i, name := range names {
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"rack-%d"}}}`, rackLabel, i*racks/len(names))
		if _, err := p.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

var assumedPods = regexp.MustCompile(`(?m)^nrtd_extender_assumed_pods (\d+)$`)

// assumed is how many pods the extender has assumed.
func (e *Extender) assumed() (int, error) {
	answer, err := (&http.Client{Timeout: 2 * time.Second}).Get(e.URL("metrics"))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	found := assumedPods.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%s has no nrtd_extender_assumed_pods", e.URL("metrics"))
	}
	return strconv.Atoi(string(found[1]))
}

// ghosts is how many pods the extender still assumes 2 s after its last answers. The scheduler tries waiting pods again now and then,
// so the fewest in some seconds count.
func (p *play) ghosts() (int, error) {
	if len(p.extenders) != 1 {
		return 0, nil
	}
	time.Sleep(2 * time.Second)
	fewest, err := p.extenders[0].assumed()
	for i := 0; i < 20 && fewest > 0 && err == nil; i++ {
		time.Sleep(200 * time.Millisecond)
		var n int
		n, err = p.extenders[0].assumed()
		fewest = min(fewest, n)
	}
	return fewest, err
}

// planeFlags are those of the control plane.
func (w *Workload) planeFlags() []string {
	if !w.Gangs {
		return nil
	}
	return []string{"-feature-gates", gangGates, "-runtime-config", gangAPIs}
}

// schedulerFlags are those of the scheduler.
func (w *Workload) schedulerFlags() []string {
	if !w.Gangs {
		return nil
	}
	return []string{"-feature-gates", gangGates}
}
