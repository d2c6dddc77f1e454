// SPDX-License-Identifier: Apache-2.0

// Package apply reads YAML and JSON documents and applies them to an API server.
package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager owns what these tests apply.
const FieldManager = "nrtd-test"

// Documents splits a stream of YAML or JSON documents into objects.
func Documents(r io.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		raw := runtime.RawExtension{}
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw.Raw); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// Files reads the objects of the given files; a folder stands for its *.yaml in order of name.
func Files(paths []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, err
			}
		}
		slices.Sort(files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			more, err := Documents(bytes.NewReader(text))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			objects = append(objects, more...)
		}
	}
	return objects, nil
}

// Client applies and reads objects of any kind the server knows.
type Client struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewClient makes a client for the given configuration.
func NewClient(config *rest.Config) (*Client, error) {
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{d, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// Resource is the endpoint of an object's kind, in its namespace if it has one. A kind whose definition was just
// applied may take the server a moment to serve: up to ten seconds are waited.
func (c *Client) Resource(ctx context.Context, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	kind := object.GroupVersionKind()
	var last error
	var resource dynamic.ResourceInterface
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if last = err; err != nil {
			c.mapper.Reset()
			return false, nil
		}
		resource = c.dynamic.Resource(mapping.Resource)
		if object.GetNamespace() != "" {
			resource = c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s is not served: %w", kind, last)
	}
	return resource, nil
}

// Apply sends one object as a server-side apply and returns what the server stored. Unknown fields are warnings,
// which the configuration's warning handler gets.
func (c *Client) Apply(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.Resource(ctx, object)
	if err != nil {
		return nil, err
	}
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	force := true
	stored, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: FieldManager, Force: &force, FieldValidation: metav1.FieldValidationWarn})
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return stored, nil
}
