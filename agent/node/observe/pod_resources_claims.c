/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/pod_resources_claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

static void convert(const Podresources__DynamicResource *of, const Podresources__ClaimResource *from,
	const char *namespace, const char *pod, struct claims *ret)
{
	CLEANUP(claim_release) struct claim claim = {0};

	claim_init(&claim, text_or_empty(from->driver_name), "", text_or_empty(of->claim_namespace),
		text_or_empty(of->claim_name));
	claim_add_pod(&claim, namespace, pod);
	claim_add_device(&claim, text_or_empty(from->pool_name), text_or_empty(from->device_name),
		text_or_empty(from->share_id));
	for (size_t i = 0; i < from->n_cdi_devices; i++)
		strv_push(&claim.cdi, text_or_empty(from->cdi_devices[i]->name));
	claims_take(ret, &claim);
}

void pod_resources_claims(const Podresources__ContainerResources *container, const char *namespace,
	const char *pod, struct claims *ret)
{
	for (size_t i = 0; i < container->n_dynamic_resources; i++) {
		const Podresources__DynamicResource *of = container->dynamic_resources[i];

		for (size_t k = 0; k < of->n_claim_resources; k++)
			convert(of, of->claim_resources[k], namespace, pod, ret);
	}
}
