// SPDX-License-Identifier: Apache-2.0

// flags compares how kubectl-numa and kubectl read the same command lines. kubectl's side is its own code: cobra and pflag with the flags of
// genericclioptions, `get` and `apply -f`, and the request that client-go sends with them. Both sides ask the same servers, which
// note what arrives: server, TLS name, path, namespace, selector, identity. Of -f it compares which files are read, and in which order.
// Each command line is made of a table: flags, their spellings, and where they stand. Not in the table is what kubectl-numa refuses and
// kubectl does not: empty values ("-n="), a key without its certificate, and jsonpath, custom-columns and go-template.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// request is what arrives of the first list of pods.
type request struct {
	Server, TLSName, Namespace, Selector, Node, Token, User, Groups, Certificate string
}

// answer is what a command line leads to; all others are empty if it is refused.
type answer struct {
	Refused bool
	Request request
	Output  string
	Files   string
}

// ---- the servers

type servers struct {
	mutex sync.Mutex
	seen  *request
	east  *httptest.Server
	west  *httptest.Server
}

const (
	pods = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"p","namespace":"team","uid":"1"},
		"spec":{"nodeName":"node-1","containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"2","memory":"1Gi"}}}]},
		"status":{"phase":"Running","qosClass":"Guaranteed"}}]}`
	object = `{"kind":"NodeResourceTopology","apiVersion":"topology.node.k8s.io/v1alpha2","metadata":{"name":"node-1"},
		"zones":[{"name":"node-0","type":"Node","resources":[{"name":"cpu","capacity":"8","allocatable":"8","available":"8"}]}]}`
	list = `{"kind":"NodeResourceTopologyList","apiVersion":"topology.node.k8s.io/v1alpha2","metadata":{"resourceVersion":"1"},"items":[%s]}`
)

var podsPath = regexp.MustCompile(`^(/slow)?/api/v1(?:/namespaces/([^/]+))?/pods$`)

func (s *servers) answer(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		match := podsPath.FindStringSubmatch(r.URL.Path)
		switch {
		case match != nil:
			s.note(name, match, r)
			if match[1] != "" {
				time.Sleep(1200 * time.Millisecond)
			}
			io.WriteString(w, pods)
		case strings.HasSuffix(r.URL.Path, "/noderesourcetopologies"):
			fmt.Fprintf(w, list, object)
		case strings.HasSuffix(r.URL.Path, "/noderesourcetopologies/node-1"):
			io.WriteString(w, object)
		default:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"not found","code":404}`)
		}
	})
}

func (s *servers) note(name string, match []string, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.seen != nil {
		return
	}
	s.seen = &request{
		Server: name + match[1], Namespace: match[2],
		Selector: r.URL.Query().Get("labelSelector"),
		Token:    strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		User:     r.Header.Get("Impersonate-User"),
		Groups:   strings.Join(r.Header.Values("Impersonate-Group"), ","),
	}
	if r.TLS != nil {
		s.seen.TLSName = r.TLS.ServerName
		for _, c := range r.TLS.PeerCertificates {
			s.seen.Certificate += c.Subject.CommonName
		}
	}
	for _, term := range strings.Split(r.URL.Query().Get("fieldSelector"), ",") {
		if node, found := strings.CutPrefix(term, "spec.nodeName="); found {
			s.seen.Node = node
		}
	}
}

func (s *servers) take() request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	seen := s.seen
	s.seen = nil
	if seen == nil {
		return request{}
	}
	return *seen
}

func start(name string, s *servers) *httptest.Server {
	server := httptest.NewUnstartedServer(s.answer(name))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	return server
}

// ---- kubectl's side

// kubectl runs the command line as kubectl would: the flags of all commands, and two commands with the flags of `get` and `apply`.
func kubectl(args []string, s *servers) answer {
	var a answer
	streams := genericiooptions.NewTestIOStreamsDiscard()
	config := genericclioptions.NewConfigFlags(true)
	root := &cobra.Command{Use: "kubectl-numa", SilenceErrors: true, SilenceUsage: true}
	config.AddFlags(root.PersistentFlags())
	root.AddCommand(podsCommand(config, &a), fitCommand(config, &a, streams))
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if err := root.Execute(); err != nil {
		s.take()
		return answer{Refused: true}
	}
	if a.Request != (request{}) {
		node := a.Request.Node
		a.Request = s.take()
		a.Request.Node = node
	}
	return a
}

