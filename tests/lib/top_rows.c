/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/top_rows.h"

#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/test.h"

static char *copy(const char *text)
{
	char *new = strdup(text);

	assert_non_null(new);
	return new;
}

/* "7/12 0/12 -": free and allocatable CPUs of each NUMA node. */
static void add_numa(struct top_row *row, const char *text)
{
	row->numa = calloc(strlen(text), sizeof(*row->numa));
	assert_non_null(row->numa);
	for (; *text; text += strcspn(text, " "), text += *text == ' ') {
		struct top_numa *numa = &row->numa[row->n_numa];

		numa->id = (unsigned)row->n_numa++;
		numa->has_cpus = sscanf(text, "%u/%u", &numa->free, &numa->allocatable) == 2;
		row->free += numa->free;
		row->allocatable += numa->allocatable;
	}
}

static void add_device(struct top_row *row, const char *resource, unsigned free, unsigned healthy)
{
	if (!row->devices)
		row->devices = calloc(4, sizeof(*row->devices));
	assert_non_null(row->devices);
	row->devices[row->n_devices++] = (struct top_device){copy(resource), free, healthy};
}

static void add_row(struct top_row *row, const char *name, const char *exporter, const char *unknown)
{
	*row = (struct top_row){.name = copy(name),
		.exporter = copy(exporter),
		.unknown = copy(unknown),
		.age_s = -1,
		.basis = CLUSTER_EXACT};
}

static void add_verdicts(struct top_row *row, size_t one, size_t two, size_t stranded)
{
	row->largest[0] = (struct column_number){true, one};
	row->largest[1] = (struct column_number){true, two};
	row->stranded = (struct column_number){true, stranded};
}

static void add_reservation(struct top_row *row, const char *pod, int64_t left_s, bool placed)
{
	if (!row->reservations)
		row->reservations = calloc(4, sizeof(*row->reservations));
	assert_non_null(row->reservations);
	row->reservations[row->n_reservations++] = (struct top_reservation){copy(pod), left_s, placed};
}

void test_top_rows(struct top_row rows[TEST_TOP_ROWS])
{
	add_row(&rows[0], "node-10", "nrtd", "");
	add_numa(&rows[0], "11/11 5/12 0/12 1/12 12/12 12/12 9/12 3/12");
	add_verdicts(&rows[0], 12, 24, 1);
	add_device(&rows[0], "vendor.com/gpu", 0, 2);
	add_device(&rows[0], "vendor.com/nic", 3, 6);
	rows[0].policy = TOPOLOGY_MANAGER_RESTRICTED;
	rows[0].scope = TOPOLOGY_SCOPE_CONTAINER;
	rows[0].age_s = 119;
	rows[0].status = copy("Ready");
	rows[0].label = copy("hpc");
	rows[0].reserved = copy("0,48");
	rows[0].shared = copy("0,24-95");
	rows[0].isolated = copy("");
	add_reservation(&rows[0], "default/web-0", 540, true);
	add_reservation(&rows[0], "ml/<train>\n", 7, false);
	add_row(&rows[1], "node-2", "nrtd", "");
	add_numa(&rows[1], "12/14 0/14");
	add_verdicts(&rows[1], 12, 12, 0);
	add_device(&rows[1], "vendor.com/nic", 1, 1);
	rows[1].policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	rows[1].scope = TOPOLOGY_SCOPE_POD;
	rows[1].age_s = 7199;
	rows[1].status = copy("NotReady,SchedulingDisabled");
	rows[1].unusable = true;
	rows[1].reserved = copy("");
	rows[1].shared = copy("2-13");
	rows[1].isolated = copy("12-27");
	rows[1].isolation = copy("isolated CPUs are in the shared pool: 12-13");
	add_row(&rows[2], "edge-1", "", "the CPU manager's policy is none: no container gets exclusive CPUs");
	add_numa(&rows[2], "8/8");
	rows[2].policy = TOPOLOGY_MANAGER_NONE;
	add_row(&rows[3], "far", "nfd-topology-updater", "");
	add_numa(&rows[3], "100/128 -");
	add_verdicts(&rows[3], 100, 100, 4);
	rows[3].basis = CLUSTER_ESTIMATED;
	rows[3].policy = TOPOLOGY_MANAGER_BEST_EFFORT;
	rows[3].age_s = 172800;
	add_row(&rows[4], "\033[2Jbad\xc3\xa9<&\"", "x\ny", "");
	add_numa(&rows[4], "");
	add_device(&rows[4], "<b>\033/x", 1, 1);
}

