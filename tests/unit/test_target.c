/* SPDX-License-Identifier: Apache-2.0 */
/* The targets: what standard output gets, and what the API server's target is made of. */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/publish/target.h"
#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/text.h"

struct bench {
	struct target_stdout printer;
	struct target target;
	struct doc nrt, numatopology, annotations, labels;
	struct kai_pod *pods; /* of kai */
	struct kai_pods kai;
	struct publish_request request;
	struct publish_result result;
	struct err err;
	char *dir, *printed;
};

static void make_object(struct doc *ret, const char *kind)
{
	ret->kind = DOC_MAP;
	doc_add_string(ret, "kind", kind);
}

static void set_pod(struct kai_pod *pod, const char *name, const char *value)
{
	text_set(&pod->namespace, "ns");
	text_set(&pod->name, name);
	text_set(&pod->value, value);
	text_set(&pod->uid, "");
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->dir = test_tmpdir();
	b->printer.node_name = "n1";
	b->target = target_stdout(&b->printer);
	make_object(&b->nrt, "A");
	make_object(&b->numatopology, "B");
	make_object(&b->annotations, "hint");
	make_object(&b->labels, "label");
	b->pods = calloc(2, sizeof(*b->pods));
	assert_non_null(b->pods);
	b->kai = (struct kai_pods){.items = b->pods, .n_items = 2};
	set_pod(&b->pods[0], "p", "1");
	set_pod(&b->pods[1], "q", "2");
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	target_stdout_release(&b->printer);
	kai_pods_release(&b->kai);
	doc_release(&b->nrt);
	doc_release(&b->numatopology);
	doc_release(&b->annotations);
	doc_release(&b->labels);
	free(b->printed);
	test_rmtree(&b->dir);
	free(b);
	return 0;
}

/* Publish with `file` as standard output. */
static int publish_to(struct bench *b, const char *file)
{
	CLEANUP(closep) int before = dup(STDOUT_FILENO);
	CLEANUP(closep) int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r;

	assert_true(before >= 0 && fd >= 0);
	fflush(stdout);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	b->err = (struct err){""};
	r = b->target.publish(b->target.ctx, &b->request, 5, &b->result, &b->err);
	assert_int_equal(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
	clearerr(stdout);
	return r;
}

/* What a successful publication prints. */
static const char *publish(struct bench *b)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/out", b->dir);
	assert_int_equal(publish_to(b, path), 0);
	assert_true(b->result.current);
	assert_true(b->result.call_again_ms == UINT64_MAX);
	assert_int_equal(b->result.taint, PUBLISH_UNCHANGED);
	freep(&b->printed);
	b->printed = test_read_file(path, NULL);
	return b->printed;
}

#define DOCUMENT(text) "---\n" text "...\n"
#define NODE           DOCUMENT("apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n")
#define NODE_WITH_ALL                                                  \
	DOCUMENT("apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n" \
		 "  annotations:\n    kind: hint\n  labels:\n    kind: label\n")

static void changes_are_printed(void **state)
{
	struct bench *b = *state;
	struct doc other = DOC_INIT;

	b->request = (struct publish_request){.nrt = &b->nrt};
	test_assert_text("first", publish(b), DOCUMENT("{kind: A}\n") NODE);
	assert_int_equal(b->result.nrt, PUBLISH_WRITTEN);
	assert_int_equal(b->result.node, PUBLISH_WRITTEN);
	assert_int_equal(b->result.numatopology, PUBLISH_UNCHANGED);
	test_assert_text("the same", publish(b), "");
	assert_int_equal(b->result.nrt, PUBLISH_UNCHANGED);
	assert_int_equal(b->result.node, PUBLISH_UNCHANGED);
	b->request.annotations = &b->annotations;
	b->request.labels = &b->labels;
	test_assert_text("hints", publish(b), NODE_WITH_ALL);
	assert_int_equal(b->result.nrt, PUBLISH_UNCHANGED);
	assert_int_equal(b->result.node, PUBLISH_WRITTEN);
	make_object(&other, "C");
	b->request.nrt = &other;
	test_assert_text("another object", publish(b), DOCUMENT("{kind: C}\n"));
	assert_int_equal(b->result.nrt, PUBLISH_WRITTEN);
	b->target.forget(b->target.ctx);
	test_assert_text("forgotten", publish(b), DOCUMENT("{kind: C}\n") NODE_WITH_ALL);
	doc_release(&other);
}