func podsCommand(config *genericclioptions.ConfigFlags, a *answer) *cobra.Command {
	var all bool
	var selector string
	output := get.NewGetPrintFlags()
	cmd := &cobra.Command{Use: "pods", RunE: func(cmd *cobra.Command, args []string) error {
		if _, err := output.ToPrinter(); err != nil && *output.OutputFormat != "" && *output.OutputFormat != "wide" {
			return err
		}
		namespace, _, err := config.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return err
		}
		if all {
			namespace = ""
		}
		rest, err := config.ToRESTConfig()
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(rest)
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
		a.Output = *output.OutputFormat
		a.Request.Server = "asked"
		if len(args) == 1 {
			a.Request.Node = args[0]
		}
		return err
	}}
	output.AddFlags(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "")
	cmdutil.AddLabelSelectorFlagVar(cmd, &selector)
	return cmd
}

func fitCommand(config *genericclioptions.ConfigFlags, a *answer, streams genericiooptions.IOStreams) *cobra.Command {
	var files resource.FilenameOptions
	cmd := &cobra.Command{Use: "fit", RunE: func(*cobra.Command, []string) error {
		infos, err := resource.NewLocalBuilder().Unstructured().Local().FilenameParam(false, &files).Flatten().Do().Infos()
		var names []string
		for _, info := range infos {
			names = append(names, info.Name)
		}
		a.Files = strings.Join(names, " ")
		return err
	}}
	cmdutil.AddFilenameOptionFlags(cmd, &files, "")
	_ = streams
	return cmd
}

// ---- kubectl-numa's side

var template = regexp.MustCompile(`the file has (.*)`)

// numa also returns what kubectl-numa says.
func numa(program string, args []string, s *servers) (answer, string) {
	var out, errors bytes.Buffer
	files := slices.Contains(args, "fit")
	if files { // which templates there are is in the message about one that is not there
		args = append(slices.Clone(args), "--dry-run=client", "--pod=none", "--objects-only")
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errors
	err := cmd.Run()
	match := template.FindStringSubmatch(errors.String())
	if files && match != nil {
		return answer{Files: strings.NewReplacer("'", "", ",", "").Replace(match[1])}, ""
	}
	seen := s.take()
	if err != nil {
		return answer{Refused: true}, errors.String()
	}
	return answer{Request: seen, Output: format(out.String())}, errors.String()
}

func format(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.HasPrefix(first, "{"):
		return "json"
	case strings.HasPrefix(first, "pods:"):
		return "yaml"
	case strings.HasPrefix(first, "pod/"):
		return "name"
	case strings.Contains(first, "CPU IDS"):
		return "wide"
	}
	return ""
}

// ---- the table

// place is where a flag stands.
type place int

const (
	before place = iota // the command
	after
	last // behind an argument
	places
)

func line(flag []string, at place, command ...string) []string {
	switch at {
	case before:
		return append(slices.Clone(flag), command...)
	case after:
		return slices.Concat(command[:1], flag, command[1:])
	}
	return slices.Concat(command, []string{"node-1"}, flag)
}

// spellings of a flag with a value.
func spellings(long, short, value string) [][]string {
	all := [][]string{{"--" + long, value}, {"--" + long + "=" + value}}
	if short != "" {
		all = append(all, []string{"-" + short, value}, []string{"-" + short + value}, []string{"-" + short + "=" + value})
	}
	return all
}

