/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fit_fixture.h"

#include "scoring/node/node_derive.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

void fit_fixture_init(struct fit_fixture *f)
{
	memset(f, 0, sizeof(*f));
	node_state_init(&f->node);
	f->node.settings.cpu_manager = CPU_MANAGER_STATIC;
	f->node.settings.memory_manager = MEMORY_MANAGER_NONE;
	f->node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	f->node.settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
}

void fit_fixture_release(struct fit_fixture *f)
{
	node_report_release(&f->report);
	pod_report_release(&f->pods);
	pod_request_release(&f->pod);
	node_state_release(&f->node);
}

void fit_fixture_set_shared(struct fit_fixture *f, const char *shared, const char *reserved)
{
	struct allocation *held;

	hwloc_bitmap_free(f->node.reserved.cpus);
	f->node.reserved.cpus = NULL;
	assert_int_equal(cpuset_parse(reserved, &f->node.reserved.cpus, NULL), 0);
	f->node.reserved.observed = true;
	assert_int_equal(cpuset_parse(shared, &f->node.allocations.shared, NULL), 0);
	held = allocations_add_container(&f->node.allocations, "uid", "holder");
	assert_non_null(held);
	hwloc_bitmap_andnot(held->cpus, f->node.machine.online, f->node.allocations.shared);
	hwloc_bitmap_andnot(held->cpus, held->cpus, f->node.reserved.cpus);
	f->node.allocations.cpus_known = true;
}

void fit_fixture_report(struct fit_fixture *f)
{
	node_report_release(&f->report);
	pod_report_release(&f->pods);
	inventory_release(&f->node.inventory);
	node_derive_inventory(&f->node, &f->node.inventory, NULL);
	pod_report_init(&f->pods, &f->pod);
	node_report_make(&f->pods, &f->node, REPORT_ALL, NULL, &f->report);
}

void fit_fixture_report_on(struct fit_fixture *f, const char *pod)
{
	pod_request_release(&f->pod);
	pod_from_text(&f->pod, pod);
	fit_fixture_report(f);
}
