/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/discover.h"

#include <errno.h>

#include "agent/node/observe/discover_hwloc.h"
#include "agent/node/observe/discover_kernel.h"
#include "common/cleanup.h"
#include "common/cpuset.h"

/* Offline: present, not in the list of those online, and not loaded where there is no such list. */
static void set_offline(struct machine *m, struct kernel_cpus *cpus)
{
	m->offline = TAKE(cpus->present);
	if (cpus->online)
		cpuset_andnot(m->offline, m->offline, cpus->online);
	for (size_t i = 0; i < m->n_cpus; i++)
		cpuset_clr(m->offline, m->cpus[i].id);
}

/* Without NUMA in the kernel the kubelet makes a NUMA node of each package and gives it the package's id. */
static void name_single_node(struct machine *m)
{
	int package = m->n_cpus > 0 ? m->cpus[0].socket : MACHINE_NONE;

	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].socket != package)
			return;
	if (m->n_nodes == 1 && !m->nodes[0].cpus && package >= 0 && package < MACHINE_MAX_NODES)
		m->nodes[0].id = (unsigned)package;
}

static int discover_tree(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(kernel_cpus_release) struct kernel_cpus cpus = {NULL, NULL};
	int r = kernel_discover(root, m, &cpus, err);

	if (r == 0)
		r = discover_hwloc_cpus(root, m, err);
	if (r == 0)
		r = kernel_read_cores(root, m, err);
	name_single_node(m);
	if (r == 0)
		set_offline(m, &cpus);
	return r;
}

static const char *root_of(const struct machine_source *source)
{
	return source->root && !source->xml ? source->root : "";
}

int machine_prepare(const struct machine_source *source, struct err *err)
{
	return discover_hwloc_prepare(root_of(source), err);
}

int machine_discover(const struct machine_source *source, struct machine *ret, struct err *err)
{
	CLEANUP(machine_release) struct machine m;
	int r;

	machine_init(&m);
	if (source->xml)
		r = discover_hwloc_xml(source->xml, &m, err);
	else
		r = discover_tree(root_of(source), &m, err);
	if (r < 0)
		return r;
	machine_derive(&m);
	*ret = m;
	machine_init(&m);
	return 0;
}
