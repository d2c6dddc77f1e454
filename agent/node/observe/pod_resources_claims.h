/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of pod_resources.h: dynamic_resources, which driver gave which devices to whose claim.
 */
#include "agent/node/observe/pod_resources.pb-c.h"
#include "common/claim.h"

/*
 * Append what a container of this pod uses, one entry a claim and device, for claims_unite(). The kubelet lists a
 * device with the CDI devices of those before it too.
 */
void pod_resources_claims(const Podresources__ContainerResources *container, const char *namespace,
	const char *pod, struct claims *ret);
