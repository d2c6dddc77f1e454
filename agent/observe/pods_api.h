/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the node's pods from the kubelet's pods API: names, priorities and requests.
 *
 * KEP-4188, feature gate PodsAPI: alpha in Kubernetes 1.36, beta and on by default in 1.37. The answer has all pods,
 * also pods of the shared pool, which neither the state files nor the pod-resources API report. It is as large as
 * the pods' specifications (megabytes on a full node), so only commands that run once read it.
 */
#include "common/doc.h"
#include "common/err.h"

/* Below the kubelet's root directory. */
#define PODS_API_SOCKET "pods-api/pods-api.sock"

#define PODS_API_REPLY_MAX (32u << 20)

/*
 * Call ListPods. *ret becomes a list of Pods as the API server's JSON has them, but only with the members that
 * decide what a pod requests: of metadata name, namespace, uid and annotations; of spec containers,
 * initContainers, nodeName, overhead, priority, priorityClassName, resourceClaims and resources; of status phase,
 * conditions, qosClass and the resources of containers. `node` becomes every pod's nodeName.
 *
 * 0; as grpc_call(); -EOPNOTSUPP (the kubelet has no such call), -EAGAIN (the kubelet answers with another gRPC
 * status), -EBADMSG (the bytes are not such a message); with one line that names the socket. `ret` (empty) is
 * untouched on failure.
 */
int pods_api_read(const char *socket, const char *node, struct doc *ret, struct err *err);

/* As pods_api_read(), from an encoded ListPodsResponse. */
int pods_api_parse(const void *bytes, size_t len, const char *node, struct doc *ret, struct err *err);
