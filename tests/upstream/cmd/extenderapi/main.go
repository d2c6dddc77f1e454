// SPDX-License-Identifier: Apache-2.0

// extenderapi sends requests with the scheduler's own extender client to the server of `nrtd-extender` (build/tests/upstream/extender_api).
// The server must parse the pods, nodes and victims exactly, and the client must parse the answers; over HTTP, and over HTTPS with and
// without a valid client certificate. A redirected request must reach the other server completely.
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	crypto "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	config "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func main() {
	program := flag.String("program", "build/tests/upstream/extender_api", "the server")
	cases := flag.Int("cases", 200, "random questions of each kind")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "random seed")
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)
	if err := run(*program, *cases, rand.New(rand.NewPCG(*seed, 0))); err != nil {
		fmt.Fprintln(os.Stderr, "extenderapi:", err)
		os.Exit(1)
	}
}

func run(program string, cases int, random *rand.Rand) error {
	dir, err := os.MkdirTemp("", "nrtd-wire-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := makeCertificates(dir); err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	plain, err := start(program)
	if err != nil {
		return err
	}
	defer plain.end()
	secure, err := start(program, in("server.crt"), in("server.key"), in("ca.crt"))
	if err != nil {
		return err
	}
	defer secure.end()
	for _, cacheable := range []bool{true, false} {
		for _, server := range []*server{plain, secure} {
			settings := config.Extender{NodeCacheCapable: cacheable, Weight: 1}
			if server == secure {
				settings.EnableHTTPS = true
				settings.TLSConfig = &config.ExtenderTLSConfig{CAFile: in("ca.crt"), CertFile: in("client.crt"), KeyFile: in("client.key")}
			}
			for range cases {
				if err := server.compare(settings, random); err != nil {
					return fmt.Errorf("nodeCacheCapable %t, HTTPS %t: %w", cacheable, server == secure, err)
				}
			}
		}
	}
	fmt.Printf("%d questions of each kind, by names and whole, by HTTP and HTTPS: read and answered\n", cases)
	if err := compareSentOn(program, plain, cases, in, random); err != nil {
		return fmt.Errorf("sent on: %w", err)
	}
	return secure.strangers(in)
}

// compareSentOn sends requests to servers that redirect every request. The target's certificate contains only the Service's name, not its
// address.
func compareSentOn(program string, plain *server, cases int, in func(string) string, random *rand.Rand) error {
	named, err := start(program, in("named.crt"), in("named.key"), in("ca.crt"))
	if err != nil {
		return err
	}
	defer named.end()
	first, err := start(program, in("named.crt"), in("named.key"), in("ca.crt"))
	if err != nil {
		return err
	}
	defer first.end()
	settings := config.Extender{NodeCacheCapable: true, Weight: 1}
	through := &server{port: plain.port + "/to/" + plain.port}
	for range cases {
		if err := through.compare(settings, random); err != nil {
			return fmt.Errorf("HTTP: %w", err)
		}
	}
	settings.EnableHTTPS = true
	settings.TLSConfig = &config.ExtenderTLSConfig{ServerName: serviceName, CAFile: in("ca.crt"), CertFile: in("client.crt"), KeyFile: in("client.key")}
	through.port = first.port + "/to/" + named.port
	for range cases {
		if err := through.compare(settings, random); err != nil {
			return fmt.Errorf("HTTPS: %w", err)
		}
	}
	fmt.Printf("%d questions of each kind, sent on by HTTP and HTTPS: read and answered\n", cases)
	settings.TLSConfig.ServerName = ""
	if err := through.compare(settings, random); err == nil || !strings.Contains(err.Error(), "certificate") {
		return fmt.Errorf("without serverName the address is not in the certificate, but: %v", err)
	}
	return nil
}

// ---- the server

type server struct {
	command *exec.Cmd
	stop    func() error
	port    string // and the path behind it
}

func start(program string, arguments ...string) (*server, error) {
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return &server{command: command, stop: stdin.Close, port: strings.TrimSpace(port)}, nil
}

func (s *server) end() {
	s.stop()
	s.command.Wait()
}

func (s *server) extender(settings config.Extender, filterVerb string) (fwk.Extender, error) {
	scheme := "http"
	if settings.EnableHTTPS {
		scheme = "https"
	}
	settings.URLPrefix = scheme + "://127.0.0.1:" + s.port
	settings.FilterVerb = filterVerb
	settings.PrioritizeVerb = "prioritize"
	settings.PreemptVerb = "preempt"
	settings.HTTPTimeout = metav1.Duration{Duration: time.Minute}
	return scheduler.NewHTTPExtender(&settings)
}

// ---- requests

var words = []string{"n", "node-", "worker.example.", "no-", "never-", "\"q\"", "back\\slash", "tab\t", "é", "€", "\U0001F600", "<&>", "\u2028"}

func randomNode(random *rand.Rand, i int) *v1.Node {
	name := fmt.Sprintf("%s%s%d", words[random.IntN(len(words))], words[random.IntN(len(words))], i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": "x", "}": "]"}},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("31500m")},
			Images:      []v1.ContainerImage{{Names: []string{"a\"}]", "b"}, SizeBytes: random.Int64()}},
		},
	}
}

