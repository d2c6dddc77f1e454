/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>

#include "agent/run/metrics.h"
#include "common/cleanup.h"

#define TEXT_MAX (1u << 20)

static const char *const targets[] = {"nrt", "node"};
static const char *const results[] = {"written", "unchanged", "timeout"};
static const char *const sources[] = {"pod-resources", "state-files"};
static const char *const states[] = {"ok", "absent", "broken"};
static const char *const causes[] = {"watch", "timer", "say \"\\hello\nworld\""};

static struct metrics *make(void)
{
	const struct metrics_labels labels = {
		.targets = {targets, ARRAY_SIZE(targets)},
		.results = {results, ARRAY_SIZE(results)},
		.sources = {sources, ARRAY_SIZE(sources)},
		.states = {states, ARRAY_SIZE(states)},
		.causes = {causes, ARRAY_SIZE(causes)},
	};
	struct metrics *m = NULL;

	metrics_new(&labels, &m);
	return m;
}

/* At `now` of the clock that never goes back, when the other one is at 1000. */
static void render(struct metrics *m, double now, struct strbuf *out)
{
	const struct metrics_moment moment = {.monotonic_s = now, .wall_s = 1000, .ready = true};

	strbuf_reset(out);
	assert_int_equal(metrics_render(m, &moment, out), 0);
}

/* The value of a series as text, up to the end of its line; NULL where there is none; fails on two. */
static const char *value(const struct strbuf *text, const char *series)
{
	static char found[64];
	const char *result = NULL;
	size_t len = strlen(series);

	for (const char *line = text->text; line && *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, series, len) != 0 || line[len] != ' ')
			continue;
		assert_null(result);
		snprintf(found, sizeof(found), "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
		result = found;
	}
	return result;
}

#define assert_value(text, series, want)                \
	do {                                            \
		const char *got_ = value(text, series); \
		assert_non_null(got_);                  \
		test_assert_text(series, got_, want);   \
	} while (0)

static void every_series_starts_at_zero(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	render(m, 5, &text);
	assert_value(&text, "nrtd_build_info{version=\"" NRTD_VERSION "\"}", "1");
	assert_value(&text, "nrtd_publishes_total{target=\"nrt\",result=\"written\"}", "0");
	assert_value(&text, "nrtd_publishes_total{target=\"node\",result=\"timeout\"}", "0");
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"+Inf\"}", "0");
	assert_value(&text, "nrtd_observe_duration_seconds_bucket{le=\"0.0005\"}", "0");
	assert_value(&text, "nrtd_observe_duration_seconds_count", "0");
	assert_value(&text, "nrtd_source_state{source=\"pod-resources\",state=\"ok\"}", "0");
	assert_value(&text, "nrtd_last_success_timestamp_seconds{target=\"nrt\"}", "0");
	assert_value(&text, "nrtd_ready", "1");
	assert_value(&text, "nrtd_dirty_marks_total{cause=\"watch\"}", "0");
	assert_value(&text, "nrtd_source_disagreements_total", "0");
	assert_null(value(&text, "nrtd_resource_available"));
}

static void a_label_value_without_name_has_no_series(void **state)
{
	static const char *const some[] = {"nrt", NULL, "taint"};
	const struct metrics_labels labels = {
		.targets = {some, ARRAY_SIZE(some)},
		.results = {results, ARRAY_SIZE(results)},
		.sources = {sources, ARRAY_SIZE(sources)},
		.states = {states, ARRAY_SIZE(states)},
		.causes = {causes, ARRAY_SIZE(causes)},
	};
	CLEANUP(metrics_freep) struct metrics *m = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	metrics_new(&labels, &m);
	metrics_count(m, METRIC_PUBLISHES, 1, 0);
	metrics_count(m, METRIC_PUBLISHES, 2, 2);
	render(m, 5, &text);
	assert_value(&text, "nrtd_publishes_total{target=\"taint\",result=\"timeout\"}", "1");
	assert_value(&text, "nrtd_publish_duration_seconds_count{target=\"nrt\"}", "0");
	assert_null(strstr(text.text, "target=\"\""));
	assert_null(strstr(text.text, "(null)"));
}

