/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pod_ref.h"

#include <stdlib.h>

void pod_refs_free(struct pod_ref *pods, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pods[i].namespace);
		free(pods[i].name);
	}
	free(pods);
}