void test_top_rows_release(struct top_row rows[TEST_TOP_ROWS])
{
	for (size_t i = 0; i < TEST_TOP_ROWS; i++)
		top_row_release(&rows[i]);
}

/* ---- the pictures' cluster */

/* The cores, of six, that pods hold on each NUMA node of 2s-snc4. */
static const char *const held_cores[] = {"42501304", "00000000", "55555555", "30214355", "12000011",
	"54321012", "00550055", "44444444", "25252525", "00000003", "55545554"};

static void fill(struct top_row *row, const struct observation *o)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};

	node_admission_init(&admission, &o->node);
	top_row_fill(row, &admission, NULL);
}

static void name_row(struct top_row *row, const char *name, const char *exporter, int64_t age_s)
{
	*row = (struct top_row){
		.name = copy(name), .exporter = copy(exporter), .age_s = age_s, .basis = CLUSTER_EXACT};
}

/* A node of 2s-snc4: NUMA node k has the cores 6k to 6k+5, whose second threads are 48 above. */
static void add_big(struct top_row *row, const char *held, enum topology_manager_policy policy, int64_t age_s)
{
	CLEANUP(observation_release) struct observation o;
	struct holding holdings[8];
	char cpus[8][48], uids[8][8], name[16];
	size_t n = 0;

	for (unsigned k = 0; k < 8; k++) {
		unsigned cores = (unsigned)(held[k] - '0'), last = 6 * k + 5;

		if (cores == 0)
			continue;
		snprintf(cpus[n], sizeof(cpus[n]), "%u-%u,%u-%u", last - cores + 1, last,
			48 + last - cores + 1, 48 + last);
		snprintf(uids[n], sizeof(uids[n]), "u%u", k);
		holdings[n] = (struct holding){
			.uid = uids[n], .container = "c", .cpus = cpus[n], .nodes = "0", .memory = 1 << 20};
		n++;
	}
	snprintf(name, sizeof(name), "worker-%lld", (long long)age_s);
	name_row(row, name, "nrtd", age_s * 7 % 100);
	observation_init(&o);
	observation_of_kubelet("2s-snc4", "0,24,48,72", holdings, n, &o);
	o.node.settings.topology.policy = policy;
	fill(row, &o);
	row->devices = realloc(row->devices, 2 * sizeof(*row->devices));
	assert_non_null(row->devices);
	if (age_s % 3 == 0)
		add_device(row, "vendor.com/gpu", (unsigned)age_s % 2, 2);
}

void test_top_picture(struct top_row rows[TEST_TOP_PICTURE])
{
	static const enum topology_manager_policy policies[] = {
		TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};
	CLEANUP(observation_release) struct observation o;
	static const struct holding held = {
		.uid = "u", .container = "c", .cpus = "2-7,18-23", .nodes = "0", .memory = 1 << 20};
	size_t n = 0;

	for (; n < ARRAY_SIZE(held_cores); n++)
		add_big(&rows[n], held_cores[n], policies[n % 3], (int64_t)n + 1);
	for (unsigned i = 0; i < 2; i++) {
		name_row(&rows[n], i == 0 ? "edge-1" : "edge-2", "nrtd", 31 + i);
		observation_init(&o);
		observation_of_kubelet("seed-2s-32cpu", "0,16", &held, i, &o);
		o.node.settings.topology.policy = TOPOLOGY_MANAGER_BEST_EFFORT;
		fill(&rows[n++], &o);
		observation_release(&o);
	}
	name_row(&rows[n], "lab-1", "nfd-topology-updater", 7260);
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0,16", &held, 1, &o);
	fill(&rows[n], &o);
	rows[n].basis = CLUSTER_ESTIMATED;
}