static void counts_go_to_their_series(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		metrics_count(m, METRIC_PUBLISHES, 1, 2);
	metrics_count(m, METRIC_PUBLISHES, 0, 0);
	metrics_count(m, METRIC_DIRTY_MARKS, 2, 0);
	metrics_count(m, METRIC_DISAGREEMENTS, 0, 0);
	metrics_set_source(m, 1, 0);
	metrics_set_source(m, 1, 2);
	metrics_succeeded(m, 0, 90.25);
	render(m, 100, &text);
	assert_value(&text, "nrtd_publishes_total{target=\"node\",result=\"timeout\"}", "12");
	assert_value(&text, "nrtd_publishes_total{target=\"nrt\",result=\"written\"}", "1");
	assert_value(&text, "nrtd_publishes_total{target=\"nrt\",result=\"timeout\"}", "0");
	assert_value(&text, "nrtd_dirty_marks_total{cause=\"say \\\"\\\\hello\\nworld\\\"\"}", "1");
	assert_value(&text, "nrtd_source_disagreements_total", "1");
	assert_value(&text, "nrtd_source_state{source=\"state-files\",state=\"ok\"}", "0");
	assert_value(&text, "nrtd_source_state{source=\"state-files\",state=\"broken\"}", "1");
	assert_value(&text, "nrtd_source_state{source=\"pod-resources\",state=\"broken\"}", "0");
	assert_value(&text, "nrtd_last_success_timestamp_seconds{target=\"nrt\"}", "990.25");
	assert_value(&text, "nrtd_last_success_timestamp_seconds{target=\"node\"}", "0");
}

static void another_writer_has_a_series_while_it_is_known(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	metrics_set_rival(m, "");
	render(m, 5, &text);
	assert_null(strstr(text.text, "nrtd_other_writer"));
	metrics_set_rival(m, "nri-resource-policy-balloons");
	metrics_set_rival(m, "koord\"let");
	render(m, 5, &text);
	assert_value(&text, "nrtd_other_writer{manager=\"koord\\\"let\"}", "1");
	assert_null(strstr(text.text, "balloons"));
	metrics_set_rival(m, "");
	render(m, 5, &text);
	assert_null(strstr(text.text, "nrtd_other_writer"));
}

static void durations_fall_into_buckets(void **state)
{
	/* A bound belongs to the bucket below it. */
	static const double seconds[] = {-1, 0, 0.0005, 0.00051, 0.1, 60, 61, 1e9};
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
		metrics_observe(m, METRIC_PUBLISH_SECONDS, 1, seconds[i]);
	metrics_observe(m, METRIC_CHANGE_SECONDS, 0, 0.02);
	render(m, 0, &text);
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"0.0005\"}", "3");
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"0.001\"}", "4");
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"0.05\"}", "4");
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"0.1\"}", "5");
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"60\"}", "6");
	assert_value(&text, "nrtd_publish_duration_seconds_bucket{target=\"node\",le=\"+Inf\"}", "8");
	assert_value(&text, "nrtd_publish_duration_seconds_count{target=\"node\"}", "8");
	assert_value(&text, "nrtd_publish_duration_seconds_sum{target=\"node\"}", "1000000121.10101");
	assert_value(&text, "nrtd_publish_duration_seconds_count{target=\"nrt\"}", "0");
	assert_value(&text, "nrtd_change_to_publish_seconds_sum", "0.02");
}

static void what_is_available_replaces_what_was(void **state)
{
	static const char *const first[] = {"cpu", "memory", "vendor.com/nic"};
	static const char *const second[] = {"cpu"};
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(inventory_release) struct inventory inv, less;

	(void)state;
	inventory_init(&inv);
	inventory_init(&less);
	inventory_shape(&inv, 2, first, 3);
	inv.nodes[0].id = 0;
	inv.nodes[1].id = 3;
	*inventory_amount(&inv, 0, 0) = (struct inventory_amount){.present = true,
		.capacity = 4 * QTY_UNIT,
		.allocatable = 35 * QTY_UNIT / 10,
		.available = 15 * QTY_UNIT / 10};
	*inventory_amount(&inv, 1, 1) =
		(struct inventory_amount){.present = true, .available = (qty_t)137438953473 * QTY_UNIT};
	*inventory_amount(&inv, 1, 2) = (struct inventory_amount){.present = true};
	metrics_set_inventory(m, &inv);
	render(m, 0, &text);
	assert_value(&text, "nrtd_resource_capacity{numa_node=\"0\",resource=\"cpu\"}", "4");
	assert_value(&text, "nrtd_resource_allocatable{numa_node=\"0\",resource=\"cpu\"}", "3.5");
	assert_value(&text, "nrtd_resource_available{numa_node=\"0\",resource=\"cpu\"}", "1.5");
	assert_value(&text, "nrtd_resource_available{numa_node=\"3\",resource=\"memory\"}", "137438953473");
	assert_value(&text, "nrtd_resource_available{numa_node=\"3\",resource=\"vendor.com/nic\"}", "0");
	assert_null(value(&text, "nrtd_resource_available{numa_node=\"3\",resource=\"cpu\"}"));

	inventory_shape(&less, 1, second, 1);
	*inventory_amount(&less, 0, 0) = (struct inventory_amount){.present = true, .available = QTY_UNIT};
	metrics_set_inventory(m, &less);
	render(m, 0, &text);
	assert_value(&text, "nrtd_resource_available{numa_node=\"0\",resource=\"cpu\"}", "1");
	assert_null(value(&text, "nrtd_resource_available{numa_node=\"3\",resource=\"memory\"}"));
}