func randomContainers(random *rand.Rand, n int) (containers []v1.Container) {
	always := v1.ContainerRestartPolicyAlways
	for i := range n {
		c := v1.Container{Name: fmt.Sprintf("c-%d", i), Command: []string{"sh", "-c", "echo \"{[\\\" <&> \x01"}}
		if random.IntN(4) > 0 {
			amounts := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(random.Int64N(20000), resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(random.Int64N(1<<40), resource.BinarySI)}
			c.Resources = v1.ResourceRequirements{Requests: amounts, Limits: amounts}
		}
		if random.IntN(4) == 0 {
			c.RestartPolicy = &always
		}
		containers = append(containers, c)
	}
	return containers
}

func randomPod(random *rand.Rand) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d", random.IntN(1000)), Namespace: "default", UID: types.UID(fmt.Sprintf("uid-%d", random.Uint64())),
			Annotations:   map[string]string{"text": words[random.IntN(len(words))]},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:x":{}}`)}}},
		},
		Spec: v1.PodSpec{Containers: randomContainers(random, 1+random.IntN(3)), InitContainers: randomContainers(random, random.IntN(3))},
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].RestartPolicy = nil
	}
	if random.IntN(2) == 0 {
		priority := int32(random.Uint32())
		pod.Spec.Priority = &priority
	}
	return pod
}

// description is what /describe answers of a pod and so many nodes.
func description(pod *v1.Pod, nodes int) string {
	var priority int32
	if pod.Spec.Priority != nil {
		priority = *pod.Spec.Priority
	}
	all := append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
	text := fmt.Sprintf("%s %s/%s %d %d %d", pod.UID, pod.Namespace, pod.Name, priority, len(all), nodes)
	for _, c := range all {
		if cpu, ok := c.Resources.Requests[v1.ResourceCPU]; ok {
			text += fmt.Sprintf(" %d", cpu.MilliValue()*1000000)
		} else {
			text += " -1"
		}
	}
	return text
}

func backwards(text string) string {
	bytes := []byte(text)
	for i, j := 0, len(bytes)-1; i < j; i, j = i+1, j-1 {
		bytes[i], bytes[j] = bytes[j], bytes[i]
	}
	return string([]rune(string(bytes))) // a byte that is no UTF-8 is U+FFFD
}

// compare sends requests of every verb for one pod.
func (s *server) compare(settings config.Extender, random *rand.Rand) error {
	pod := randomPod(random)
	var infos []fwk.NodeInfo
	var passing []string
	failed, never := extenderv1.FailedNodesMap{}, extenderv1.FailedNodesMap{}
	n := []int{0, 1, 3, 30}[random.IntN(4)]
	onlyFailing := random.IntN(2) == 0
	for i := 0; len(infos) < n; i++ {
		node := randomNode(random, i)
		fails := strings.HasPrefix(node.Name, "no-") || strings.HasPrefix(node.Name, "node-") || strings.HasPrefix(node.Name, "never-")
		if onlyFailing && !fails {
			continue
		}
		switch {
		case strings.HasPrefix(node.Name, "never-"):
			never[node.Name] = backwards(node.Name)
		case fails:
			failed[node.Name] = backwards(node.Name)
		default:
			passing = append(passing, node.Name)
		}
		info := framework.NewNodeInfo()
		info.SetNode(node)
		infos = append(infos, info)
	}
	if len(passing) > 0 {
		failed, never = extenderv1.FailedNodesMap{}, extenderv1.FailedNodesMap{}
	}
	extender, err := s.extender(settings, "filter")
	if err != nil {
		return err
	}
	if err := compareFilter(extender, pod, infos, passing, failed, never); err != nil {
		return err
	}
	if err := compareScores(extender, pod, infos); err != nil {
		return err
	}
	if err := comparePreemption(extender, pod, infos); err != nil {
		return err
	}
	describer, err := s.extender(settings, "describe")
	if err != nil {
		return err
	}
	if _, _, _, err := describer.Filter(pod, infos); err == nil || err.Error() != description(pod, len(infos)) {
		return fmt.Errorf("it read '%v', not '%s'", err, description(pod, len(infos)))
	}
	return nil
}

func compareFilter(extender fwk.Extender, pod *v1.Pod, infos []fwk.NodeInfo, passing []string, failed, never extenderv1.FailedNodesMap) error {
	got, gotFailed, gotNever, err := extender.Filter(pod, infos)
	if err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	var names []string
	for _, info := range got {
		names = append(names, info.Node().Name)
		for _, sent := range infos {
			if sent.Node().Name == info.Node().Name && !reflect.DeepEqual(sent.Node().Status, info.Node().Status) {
				return fmt.Errorf("filter: node %q comes back as another", info.Node().Name)
			}
		}
	}
	if !reflect.DeepEqual(names, passing) {
		return fmt.Errorf("filter: %q pass, not %q", names, passing)
	}
	if !reflect.DeepEqual(gotFailed, failed) || !reflect.DeepEqual(gotNever, never) {
		return fmt.Errorf("filter: %q and %q fail, not %q and %q", gotFailed, gotNever, failed, never)
	}
	return nil
}