type fixture struct {
	east, west *url.URL
	dir        string
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

// lines returns the command lines.
func (f *fixture) lines() [][]string {
	values := []struct {
		long, short string
		values      []string
		with        []string // on the same line
	}{
		{"namespace", "n", []string{"team", "a-b", "n"}, nil},
		{"output", "o", []string{"json", "yaml", "wide", "name", "bogus"}, nil},
		{"selector", "l", []string{"app=web", "a!=b,c in (d,e)"}, nil},
		{"context", "", []string{"east", "west", "slash", "none"}, nil},
		{"cluster", "", []string{"west", "none"}, nil},
		{"user", "", []string{"two", "none"}, nil},
		{"server", "s", []string{f.west.String(), f.west.String() + "/slow/"}, nil},
		{"token", "", []string{"secret"}, nil},
		{"kubeconfig", "", []string{f.path("other"), f.path("none")}, nil},
		{"as", "", []string{"jane", "system:serviceaccount:a:b"}, nil},
		{"as-group", "", []string{"g"}, []string{"--as=jane"}},
		{"certificate-authority", "", []string{f.path("ca.crt"), f.path("client.crt"), f.path("none")}, nil},
		{"tls-server-name", "", []string{"example.com", "other.example"}, nil},
		{"request-timeout", "", []string{"5", "5s", "0", "0s", "1m30s", "x", "-1", "1d"}, nil},
		{"client-certificate", "", []string{f.path("client.crt")}, []string{"--client-key", f.path("client.key")}},
	}
	var all [][]string
	for _, v := range values {
		for _, value := range v.values {
			for _, spelling := range spellings(v.long, v.short, value) {
				for at := range places {
					all = append(all, append(line(spelling, at, "pods"), v.with...))
				}
			}
		}
	}
	for _, value := range []string{"", "=true", "=false", "=1", "=0", "=T", "=maybe", "="} {
		all = append(all, []string{"pods", "--all-namespaces" + value, "-n", "team"}, []string{"pods", "-A" + value},
			[]string{"pods", "--insecure-skip-tls-verify" + value, "--context=stranger"},
			[]string{"--insecure-skip-tls-verify" + value, "pods", "--context", "stranger"})
	}
	for _, words := range []string{
		"pods", "pods node-1", "pods -- node-1", "pods node-1 --",
		"pods -Ao json", "pods -Aojson", "pods -Ao=json", "pods -Aolx", "pods -Anteam", "pods -nteam -A", "pods -An team -n",
		"pods -n", "pods --namespace", "pods -o", "pods -A -n=team -o=yaml node-1", "-n team pods -n a -n b", "-n=a --namespace b pods",
		"pods --name team", "pods --namespac=team", "pods -x", "pods --bogus", "pods --bogus=1", "--bogus pods", "pods ---output json",
		"pods --=json", "pods -namespace", "pods -json", "pods -n -o", "pods --namespace --output", "pods -l a=b -l c=d",
		"pods --as jane --as-group a --as-group b --as-group=a,b", "pods --as-group a", "pods --as-group=a --as jane --as joe",
		"pods --token a --token=b --user two", "pods --context=east --user=two --cluster=west",
		"pods --context slash --tls-server-name=example.com", "pods --context named", "pods --context named --tls-server-name other.example",
		"pods --context named --server " + f.west.String(), "pods --cluster named", "pods --context stranger",
		"pods --context stranger --certificate-authority " + f.path("ca.crt"),
		"pods --insecure-skip-tls-verify --certificate-authority " + f.path("ca.crt"),
		"pods --client-certificate " + f.path("client.crt"),
		"pods --context slow --request-timeout 1", "pods --context slow --request-timeout=1s", "pods --request-timeout 900ms --context slow",
		"pods --context slow --request-timeout 3", "pods --context slow --request-timeout 0", "--request-timeout=1 --context=slow pods",
	} {
		all = append(all, strings.Fields(words))
	}
	return append(all, f.fileLines()...)
}

// fileLines are about -f: relative to the folder of the fixture.
func (f *fixture) fileLines() [][]string {
	var all [][]string
	for _, value := range []string{"a.yaml", "pods", "a.yaml,b.yaml", "b.yaml,pods", "pods/c.json", "none.yaml", "empty", "texts", "pods,texts/d.txt"} {
		for _, spelling := range spellings("filename", "f", value) {
			for _, recursive := range [][]string{nil, {"-R"}, {"--recursive"}, {"--recursive=false"}, {"-R=true"}} {
				all = append(all, slices.Concat([]string{"fit"}, spelling, recursive))
			}
		}
	}
	for _, words := range []string{"fit -f a.yaml -f b.yaml", "fit -fb.yaml --filename=a.yaml", "fit -Rf pods", "fit -Rfpods", "fit -Rf=pods -f a.yaml",
		"fit -f pods -f pods/below", "fit -f a.yaml -f none.yaml", "fit -f ./pods/../a.yaml"} {
		all = append(all, strings.Fields(words))
	}
	return all
}

// ---- the fixture

func write(path string, text []byte) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600)); err != nil {
		log.Fatal(err)
	}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// makeClient writes a client certificate, which no CA knows.
