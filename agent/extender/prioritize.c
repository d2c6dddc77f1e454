/* SPDX-License-Identifier: Apache-2.0 */
/* Answers /prioritize: scores the requested nodes. */
#include "agent/extender/candidates.h"
#include "common/cleanup.h"

int extender_prioritize(struct cluster_cache *cache, const struct verb_config *config,
	struct extender_args *args, struct verb_answer *ret)
{
	CLEANUP(candidates_release) struct candidates c = {0};

	candidates_init(&c, cache, args, ret);
	return ret->class->aligned ? candidates_judge(&c, cache, config, args, ret) : 0;
}
