/* SPDX-License-Identifier: Apache-2.0 */
/* Claims by both sources, as an observation puts them together, and the two who give out CPUs. */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/observe.h"
#include "common/cleanup.h"
#include "scoring/node/node_derive.h"
#include "tests/lib/claims.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/states.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/wire.h"

#define SPEC                                                                                                            \
	"{\"cdiVersion\":\"0.8.0\",\"kind\":\"dra.k8s.io/cpu\",\"devices\":[{\"name\":\"claim-u1\",\"containerEdits\":" \
	"{\"env\":[\"DRA_CPUSET_u1=2-3\"]}}]}"
#define BOTH "both allocate CPUs and do not know each other's allocations"

static const char list[] =
	"1{1'p' 2'ns' 3{1'c' 5{2'cpus' 3'ns' 4{1{1'dra.k8s.io/cpu=claim-u1'} 2'dra.cpu' 3'n' 4'numa0'}}}} "
	"1{1'q' 2'ns' 3{1'c' 5{2'gpu' 3'ns' 4{1{1'v.com/gpu=0'} 2'gpu.v.com' 3'n' 4'gpu-0'}}}}";

struct world {
	char *dir, *socket;
	struct sources sources;
	struct observe_config config;
	struct observation o;
	struct err err;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->dir = test_tmpdir();
	assert_true(asprintf(&w->socket, "%s/s", w->dir) > 0);
	machine_init(&w->sources.machine);
	machine_release(&w->sources.machine);
	bare_machine(&w->sources.machine, "0-7", "", "0");
	w->sources.machine_known = true;
	w->config = (struct observe_config){.sysroot = w->dir,
		.node_name = "n",
		.pod_resources = "none",
		.state_files = true,
		.cdi_dir = "/var/run/cdi"};
	w->config.settings.settings[SETTING_CPU_MANAGER_POLICY].value = "static";
	w->config.settings.settings[SETTING_CPU_MANAGER_POLICY].from = "a test";
	test_write_file(w->dir, "var/lib/kubelet/cpu_manager_state",
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,4-7\",\"entries\":{\"u\":{\"c\":\"1-3\"}},\"checksum\":0}");
	observation_init(&w->o);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	observation_release(&w->o);
	sources_release(&w->sources);
	free(w->socket);
	test_rmtree(&w->dir);
	free(w);
	return 0;
}

static int look(struct world *w)
{
	observation_release(&w->o);
	w->err = (struct err){""};
	return observe_with(&w->sources, &w->config, &w->o, &w->err);
}

static void assert_claims(const struct world *w, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);

	test_claims_text(&w->o.node.claims, &got);
	test_assert_text("claims", got.text, want);
}

static bool noted(const struct world *w, const char *text)
{
	for (size_t i = 0; i < w->o.notes.lines.n_items; i++)
		if (strstr(w->o.notes.lines.items[i], text))
			return true;
	return false;
}

static void the_api_says_whose_the_cpus_are(void **state)
{
	struct world *w = *state;
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(1u << 16);
	struct grpc_answer answers[2] = {{.len = 0}, {.message = "", .len = 0}};
	struct grpc_server *server;

	wire_add(&reply, list);
	answers[0] = (struct grpc_answer){.message = reply.text, .len = reply.len};
	server = grpc_server_start(w->socket, answers, 2);
	w->config.pod_resources = w->socket;
	test_write_file(w->dir, "var/run/cdi/dra.k8s.io-cpu_claim-u1.json", SPEC);
	if (look(w) < 0)
		fail_msg("%s", w->err.text);
	assert_claims(w, "dra.cpu u1 ns/cpus pods ns/p cpus 2-3 devices n/numa0 cdi dra.k8s.io/cpu=claim-u1;"
			 "gpu.v.com  ns/gpu pods ns/q devices n/gpu-0 cdi v.com/gpu=0;");
	assert_true(noted(w, "the DRA driver 'dra.cpu' " BOTH ": CPUs 2-3 are allocated twice"));
	/* Its last answer holds while it does not answer. */
	grpc_server_stop(server);
	if (look(w) < 0)
		fail_msg("%s", w->err.text);
	assert_true(w->o.api_kept);
	assert_claims(w, "dra.cpu u1 ns/cpus pods ns/p cpus 2-3 devices n/numa0 cdi dra.k8s.io/cpu=claim-u1;"
			 "gpu.v.com  ns/gpu pods ns/q devices n/gpu-0 cdi v.com/gpu=0;");
}

