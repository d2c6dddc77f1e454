// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
)

// TestFields: nrtd warns of fields that it does not know, so it has to know all. It may know more, of later releases.
func TestFields(t *testing.T) {
	source, err := os.ReadFile("../../../../cluster/objects/manifest_fields.c")
	if err != nil {
		t.Fatal(err)
	}
	for list, of := range map[string]reflect.Type{
		"pod_spec": reflect.TypeFor[v1.PodSpec](), "container": reflect.TypeFor[v1.Container](), "resources": reflect.TypeFor[v1.ResourceRequirements](),
		"deployment": reflect.TypeFor[appsv1.DeploymentSpec](), "stateful_set": reflect.TypeFor[appsv1.StatefulSetSpec](),
		"daemon_set": reflect.TypeFor[appsv1.DaemonSetSpec](), "replica_set": reflect.TypeFor[appsv1.ReplicaSetSpec](),
		"job": reflect.TypeFor[batchv1.JobSpec](), "cron_job": reflect.TypeFor[batchv1.CronJobSpec](),
	} {
		found := regexp.MustCompile(`(?s) ` + list + `_fields\[\] = \{(.*?)\}`).FindSubmatch(source)
		if found == nil {
			t.Errorf("there is no list %s_fields", list)
			continue
		}
		var known []string
		for _, name := range regexp.MustCompile(`"(\w+)"`).FindAllSubmatch(found[1], -1) {
			known = append(known, string(name[1]))
		}
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" && !slices.Contains(known, name) {
				t.Errorf("%s_fields has no %s", list, name)
			}
		}
	}
}