func compareScores(extender fwk.Extender, pod *v1.Pod, infos []fwk.NodeInfo) error {
	got, _, err := extender.Prioritize(pod, infos)
	if err != nil {
		return fmt.Errorf("prioritize: %w", err)
	}
	want := extenderv1.HostPriorityList{}
	for _, info := range infos {
		want = append(want, extenderv1.HostPriority{Host: info.Node().Name, Score: int64(len(info.Node().Name) % 11)})
	}
	if !reflect.DeepEqual(*got, want) {
		return fmt.Errorf("prioritize: %v, not %v", *got, want)
	}
	return nil
}

// lister has the nodes of one request.
type lister []fwk.NodeInfo

func (l lister) List() ([]fwk.NodeInfo, error)                                 { return l, nil }
func (l lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error)             { return nil, nil }
func (l lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }
func (l lister) Get(name string) (fwk.NodeInfo, error) {
	for _, info := range l {
		if info.Node().Name == name {
			return info, nil
		}
	}
	return nil, errors.New("no such node")
}

func comparePreemption(extender fwk.Extender, pod *v1.Pod, infos []fwk.NodeInfo) error {
	victims, want := map[string]*extenderv1.Victims{}, map[string]*extenderv1.Victims{}
	var nodes lister
	for i, info := range infos {
		node := framework.NewNodeInfo()
		var pods []*v1.Pod
		for k := range i % 4 {
			v := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: types.UID(fmt.Sprintf("%d \"%d\"", i, k))}}
			infoOfPod, err := framework.NewPodInfo(v)
			if err != nil {
				return err
			}
			node.AddPodInfo(infoOfPod)
			pods = append(pods, v)
		}
		node.SetNode(info.Node())
		nodes = append(nodes, node)
		name := info.Node().Name
		victims[name] = &extenderv1.Victims{Pods: pods, NumPDBViolations: int64(i)}
		if !strings.HasPrefix(name, "no") {
			left := append([]*v1.Pod{}, pods...)
			want[name] = &extenderv1.Victims{Pods: left[:max(len(left)-1, 0)], NumPDBViolations: int64(i)}
		}
	}
	got, err := extender.ProcessPreemption(pod, victims, nodes)
	if err != nil {
		return fmt.Errorf("preempt: %w", err)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("preempt: %v, not %v", got, want)
	}
	return nil
}

// strangers are rejected: clients without a certificate, and with a certificate of another CA.
func (s *server) strangers(in func(string) string) error {
	for name, settings := range map[string]*config.ExtenderTLSConfig{
		"no certificate":           {CAFile: in("ca.crt")},
		"another CA's certificate": {CAFile: in("ca.crt"), CertFile: in("stranger.crt"), KeyFile: in("stranger.key")},
		"a server's certificate":   {CAFile: in("ca.crt"), CertFile: in("server.crt"), KeyFile: in("server.key")},
	} {
		extender, err := s.extender(config.Extender{NodeCacheCapable: true, EnableHTTPS: true, TLSConfig: settings}, "filter")
		if err != nil {
			return err
		}
		if _, _, _, err := extender.Filter(randomPod(rand.New(rand.NewPCG(1, 1))), nil); err == nil || !strings.HasSuffix(err.Error(), "code 403") {
			return fmt.Errorf("%s: %v", name, err)
		}
		fmt.Printf("%s: 403\n", name)
	}
	return nil
}

// ---- certificates

// serviceName is in the certificate of a server that is behind a Service.
const serviceName = "nrtd-extender.nrtd.svc"

func makeCertificates(dir string) error {
	authority, other := &signer{}, &signer{}
	for _, c := range []struct {
		name  string
		by    *signer
		makes *signer
		usage x509.ExtKeyUsage
	}{
		{"ca", authority, authority, x509.ExtKeyUsageAny},
		{"other", other, other, x509.ExtKeyUsageAny},
		{"server", authority, nil, x509.ExtKeyUsageServerAuth},
		{"named", authority, nil, x509.ExtKeyUsageServerAuth},
		{"client", authority, nil, x509.ExtKeyUsageClientAuth},
		{"stranger", other, nil, x509.ExtKeyUsageClientAuth},
	} {
		if err := makeCertificate(filepath.Join(dir, c.name), c.by, c.makes, c.usage); err != nil {
			return fmt.Errorf("certificate %s: %w", c.name, err)
		}
	}
	return nil
}

type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func makeCertificate(path string, by, makes *signer, usage x509.ExtKeyUsage) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crypto.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: filepath.Base(path)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	if template.Subject.CommonName == "named" {
		template.IPAddresses, template.DNSNames = nil, []string{serviceName}
	}
	if makes != nil {
		template.IsCA, template.ExtKeyUsage, template.KeyUsage = true, nil, x509.KeyUsageCertSign
		by.certificate, by.key = template, key
	}
	signed, err := x509.CreateCertificate(crypto.Reader, template, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		return err
	}
	if makes != nil {
		if makes.certificate, err = x509.ParseCertificate(signed); err != nil {
			return err
		}
	}
	plain, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: plain}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600)
}
