// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"reflect"
	"regexp"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"
	"k8s.io/utils/cpuset"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// ---- nrtd

type nrtd struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func start(ctx context.Context, program string) (*nrtd, error) {
	process := exec.CommandContext(ctx, program)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &nrtd{process, in, bufio.NewReader(out)}, process.Start()
}

func (n *nrtd) stop() {
	n.in.Close()
	n.process.Wait()
}

// read returns the value, or the message with which nrtd refuses the text.
func (n *nrtd) read(q question) (value, refused string, err error) {
	if _, err := fmt.Fprintf(n.in, "%s %d\n%s", q.Reader, len(q.Text), q.Text); err != nil {
		return "", "", err
	}
	var result string
	var size int
	if _, err := fmt.Fscanf(n.out, "%s %d\n", &result, &size); err != nil {
		return "", "", fmt.Errorf("nrtd's readers end at %q: %w", q.Text, err)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(n.out, text); err != nil {
		return "", "", err
	}
	if result == "ok" {
		return string(text), "", nil
	}
	return "", string(text), nil
}

// ---- the real code

// readManifest reads as `kubectl -f FILE`: cli-runtime's FileVisitor and StreamVisitor, then the decoder of objects without a type.
func readManifest(text []byte) (any, error) {
	reader := transform.NewReader(bytes.NewReader(text), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
	decoder := utilyaml.NewYAMLOrJSONDecoder(reader, 4096)
	documents := []any{}
	for {
		ext := runtime.RawExtension{}
		err := decoder.Decode(&ext)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		raw := bytes.TrimSpace(ext.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		var document any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &document); err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
}

// readConfig reads as the kubelet its configuration file, whose strict errors are warnings.
func readConfig(text []byte) (any, error) {
	raw := text
	if !utilyaml.IsJSONBuffer(text) {
		var err error
		if raw, err = yaml.YAMLToJSON(text); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(raw), nil
}

// readDropIn reads as the kubelet a file of its drop-in directory.
func readDropIn(text []byte) (any, error) {
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return nil, err
	}
	raw, _, err := codec.DecodeKubeletConfigurationIntoJSON(codecs, text)
	return json.RawMessage(raw), err
}

func readYAML(text []byte) (any, error) {
	raw, err := yaml.YAMLToJSON(text)
	return json.RawMessage(raw), err
}

func readStrictYAML(text []byte) (any, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	return json.RawMessage(raw), err
}

func readQuantity(text []byte) (any, error) {
	if tooLong.Match(text) {
		return nil, errors.New("an exponent that would take for ever")
	}
	q, err := resource.ParseQuantity(string(text))
	if err != nil {
		return nil, err
	}
	if q.Cmp(resource.MustParse("1e21")) >= 0 || q.Cmp(resource.MustParse("-1e21")) <= 0 {
		return "large", nil // there is no suffix for it, so CanonicalizeBytes() loses zeros
	}
	number, suffix := q.CanonicalizeBytes(nil) // String() is the text that was parsed
	if q.Sign() < 0 || q.CmpInt64(math.MaxInt64/1000) > 0 {
		// Value() and MilliValue() overflow, and lose the sign of a small value. No pod has such an amount.
		return fmt.Sprintf("%s%s", number, suffix), nil
	}
	return fmt.Sprintf("%s%s %d %d", number, suffix, q.Value(), q.MilliValue()), nil
}

func readCPUs(text []byte) (any, error) {
	if tooMany.Match(text) {
		return nil, errors.New("an id that would fill the memory")
	}
	set, err := cpuset.Parse(string(text))
	return set.String(), err
}

var (
	// The real code makes a map entry of each CPU, and computes the powers of ten.
	tooMany = regexp.MustCompile(`[1-9][0-9]{6}`)
	tooLong = regexp.MustCompile(`[eE][-+]?0*[1-9][0-9]{3}`)
)

var realReaders = map[string]func([]byte) (any, error){
	"manifest":    readManifest,
	"config":      readConfig,
	"drop-in":     readDropIn,
	"yaml":        readYAML,
	"strict-yaml": readStrictYAML,
	"quantity":    readQuantity,
	"cpus":        readCPUs,
	"pod":         readPod,
}

// ---- comparison

var (
	// The caller of nrtd's parser refuses it: check_member() of kubelet_config.c.
	noObject  = regexp.MustCompile(`'Kind' is missing|unexpected GroupVersion|get version/kind; json parse error: json: cannot unmarshal`)
	namesLine = regexp.MustCompile(`\bline [0-9]+|empty|no YAML document`)
	numbers   = regexp.MustCompile(`[0-9]+|'[^']*'`)
)

// decode keeps the text of each number.
func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&value); err == nil && d.More() {
		err = errors.New("more than one value")
	}
	return value, err
}

func isDocument(reader string) bool { return reader != "quantity" && reader != "cpus" }

// withoutNull removes the empty documents of a manifest.
func withoutNull(value any) any {
	documents := []any{}
	for _, document := range value.([]any) {
		if document != nil {
			documents = append(documents, document)
		}
	}
	return documents
}

func compare(q question, n *nrtd, t *tally) ([]string, error) {
	got, refused, err := n.read(q)
	if err != nil {
		return nil, err
	}
	want, real := realReaders[q.Reader](q.Text)
	var wanted any = want
	if real == nil && isDocument(q.Reader) {
		raw, err := json.Marshal(want)
		if err == nil {
			wanted, err = decode(raw)
		}
		real = err
	}
	if real == nil {
		t.read++
	}
	if refused != "" && real == nil && q.Reader == "pod" {
		return []string{fmt.Sprintf("%s: the API server accepts it, nrtd refuses it: %s", q.Text, refused)}, nil
	}
	if refused != "" {
		if isDocument(q.Reader) && q.Reader != "pod" && !namesLine.MatchString(refused) {
			return []string{fmt.Sprintf("%q is refused without a line: %s", q.Text, refused)}, nil
		}
		if real == nil {
			t.refused[numbers.ReplaceAllString(refused, "N")]++
			if t.verbose {
				fmt.Printf("  | %q: %s\n", q.Text, refused)
			}
		}
		return nil, nil
	}
	if real != nil && noObject.MatchString(real.Error()) {
		return nil, nil
	}
	if real != nil {
		return []string{fmt.Sprintf("%q: the real code refuses it (%v), nrtd reads %s", q.Text, real, got)}, nil
	}
	var read any = got
	if isDocument(q.Reader) {
		if read, err = decode([]byte(got)); err != nil {
			return []string{fmt.Sprintf("%q: nrtd prints %s: %v", q.Text, got, err)}, nil
		}
	}
	if q.Reader == "manifest" {
		read = withoutNull(read)
	}
	if reflect.DeepEqual(read, wanted) {
		return nil, nil
	}
	text, _ := json.Marshal(wanted)
	return []string{fmt.Sprintf("%q: the real code reads %s, nrtd %s", q.Text, text, got)}, nil
}
