/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/look.h"

#include <errno.h>
#include <unistd.h>

#include "agent/cli/stage_config.h"

/* The kubelet's files and its socket are for root only. */
static int add_remedy(int r, struct err *err)
{
	struct err why;

	if ((r != -EACCES && r != -EPERM) || geteuid() == 0 || !err)
		return r;
	why = *err;
	return err_set(err, r, "%.400s; run nrtd as root, or with CAP_DAC_READ_SEARCH", why.text);
}

int look(const struct options *options, struct observation *ret, struct err *err)
{
	const struct observe_config config = stage_observe(options);
	struct stage_lists lists;
	const struct model_config model = stage_model(options, &lists);
	int r = observe(&config, ret, err);

	return r < 0 ? add_remedy(r, err) : model_node(&model, &ret->node, &ret->notes, err);
}
