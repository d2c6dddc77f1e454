/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/discover.h"

#include <errno.h>

#include "agent/discover_hwloc.h"
#include "agent/discover_kernel.h"
#include "common/cleanup.h"

/* Offline: present, not in the list of those online, and not loaded where there is no such list. */
static int set_offline(struct machine *m, struct kernel_cpus *cpus)
{
	m->offline = TAKE(cpus->present);
	if (cpus->online && hwloc_bitmap_andnot(m->offline, m->offline, cpus->online) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_cpus; i++) {
		if (hwloc_bitmap_clr(m->offline, m->cpus[i].id) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int discover_tree(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(kernel_cpus_release) struct kernel_cpus cpus = {NULL, NULL};
	int r = kernel_discover(root, m, &cpus, err);

	if (r == 0)
		r = discover_hwloc_cpus(root, m, err);
	if (r == 0 && set_offline(m, &cpus) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

int machine_discover(const struct machine_source *source, struct machine *ret, struct err *err)
{
	CLEANUP(machine_release) struct machine m;
	int r;

	machine_init(&m);
	if (source->xml)
		r = discover_hwloc_xml(source->xml, &m, err);
	else
		r = discover_tree(source->root ? source->root : "", &m, err);
	if (r < 0)
		return r;
	if (machine_derive(&m) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = m;
	machine_init(&m);
	return 0;
}