static void files_alone_are_enough(void **state)
{
	struct world *w = *state;

	assert_int_equal(look(w), 0);
	assert_claims(w, "");
	assert_false(noted(w, BOTH));
	test_write_file(w->dir, "var/run/cdi/dra.k8s.io-cpu_claim-u1.json", SPEC);
	assert_int_equal(look(w), 0);
	assert_claims(w, "dra.k8s.io/cpu u1 cpus 2-3 cdi dra.k8s.io/cpu=claim-u1;");
	assert_true(noted(w, BOTH));
	w->config.cdi_dir = NULL;
	assert_int_equal(look(w), 0);
	assert_claims(w, "");
}

static void memory_is_given_out_by_one(void **state)
{
	static const char said[] = "the DRA driver 'k/memory' both allocate memory";
	struct world *w = *state;

	test_write_file(w->dir, "var/run/cdi/dra.memory.json",
		"{\"kind\":\"k/memory\",\"devices\":[{\"name\":\"claim-u\",\"containerEdits\":{\"env\":"
		"[\"DRAMEMORY_u_memory=numanode:0,size:1Gi\"]}}]}");
	w->config.settings.settings[SETTING_MEMORY_MANAGER_POLICY].from = "a test";
	for (int i = 0; i < 2; i++) {
		w->config.settings.settings[SETTING_MEMORY_MANAGER_POLICY].value = i ? "Static" : "None";
		assert_int_equal(look(w), 0);
		assert_int_equal(noted(w, said), i);
	}
	assert_false(noted(w, BOTH));
}

/* Without the API, or with one that has no claims yet. */
static void the_kubelets_file_says_whose_the_cpus_are(void **state)
{
	struct world *w = *state;

	test_write_file(w->dir, "var/run/cdi/dra.k8s.io-cpu_claim-u1.json", SPEC);
	test_write_file(w->dir, "var/log/pods/ns_p_p1/c/0.log", "");
	test_write_file(w->dir, "var/lib/kubelet/dra_manager_state",
		"{\"Data\":\"{\\\"ClaimInfoStateList\\\":[{\\\"ClaimUID\\\":\\\"u1\\\",\\\"ClaimName\\\":\\\"cpus\\\","
		"\\\"Namespace\\\":\\\"ns\\\",\\\"PodUIDs\\\":{\\\"p1\\\":{}},\\\"DriverState\\\":{\\\"dra.cpu\\\":{\\\"Devices\\\":"
		"[{\\\"PoolName\\\":\\\"n\\\",\\\"DeviceName\\\":\\\"numa0\\\",\\\"CDIDeviceIDs\\\":"
		"[\\\"dra.k8s.io/cpu=claim-u1\\\"]}]}}}]}\",\"Checksum\":1}");
	if (look(w) < 0)
		fail_msg("%s", w->err.text);
	assert_claims(
		w, "dra.cpu u1 ns/cpus pods ns/p cpus 2-3 devices n/numa0 cdi dra.k8s.io/cpu=claim-u1;");
}

/* A driver that has given out nothing yet will. */
static void a_driver_that_is_registered_is_enough_for_the_warning(void **state)
{
	struct world *w = *state;

	test_write_file(w->dir, "var/lib/kubelet/plugins_registry/gpu.v.com-reg.sock", "");
	assert_int_equal(look(w), 0);
	assert_false(noted(w, BOTH));
	test_write_file(w->dir, "var/lib/kubelet/plugins_registry/dra.cpu-5f1-reg.sock", "");
	assert_int_equal(look(w), 0);
	assert_true(noted(w, "the DRA driver 'dra.cpu' " BOTH "; set cpuManagerPolicy to 'none'"));
	w->config.settings.settings[SETTING_CPU_MANAGER_POLICY].value = "none";
	assert_int_equal(look(w), 0);
	assert_false(noted(w, BOTH));
}

static void a_broken_file_ends_the_first_look_only(void **state)
{
	static const char file[] = "var/run/cdi/dra.k8s.io-cpu_claim-u1.json";
	struct world *w = *state;

	test_write_file(w->dir, file, "{");
	assert_int_equal(look(w), -EINVAL);
	assert_non_null(strstr(w->err.text, "/var/run/cdi/dra.k8s.io-cpu_claim-u1.json: not valid JSON"));
	test_write_file(w->dir, file, SPEC);
	assert_int_equal(look(w), 0);
	test_write_file(w->dir, file, "{");
	assert_int_equal(look(w), 0);
	assert_claims(w, "dra.k8s.io/cpu u1 cpus 2-3 cdi dra.k8s.io/cpu=claim-u1;");
	assert_true(noted(w, "its last content is still used"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_api_says_whose_the_cpus_are, setup, teardown),
		cmocka_unit_test_setup_teardown(files_alone_are_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_is_given_out_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(the_kubelets_file_says_whose_the_cpus_are, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_driver_that_is_registered_is_enough_for_the_warning, setup, teardown),
		cmocka_unit_test_setup_teardown(a_broken_file_ends_the_first_look_only, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