/* What is not known has no series. */
static void room_has_only_what_is_known(void **state)
{
	struct hint_shape shapes[] = {{.name = (char[]){"small"}}, {.name = (char[]){"nic"}}};
	const struct hints_config config = {.shapes = shapes, .n_shapes = ARRAY_SIZE(shapes)};
	struct shape_headroom known[] = {
		{.copies = {.known = true, .n = 7}, .stranded_known = true, .stranded = 2},
		{.copies = {.n = 3}}};
	const struct headroom nothing = {0}, room = {.max_exclusive = {4, 6},
						     .n_max = 2,
						     .stranded_known = true,
						     .stranded = 5,
						     .slowest = {.known = true, .time.ns = 2500000000},
						     .shapes = known,
						     .n_shapes = ARRAY_SIZE(known)};
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	metrics_set_headroom(m, &room, &config);
	render(m, 0, &text);
	assert_value(&text, "nrtd_max_exclusive_cpus{numa_nodes=\"1\"}", "4");
	assert_value(&text, "nrtd_max_exclusive_cpus{numa_nodes=\"2\"}", "6");
	assert_null(value(&text, "nrtd_max_exclusive_cpus{numa_nodes=\"3\"}"));
	assert_value(&text, "nrtd_stranded_cpus", "5");
	assert_value(&text, "nrtd_kubelet_slowest_container_seconds", "2.5");
	assert_value(&text, "nrtd_shape_copies{shape=\"small\"}", "7");
	assert_null(value(&text, "nrtd_shape_copies{shape=\"nic\"}"));
	assert_value(&text, "nrtd_shape_stranded_cpus{shape=\"small\"}", "2");
	assert_null(value(&text, "nrtd_shape_stranded_cpus{shape=\"nic\"}"));
	metrics_set_headroom(m, &nothing, &config);
	render(m, 0, &text);
	assert_null(strstr(text.text, "stranded"));
	assert_null(strstr(text.text, "slowest"));
	assert_null(strstr(text.text, "max_exclusive"));
}

static void pods_are_counted_by_alignment(void **state)
{
	struct pod_alignment items[] = {{.alignment = ALIGNMENT_ALIGNED}, {.alignment = ALIGNMENT_REMOTE},
		{.alignment = ALIGNMENT_ALIGNED}, {.alignment = ALIGNMENT_SPANS_AVOIDABLE}};
	const struct pod_alignments pods = {.items = items, .n_items = ARRAY_SIZE(items)}, none = {0};
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	render(m, 0, &text);
	assert_null(strstr(text.text, "nrtd_pods"));
	metrics_set_alignment(m, &pods);
	render(m, 0, &text);
	assert_value(&text, "nrtd_pods{alignment=\"aligned\"}", "2");
	assert_value(&text, "nrtd_pods{alignment=\"remote\"}", "1");
	assert_value(&text, "nrtd_pods{alignment=\"spans-avoidable\"}", "1");
	assert_value(&text, "nrtd_pods{alignment=\"unknown\"}", "0");
	metrics_set_alignment(m, &none);
	render(m, 0, &text);
	assert_value(&text, "nrtd_pods{alignment=\"remote\"}", "0");
}

static void a_certificate_is_there_or_not(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)state;
	render(m, 0, &text);
	assert_null(strstr(text.text, "certificate"));
	metrics_set_certificate(m, INT64_C(4102444800));
	render(m, 0, &text);
	assert_value(&text, "nrtd_certificate_expiry_timestamp_seconds{use=\"client\"}", "4102444800");
}

static void the_process_is_measured(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(fclosep) FILE *f = NULL;
	double before, after;

	(void)state;
	render(m, 0, &text);
	assert_true(strtod(value(&text, "process_resident_memory_bytes"), NULL) > 100000);
	assert_true(strtod(value(&text, "process_cpu_seconds_total"), NULL) > 0);
	before = strtod(value(&text, "process_start_time_seconds"), NULL);
	assert_true(before > (double)time(NULL) - 3600 && before < (double)time(NULL) + 2);
	before = strtod(value(&text, "process_open_fds"), NULL);
	assert_true(before >= 3);
	f = fopen("/dev/null", "re");
	assert_non_null(f);
	render(m, 0, &text);
	after = strtod(value(&text, "process_open_fds"), NULL);
	assert_true(after > before && after < before + 2);
}