func (f *fixture) makeClient() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	description := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, description, description, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		log.Fatal(err)
	}
	write(f.path("client.crt"), pemOf("CERTIFICATE", certificate))
	write(f.path("client.key"), pemOf("EC PRIVATE KEY", private))
}

func (f *fixture) make(ca []byte) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c}]}\n"
	for name, text := range map[string]string{"a.yaml": "a", "b.yaml": "b", "pods/c.json": "", "pods/b.yml": "bb", "pods/below/c.yaml": "below",
		"pods/below/further/a.yaml": "further", "pods/below.yaml": "beside", "texts/d.txt": "text", "pods/x.txt": "no"} {
		if text == "" {
			write(f.path(name), []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"json"},"spec":{"containers":[{"name":"c"}]}}`))
		} else {
			write(f.path(name), fmt.Appendf(nil, pod, text))
		}
	}
	if err := os.MkdirAll(f.path("empty"), 0o755); err != nil {
		log.Fatal(err)
	}
	f.makeClient()
	write(f.path("ca.crt"), pemOf("CERTIFICATE", ca))
	config := `apiVersion: v1
kind: Config
current-context: %s
contexts:
- {name: here, context: {cluster: east, user: one}}
- {name: east, context: {cluster: east, user: one, namespace: work}}
- {name: west, context: {cluster: west, user: two, namespace: rest}}
- {name: slash, context: {cluster: slash, user: one}}
- {name: slow, context: {cluster: slow, user: one}}
- {name: named, context: {cluster: named, user: one}}
- {name: stranger, context: {cluster: stranger, user: one}}
clusters:
- {name: east, cluster: {server: "%[2]s", certificate-authority: ca.crt}}
- {name: west, cluster: {server: "%[3]s", certificate-authority: ca.crt}}
- {name: slash, cluster: {server: "%[3]s/", certificate-authority: ca.crt}}
- {name: slow, cluster: {server: "%[2]s/slow", certificate-authority: ca.crt}}
- {name: named, cluster: {server: "%[2]s", certificate-authority: ca.crt, tls-server-name: example.com}}
- {name: stranger, cluster: {server: "%[2]s", certificate-authority: client.crt}}
users:
- {name: one, user: {token: token-1}}
- {name: two, user: {token: token-2}}
`
	write(f.path("config"), fmt.Appendf(nil, config, "here", f.east, f.west))
	write(f.path("other"), fmt.Appendf(nil, config, "west", f.east, f.west))
}

func parseURL(text string) *url.URL {
	parsed, err := url.Parse(text)
	if err != nil {
		log.Fatal(err)
	}
	return parsed
}

func main() {
	program := flag.String("numa", "build/kubectl-numa", "the program kubectl-numa")
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	path, err := filepath.Abs(*program)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "nrtd-flags-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := &servers{}
	s.east, s.west = start("east", s), start("west", s)
	f := &fixture{east: parseURL(s.east.URL), west: parseURL(s.west.URL), dir: dir}
	f.make(s.east.Certificate().Raw)
	os.Setenv("KUBECONFIG", f.path("config"))
	os.Setenv("HOME", dir)
	if err := os.Chdir(dir); err != nil {
		log.Fatal(err)
	}
	failed, refused, lines := 0, 0, f.lines()
	for _, args := range lines {
		want := kubectl(args, s)
		got, said := numa(path, args, s)
		if want.Refused {
			refused++
		}
		if want != got {
			failed++
			fmt.Printf("%q:\n  kubectl      %+v\n  kubectl-numa %+v\n    %s\n", args, want, got, strings.TrimSpace(said))
		}
	}
	fmt.Printf("flags: %d command lines (%d refused by both), %d differ\n", len(lines), refused, failed)
	if failed > 0 || refused == 0 || refused == len(lines) {
		os.RemoveAll(dir)
		os.Exit(1)
	}
}
