/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nrtd/observe_local.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/pod_memory.h"
#include "cli/nrtd/stage_config.h"
#include "common/cleanup.h"
#include "common/log.h"

/* Only root can read the kubelet's files and connect to the kubelet's socket. */
static int add_remedy(int r, struct err *err)
{
	struct err why;

	if ((r != -EACCES && r != -EPERM) || geteuid() == 0 || !err)
		return r;
	why = *err;
	return err_set(err, r, "%.400s; run nrtd as root, or with CAP_DAC_READ_SEARCH", why.text);
}

void observe_pod_memory(const struct options *options, struct observation *o, struct notes *notes)
{
	const struct observe_config config = stage_observe(options);
	struct err err = {""};

	if (config.cgroup && pod_memory_read(config.sysroot, config.cgroup, &o->node, &err) < 0)
		notes_add(notes, "%s; the NUMA nodes of the pods' memory are unknown", err.text);
}

int observe_local(const struct options *options, struct observation *ret, struct err *err)
{
	const struct observe_config config = stage_observe(options);
	struct stage_lists lists;
	const struct derive_config derive = stage_derive(options, &lists);
	int r = observe(&config, ret, err);

	return r < 0 ? add_remedy(r, err) : node_derive(&derive, &ret->node, &ret->notes, err);
}