/* Each family: HELP, TYPE, then its series and nothing else; no family twice. */
static void families_are_whole(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	char names[32][64] = {""}, *save = NULL;
	size_t n = 0;

	(void)state;
	render(m, 0, &text);
	assert_int_equal(text.text[text.len - 1], '\n');
	for (char *line = strtok_r(text.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "# HELP ", 7) == 0) {
			assert_true(n < ARRAY_SIZE(names));
			snprintf(names[n], sizeof(names[n]), "%.*s", (int)strcspn(line + 7, " "), line + 7);
			for (size_t i = 0; i < n; i++)
				assert_string_not_equal(names[i], names[n]);
			n++;
			continue;
		}
		assert_true(n > 0);
		if (strncmp(line, "# TYPE ", 7) == 0)
			line += 7;
		assert_int_equal(strncmp(line, names[n - 1], strlen(names[n - 1])), 0);
	}
	assert_int_equal(n, METRIC_COUNT + 6); /* build_info, ready, four of the process */
}

static void a_full_buffer_is_an_error(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1000);
	const struct metrics_moment now = {0};

	(void)state;
	assert_int_equal(metrics_render(m, &now, &text), -EFBIG);
}

#define THREADS 4
#define ROUNDS  20000u

static void *count(void *data)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		metrics_count(data, METRIC_DIRTY_MARKS, 0, 0);
		metrics_observe(data, METRIC_OBSERVE_SECONDS, 0, 1);
	}
	return NULL;
}

static void threads_count_together(void **state)
{
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, m), 0);
	for (unsigned i = 0; i < 20; i++)
		render(m, 0, &text);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	render(m, 0, &text);
	assert_value(&text, "nrtd_dirty_marks_total{cause=\"watch\"}", "80000");
	assert_value(&text, "nrtd_observe_duration_seconds_count", "80000");
	assert_value(&text, "nrtd_observe_duration_seconds_sum", "80000");
}

/* Give the text of metrics with every kind of series to promtool; its exit status. */
static int run_promtool(void)
{
	static const char *const resources[] = {"cpu"};
	CLEANUP(metrics_freep) struct metrics *m = make();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(inventory_release) struct inventory inv;
	struct hint_shape shape = {.name = (char[]){"small"}};
	const struct hints_config config = {.shapes = &shape, .n_shapes = 1};
	struct shape_headroom known = {.copies.known = true, .stranded_known = true};
	const struct headroom room = {.n_max = 1, .stranded_known = true, .shapes = &known, .n_shapes = 1};
	FILE *promtool;
	int status;

	inventory_init(&inv);
	inventory_shape(&inv, 1, resources, 1);
	inventory_amount(&inv, 0, 0)->present = true;
	metrics_set_inventory(m, &inv);
	metrics_observe(m, METRIC_CHANGE_SECONDS, 0, 0.02);
	metrics_set_headroom(m, &room, &config);
	metrics_set_certificate(m, 1);
	render(m, 0, &text);
	promtool = popen("promtool check metrics >&2", "w");
	assert_non_null(promtool);
	assert_int_equal(fwrite(text.text, 1, text.len, promtool), text.len);
	status = pclose(promtool);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void promtool_finds_nothing(void **state)
{
	(void)state;
	if (system("command -v promtool >/dev/null 2>&1") != 0)
		test_skip("promtool (Debian package prometheus) is not here");
	assert_int_equal(run_promtool(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_series_starts_at_zero),
		cmocka_unit_test(a_label_value_without_name_has_no_series),
		cmocka_unit_test(counts_go_to_their_series),
		cmocka_unit_test(another_writer_has_a_series_while_it_is_known),
		cmocka_unit_test(durations_fall_into_buckets),
		cmocka_unit_test(what_is_available_replaces_what_was),
		cmocka_unit_test(room_has_only_what_is_known),
		cmocka_unit_test(pods_are_counted_by_alignment),
		cmocka_unit_test(a_certificate_is_there_or_not),
		cmocka_unit_test(the_process_is_measured),
		cmocka_unit_test(families_are_whole),
		cmocka_unit_test(a_full_buffer_is_an_error),
		cmocka_unit_test(threads_count_together),
		cmocka_unit_test(promtool_finds_nothing),
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
