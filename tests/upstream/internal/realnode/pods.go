// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Namespace is where the pods are, Image what they run: busybox.
const (
	Namespace = "default"
	Image     = "nrtd.test/busybox:1"
)

// Ask is what a container asks for, and for how long it runs: 0 is until it is ended.
type Ask struct {
	CPU, Memory, HugePages string
	Devices                int
	Seconds, Status        int
	Sidecar                bool
}

// Pod makes a pod for the node. Guaranteed says that every container has limits as requests.
func Pod(node, name string, guaranteed bool, init, containers []Ask) *v1.Pod {
	grace, no := int64(1), false
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: v1.PodSpec{NodeName: node, HostNetwork: true, TerminationGracePeriodSeconds: &grace, RestartPolicy: v1.RestartPolicyNever,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no},
	}
	for i, ask := range init {
		container := ask.container(name, fmt.Sprintf("i%d", i), guaranteed)
		if !ask.Sidecar {
			container.Env = append(container.Env, v1.EnvVar{Name: envInit, Value: "1"})
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	}
	for i, ask := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, ask.container(name, fmt.Sprintf("c%d", i), guaranteed))
	}
	return pod
}

func (a Ask) container(pod, name string, guaranteed bool) v1.Container {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	exclusive, environment := "0", []v1.EnvVar{{Name: envPod, Value: pod}, {Name: envName, Value: name}}
	for kind, amount := range map[v1.ResourceName]string{v1.ResourceCPU: a.CPU, v1.ResourceMemory: a.Memory} {
		if amount == "" {
			continue
		}
		requests[kind] = resource.MustParse(amount)
		if guaranteed {
			limits[kind] = requests[kind]
		}
	}
	if a.HugePages != "" {
		requests["hugepages-2Mi"], limits["hugepages-2Mi"] = resource.MustParse(a.HugePages), resource.MustParse(a.HugePages)
	}
	if a.Devices > 0 {
		requests[Resource] = *resource.NewQuantity(int64(a.Devices), resource.DecimalSI)
		limits[Resource] = requests[Resource]
	}
	if guaranteed {
		if cpu := requests[v1.ResourceCPU]; cpu.MilliValue()%1000 == 0 {
			exclusive = strconv.FormatInt(cpu.Value(), 10)
		}
		for _, kind := range []v1.ResourceName{v1.ResourceMemory, "hugepages-2Mi"} {
			amount := requests[kind]
			environment = append(environment, v1.EnvVar{Name: envBytes + string(kind), Value: strconv.FormatInt(amount.Value(), 10)})
		}
	}
	environment = append(environment, v1.EnvVar{Name: envCPUs, Value: exclusive})
	run := "trap 'exit 0' TERM; sleep 1000000 & wait"
	if a.Seconds > 0 {
		run = fmt.Sprintf("sleep %d; exit %d", a.Seconds, a.Status)
	}
	container := v1.Container{Name: name, Image: Image, ImagePullPolicy: v1.PullNever, Command: []string{"/bin/sh", "-c", run},
		Env: environment, Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
	if a.Sidecar {
		always := v1.ContainerRestartPolicyAlways
		container.RestartPolicy = &always
	}
	return container
}

// Pods makes and ends pods.
type Pods struct {
	Client kubernetes.Interface
}

// Create sends it to its node.
func (p Pods) Create(ctx context.Context, pod *v1.Pod) error {
	_, err := p.Client.CoreV1().Pods(Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// Delete asks for its end.
func (p Pods) Delete(ctx context.Context, name string) error {
	return p.Client.CoreV1().Pods(Namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// Wait waits until the pod is as wanted; `is` returns what it is, and gets nil once it is gone.
func (p Pods) Wait(ctx context.Context, name, wanted string, is func(*v1.Pod) string) error {
	last := ""
	for until := time.Now().Add(5 * time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		pod, err := p.Client.CoreV1().Pods(Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			pod = nil
		} else if err != nil {
			last = err.Error()
			continue
		}
		if last = is(pod); last == wanted {
			return nil
		}
	}
	return fmt.Errorf("pod %s is '%s', not '%s'", name, last, wanted)
}

// State is what a pod is in one word: its phase or the reason for it, "Running" only while every container runs.
func State(pod *v1.Pod) string {
	if pod == nil {
		return "gone"
	}
	if pod.Status.Reason != "" {
		return pod.Status.Reason
	}
	if pod.Status.Phase != v1.PodRunning {
		return string(pod.Status.Phase)
	}
	ended := 0
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running == nil && status.State.Terminated == nil {
			return "starting"
		}
		if status.State.Terminated != nil {
			ended++
		}
	}
	if ended > 0 {
		return fmt.Sprintf("%d has ended", ended)
	}
	return "Running"
}
