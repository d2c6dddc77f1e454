// SPDX-License-Identifier: Apache-2.0

// accepts applies the documents it reads to an API server and fails unless the server takes each of them without a
// warning, stores every field as sent (structural pruning drops nothing) and a second apply changes nothing. Of a
// NodeResourceTopology the readers of v1alpha1 must get all but its attributes, which that version does not have.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"nrtd.dev/tests/upstream/internal/apply"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "which server, as whom")
	name := flag.String("name", "", "metadata.name to use instead of the documents' own")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, *kubeconfig, *name, os.Stdin); err != nil {
		fmt.Println("not ok accepts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, name string, r io.Reader) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	heard := &warnings{}
	config.WarningHandler = heard
	client, err := apply.NewClient(config)
	if err != nil {
		return err
	}
	objects, err := apply.Documents(r)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("no document to apply")
	}
	for _, object := range objects {
		if name != "" {
			object.SetName(name)
		}
		if err := accept(ctx, client, object); err != nil {
			return err
		}
		if texts := heard.take(); len(texts) > 0 {
			return fmt.Errorf("%s %s: the server warns: %q", object.GetKind(), object.GetName(), texts)
		}
		fmt.Printf("ok accepts %s %s\n", object.GetKind(), object.GetName())
	}
	return nil
}

// accept applies one object, reads it back, compares, and applies it once more.
func accept(ctx context.Context, client *apply.Client, sent *unstructured.Unstructured) error {
	if _, err := client.Apply(ctx, sent); err != nil {
		return err
	}
	resource, err := client.Resource(ctx, sent)
	if err != nil {
		return err
	}
	stored, err := resource.Get(ctx, sent.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := compare("", sent.Object, stored.Object); err != nil {
		return fmt.Errorf("%s %s: %w", sent.GetKind(), sent.GetName(), err)
	}
	if err := older(ctx, client, sent); err != nil {
		return fmt.Errorf("%s %s as v1alpha1: %w", sent.GetKind(), sent.GetName(), err)
	}
	again, err := client.Apply(ctx, sent)
	if err != nil {
		return err
	}
	if again.GetResourceVersion() != stored.GetResourceVersion() {
		return fmt.Errorf("%s %s: the same document applied again is a change", sent.GetKind(), sent.GetName())
	}
	return nil
}

// older reads the object as the version before, which Koordinator does.
func older(ctx context.Context, client *apply.Client, sent *unstructured.Unstructured) error {
	if sent.GetAPIVersion() != "topology.node.k8s.io/v1alpha2" {
		return nil
	}
	want := sent.DeepCopy()
	want.SetAPIVersion("topology.node.k8s.io/v1alpha1")
	delete(want.Object, "attributes")
	resource, err := client.Resource(ctx, want)
	if err != nil {
		return err
	}
	got, err := resource.Get(ctx, want.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	return compare("", want.Object, got.Object)
}

// fromServer are the fields of metadata that the server adds.
var fromServer = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"}

// compare finds the first difference between what was sent and what is stored; only the server's own fields of
// metadata may be new.
func compare(path string, sent, stored any) error {
	switch sent := sent.(type) {
	case map[string]any:
		object, ok := stored.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: sent an object, stored %v", path, stored)
		}
		for key, value := range sent {
			got, found := object[key]
			if !found {
				return fmt.Errorf("%s.%s: sent, not stored", path, key)
			}
			if err := compare(path+"."+key, value, got); err != nil {
				return err
			}
		}
		for key := range object {
			if _, found := sent[key]; !found && !(path == ".metadata" && slices.Contains(fromServer, key)) {
				return fmt.Errorf("%s.%s: stored, not sent", path, key)
			}
		}
	case []any:
		list, ok := stored.([]any)
		if !ok || len(list) != len(sent) {
			return fmt.Errorf("%s: sent %d entries, stored %v", path, len(sent), stored)
		}
		for i := range sent {
			if err := compare(fmt.Sprintf("%s[%d]", path, i), sent[i], list[i]); err != nil {
				return err
			}
		}
	default:
		if !reflect.DeepEqual(sent, stored) {
			return fmt.Errorf("%s: sent %#v, stored %#v", path, sent, stored)
		}
	}
	return nil
}

// warnings collects the Warning headers of the server's answers.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}
