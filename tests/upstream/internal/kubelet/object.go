// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"nrtd.dev/tests/upstream/internal/apply"
	"nrtd.dev/tests/upstream/internal/managers"
)

// storedEach is of how many objects one goes through the API server.
const storedEach = 4

// compareObject compares what is said of a pod (its file is pod.json) on the node, with what the object that nrtd publishes at the same moment says by
// itself: everything, not only the verdict.
func (d *Driver) compareObject(ctx context.Context, m *managers.Managers, args []string, onNode []byte) ([]string, error) {
	if d.Verdict == "" {
		return nil, nil
	}
	object, err := d.Nrtd.run(ctx, append([]string{"dump", "--node-name", fmt.Sprintf("judged-%d", os.Getpid())}, args...)...)
	if err != nil {
		return []string{err.Error()}, nil
	}
	d.Tally.Objects++
	if d.Server != nil && d.Tally.Objects%storedEach == 1 {
		if object, err = store(ctx, d.Server, object); err != nil {
			return nil, err
		}
		d.Tally.Stored++
	}
	path := filepath.Join(m.Root, "object.json")
	if err := os.WriteFile(path, object, 0o644); err != nil {
		return nil, err
	}
	offNode, err := (&Nrtd{Path: d.Verdict}).run(ctx, path, filepath.Join(m.Root, "pod.json"))
	if err != nil {
		return []string{err.Error()}, nil
	}
	var want, got map[string]any
	if err := json.Unmarshal(onNode, &want); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(offNode, &got); err != nil {
		return nil, err
	}
	var differences []string
	for key := range want {
		if !reflect.DeepEqual(want[key], got[key]) {
			differences = append(differences, fmt.Sprintf("%s: %v on the node, %v by its object", key, want[key], got[key]))
		}
	}
	return differences, nil
}

// store gives the object to the API server, and reads it back.
func store(ctx context.Context, server *apply.Client, text []byte) ([]byte, error) {
	objects, err := apply.Documents(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%d objects", len(objects))
	}
	if _, err := server.Apply(ctx, objects[0]); err != nil {
		return nil, err
	}
	resource, err := server.Resource(ctx, objects[0])
	if err != nil {
		return nil, err
	}
	stored, err := resource.Get(ctx, objects[0].GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return stored.MarshalJSON()
}