static void only_what_is_requested_is_printed(void **state)
{
	struct bench *b = *state;

	b->request = (struct publish_request){.numatopology = &b->numatopology};
	test_assert_text("Numatopology", publish(b), DOCUMENT("{kind: B}\n") NODE);
	assert_int_equal(b->result.nrt, PUBLISH_UNCHANGED);
	assert_int_equal(b->result.numatopology, PUBLISH_WRITTEN);
	test_assert_text("the same", publish(b), "");
	assert_int_equal(b->result.numatopology, PUBLISH_UNCHANGED);
	b->target.forget(b->target.ctx);
	test_assert_text("forgotten", publish(b), DOCUMENT("{kind: B}\n") NODE);
}

static void each_pod_is_printed_once(void **state)
{
	struct bench *b = *state;

	b->request = (struct publish_request){.pods = &b->kai};
	publish(b);
	assert_non_null(strstr(b->printed, "name: p"));
	assert_non_null(strstr(b->printed, "name: q"));
	assert_int_equal(b->result.pods, PUBLISH_WRITTEN);
	test_assert_text("the same", publish(b), "");
	set_pod(&b->pods[1], "q", "3");
	publish(b);
	assert_null(strstr(b->printed, "name: p"));
	assert_non_null(strstr(b->printed, "name: q"));
	b->target.forget(b->target.ctx);
	publish(b);
	assert_non_null(strstr(b->printed, "name: p"));
}

/* What could not be printed is printed the next time. */
static void a_full_disk_is_an_error(void **state)
{
	struct bench *b = *state;

	b->request =
		(struct publish_request){.nrt = &b->nrt, .numatopology = &b->numatopology, .pods = &b->kai};
	assert_int_equal(publish_to(b, "/dev/full"), -ENOSPC);
	assert_string_equal(b->err.text, "cannot print: No space left on device");
	assert_false(b->result.current);
	assert_int_equal(b->result.node, PUBLISH_FAILED);
	assert_int_equal(b->result.numatopology, PUBLISH_FAILED);
	assert_int_equal(b->result.pods, PUBLISH_FAILED);
	b->request.pods = NULL;
	test_assert_text("later", publish(b), DOCUMENT("{kind: A}\n") DOCUMENT("{kind: B}\n") NODE);
}

static void a_target_without_credentials_is_an_error(void **state)
{
	const struct publish_config config = {.credentials = {.kubeconfig = "/nonexistent/kubeconfig"}};
	struct target_api api = {NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(target_api_open(&config, "n1", &api, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/kubeconfig"));
	assert_null(api.publisher);
	target_api_release(&api);
}

static void a_name_that_no_node_has_is_an_error(void **state)
{
	struct bench *b = *state;
	CLEANUP(freep) char *path = NULL;
	struct publish_config config = {.refresh_ms = 0};
	struct target_api api = {NULL};
	struct err err = {""};

	test_write_file(b->dir, "kubeconfig",
		"apiVersion: v1\nkind: Config\ncurrent-context: c\n"
		"clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\n"
		"contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n");
	assert_true(asprintf(&path, "%s/kubeconfig", b->dir) > 0);
	config.credentials.kubeconfig = path;
	assert_int_equal(target_api_open(&config, "N1", &api, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'N1'"));
	target_api_release(&api);
	assert_null(api.credentials);
	assert_int_equal(target_api_open(&config, "n1", &api, &err), 0);
	b->target = target_api(&api);
	b->request = (struct publish_request){.nrt = &b->nrt, .content_hash = "h"};
	assert_true(b->target.publish(b->target.ctx, &b->request, 5, &b->result, &b->err) < 0);
	assert_false(b->result.current);
	assert_non_null(strstr(b->err.text, "127.0.0.1"));
	b->target.forget(b->target.ctx);
	target_api_release(&api);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(changes_are_printed),
		TEST(only_what_is_requested_is_printed),
		TEST(each_pod_is_printed_once),
		TEST(a_full_disk_is_an_error),
		cmocka_unit_test(a_target_without_credentials_is_an_error),
		TEST(a_name_that_no_node_has_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
