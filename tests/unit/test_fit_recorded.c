/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/fit_fixture.h"
#include "tests/lib/pods.h"

/* ---- the kubelet's recorded decisions: vectors/cpu_manager.json */

static const struct doc *need(const struct doc *map, const char *key)
{
	const struct doc *d = doc_get(map, key);

	if (!d)
		fail_msg("no '%s' in the recorded case", key);
	return d;
}

static unsigned number(const struct doc *d)
{
	uint64_t n = 0;

	assert_int_equal(doc_uint64(d, &n), 0);
	return (unsigned)n;
}

static struct numa_node *find_node(struct machine *m, unsigned id)
{
	struct numa_node *node;
	int at = machine_node_index(m, id);

	if (at >= 0)
		return &m->nodes[at];
	node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
	assert_non_null(node);
	node->id = id;
	node->memory_bytes = (uint64_t)1 << 36;
	node->cpus = hwloc_bitmap_alloc();
	assert_non_null(node->cpus);
	for (; node > m->nodes && node[-1].id > id; node--) {
		struct numa_node other = node[-1];

		node[-1] = *node;
		*node = other;
	}
	return node;
}

/* `topology` holds lists by CPU id; `distances` a row a node. */
static void read_machine(const struct doc *topology, const struct doc *distances, struct machine *m)
{
	const struct doc *core = need(topology, "core"), *socket = need(topology, "socket");
	const struct doc *numa = need(topology, "numa"), *l3 = need(topology, "l3");
	size_t at = 0;

	for (unsigned id = 0; id < core->n_items; id++) {
		struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

		assert_non_null(cpu);
		*cpu = (struct cpu){.id = id,
			.core = number(&core->items[id]),
			.socket = (int)number(&socket->items[id]),
			.l3 = (int)number(&l3->items[id])};
		hwloc_bitmap_set(find_node(m, number(&numa->items[id]))->cpus, id);
	}
	m->distances = calloc(m->n_nodes * m->n_nodes, sizeof(*m->distances));
	assert_non_null(m->distances);
	DOC_FOREACH (row, distances)
		DOC_FOREACH (distance, row)
			m->distances[at++] = number(distance);
	machine_derive(m);
	/* The recorded ids are those of uncore caches. */
	for (size_t i = 0; i < m->n_cpus; i++)
		m->cpus[i].uncore = m->cpus[i].l3;
}

static void read_options(const struct doc *list, struct settings *s)
{
	s->cpu_options = (struct cpu_manager_options){0};
	DOC_FOREACH (item, list) {
		const struct policy_option *o =
			policy_option_of(SETTING_CPU_MANAGER_POLICY_OPTIONS, item->text);

		assert_non_null(o);
		policy_option_set(o, true, s);
	}
}

/* "restricted+prefer-closest-numa-nodes" */
static void read_policy(const char *text, struct settings *s)
{
	CLEANUP(freep) char *name = strndup(text, strcspn(text, "+"));
	int policy = settings_name_index(topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, name);

	assert_true(policy > 0);
	s->topology.policy = (enum topology_manager_policy)policy;
	s->topology.prefer_closest_numa_nodes = strchr(text, '+') != NULL;
}

static uint64_t mask_of(const struct doc *ids)
{
	uint64_t mask = 0;

	DOC_FOREACH (id, ids)
		mask |= node_mask_of(number(id));
	return mask;
}

static bool containers_agree(const struct node_report *r, const struct doc *want)
{
	const struct doc *numa = need(want, "numa");
	const struct container_report *c = r->containers;

	return r->n_containers == 1 && c->hint.any_node == (numa->kind == DOC_NULL) &&
	       (c->hint.any_node || c->hint.nodes == mask_of(numa)) &&
	       c->hint.preferred == !strcmp(need(want, "preferred")->text, "true") &&
	       !strcmp(c->cpus, need(want, "cpus")->text);
}

/* Compare the report under one policy with the recorded decision. False = they differ. */
static bool agrees(struct fit_fixture *f, const struct doc *c, const struct doc *want)
{
	const struct doc *smt = doc_get(c, "smtError");
	bool merged = !strcmp(need(want, "admit")->text, "true");
	const char *rejection = "";

	fit_fixture_report(f);
	if (!merged)
		rejection = "TopologyAffinityError";
	else if (smt)
		rejection = "SMTAlignmentError";
	else if (!doc_get(want, "cpus"))
		rejection = "UnexpectedAdmissionError";
	if (*rejection)
		return f->report.answer == KUBELET_REJECTS && !strcmp(f->report.rejection, rejection) &&
		       f->report.n_containers == 0 && f->report.reason[0];
	return f->report.answer == KUBELET_ADMITS && f->report.copies.n > 0 &&
	       containers_agree(&f->report, want);
}

/* Every policy of one case. Returns the number of comparisons. */
static size_t check_case(const struct doc *topologies, const struct doc *c)
{
	struct fit_fixture f;
	size_t n = 0;
	struct quantity cpus = quantity_from_units(number(need(c, "request")));
	struct container_request *container;

	fit_fixture_init(&f);
	read_machine(need(topologies, need(c, "topology")->text), need(c, "distances"), &f.node.machine);
	read_options(need(c, "options"), &f.node.settings);
	f.node.settings.kubelet_minor = 36; /* the release that was recorded */
	fit_fixture_set_shared(&f, need(c, "defaultCpuSet")->text, need(c, "reserved")->text);
	f.pod.name = strdup("pod");
	f.pod.qos = QOS_GUARANTEED;
	container = pod_request_add(&f.pod, CONTAINER_APP, "c");
	assert_non_null(container);
	resource_list_set(&container->requests, "cpu", cpus);
	DOC_FOREACH (want, need(c, "policies")) {
		read_policy(want->key, &f.node.settings);
		if (!agrees(&f, c, want))
			fail_msg("%s, %s: answer %d, %s %s, CPUs %s", need(c, "id")->text, want->key,
				f.report.answer, f.report.rejection, f.report.reason,
				f.report.n_containers ? f.report.containers[0].cpus : "none");
		n++;
	}
	fit_fixture_release(&f);
	return n;
}

static void check_vectors(const char *path)
{
	CLEANUP(doc_release) struct doc root = DOC_INIT;
	CLEANUP(freep) char *text = NULL;
	size_t len, n = 0;

	text = test_read_file(path, &len);
	assert_int_equal(json_parse(text, len, &root, NULL), 0);
	DOC_FOREACH (c, need(&root, "cases"))
		n += check_case(need(&root, "topologies"), c);
	print_message("%zu decisions of %s\n", n, path);
	assert_true(n > 0);
}

static void agrees_with_the_kept_decisions(void **state)
{
	(void)state;
	check_vectors(test_fixture("vectors/cpu_manager.json"));
}

static void agrees_with_all_recorded_decisions(void **state)
{
	const char *path = test_shared("vectors/cpu_manager.json");

	(void)state;
	if (!path)
		test_skip("no recorded decisions in ../shared");
	check_vectors(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_kept_decisions),
		cmocka_unit_test(agrees_with_all_recorded_decisions),
	};

	return cmocka_run_group_tests_name("fit_recorded", tests, NULL, NULL);
}
