/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps AGENT-KUBECONFIG ADMIN-KUBECONFIG NODE: a publisher as the agent, driven by lines on standard input,
 *with a clock that only they advance and without jitter; the answers make a transcript.
 *
 *	nrt FILE                         publish this object from now on (JSON)
 *	pods [NAMESPACE/NAME=VALUE...]   and KAI's annotation of these pods
 *	advance MS                       the clock
 *	publish [KEY=VALUE...]           call the publisher, with these annotations of the Node
 *	forget | cleanup                 as the functions of these names
 *	request METHOD PATH [TYPE BODY]  as the administrator; prints the status code
 *	agent METHOD PATH [TYPE BODY]    the same as the agent, and the answer's message
 *	until STATUS METHOD PATH         repeat as the administrator until the server answers so, at most 10 s
 *	version PATH                     has the resourceVersion changed since the last look?
 *	show PATH MEMBER...              a member of an object, by names and list positions, as compact JSON
 *	rename FROM TO                   put another file in the place of a file
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/observe/fs_root.h"
#include "agent/publish/publish.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/json.h"
#include "common/text.h"
#include "scoring/node/node_state_codec.h"

#define LINE_WORDS 16

struct side {
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
};

struct driver {
	struct side agent, admin;
	struct publisher *publisher;
	struct doc nrt, numatopology; /* the second is null where there is none */
	struct kai_pods pods;
	uint64_t now_ms;
	char *version;
	bool drawn; /* the first refresh's time */
};

static int side_open(struct side *s, const char *kubeconfig, struct err *err)
{
	struct credentials_options credentials = {.kubeconfig = kubeconfig};
	struct api_client_options client = {.connect_ms = 2000, .total_ms = 3000};
	int r = credentials_new(&credentials, &s->credentials, err);

	api_response_init(&s->response);
	return r < 0 ? r : api_client_new(s->credentials, &client, &s->client, err);
}

static void side_close(struct side *s)
{
	api_client_free(s->client);
	credentials_free(s->credentials);
	api_response_release(&s->response);
}

static uint64_t told_time(void *data)
{
	return ((const struct driver *)data)->now_ms;
}

/* No jitter: every refresh comes after 9 minutes of 10. The first one is drawn otherwise, and before all else. */
static uint64_t no_jitter(void *data)
{
	struct driver *d = data;
	bool first = !d->drawn;

	d->drawn = true;
	return first ? 60000 : 0;
}

static int load(const char *path, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r = fs_read("", path, &text, err);

	doc_release(ret);
	return r < 0 ? r : json_parse(text.text, text.len, ret, err);
}

static int publish(struct driver *d, char **words, size_t n)
{
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};
	struct publish_request request = {
		.nrt = &d->nrt, .content_hash = nrt_content_hash(&d->nrt), .annotations = &annotations};
	bool numatopology = d->numatopology.kind == DOC_MAP;
	struct publish_result result;
	struct err err = {""};
	int r;

	for (size_t i = 0; i < n; i++) {
		char *value = strchr(words[i], '=');

		*value++ = '\0';
		doc_add_string(&annotations, words[i], value);
	}
	request.numatopology = numatopology ? &d->numatopology : NULL;
	request.pods = d->pods.n_items > 0 ? &d->pods : NULL;
	r = publisher_publish(d->publisher, &request, d->now_ms, &result, &err);
	printf("nrt=%s node=%s%s%s%s%s%s%s%s again=+%llu%s%s\n", publish_outcome_names[result.nrt],
		publish_outcome_names[result.node], result.taint ? " taint=" : "",
		result.taint ? publish_outcome_names[result.taint] : "", numatopology ? " numatopology=" : "",
		numatopology ? publish_outcome_names[result.numatopology] : "", result.pods ? " pods=" : "",
		result.pods ? publish_outcome_names[result.pods] : "", result.current ? " current" : "",
		(unsigned long long)(result.call_again_ms - d->now_ms), r < 0 ? " error: " : "", err.text);
	return 0;
}

static void set_pods(struct driver *d, char **words, size_t n)
{
	kai_pods_release(&d->pods);
	for (size_t i = 0; i < n; i++) {
		struct kai_pod *pod =
			vec_push(&d->pods.items, &d->pods.n_items, &d->pods.items_size, sizeof(*pod));
		char *name = strchr(words[i], '/'), *value = strchr(words[i], '=');

		*name++ = *value++ = '\0';
		text_set(&pod->namespace, words[i]);
		text_set(&pod->name, name);
		text_set(&pod->value, value);
		text_set(&pod->uid, "");
	}
}

static int ask(struct side *s, char **words, size_t n, struct err *err)
{
	struct api_request request = {.method = words[0], .path = words[1]};

	if (n > 3) {
		request.content_type = words[2];
		request.body = words[3];
		request.body_len = strlen(words[3]);
	}
	return api_client_request(s->client, &request, &s->response, err);
}

static int parse_answer(struct side *s, struct doc *ret, struct err *err)
{
	return json_parse(s->response.body.text, s->response.body.len, ret, err);
}

static int ask_as_agent(struct driver *d, char **words, size_t n, struct err *err)
{
	CLEANUP(doc_release) struct doc answer = DOC_INIT;
	const char *message;
	int r = ask(&d->agent, words, n, err);

	if (r == 0)
		r = parse_answer(&d->agent, &answer, err);
	if (r < 0)
		return r;
	message = doc_string(doc_get(&answer, "message"));
	printf("%d%s%s\n", d->agent.response.status, message ? " " : "", message ? message : "");
	return 0;
}

static int until(struct driver *d, char **words, size_t n, struct err *err)
{
	for (int i = 0; i < 100; i++) {
		char status[16] = "";
		int r = ask(&d->admin, words + 1, n - 1, err);

		if (r == 0)
			snprintf(status, sizeof(status), "%d", d->admin.response.status);
		if (!strcmp(status, words[0])) {
			puts(status);
			return 0;
		}
		usleep(100000);
	}
	return err_set(err, -ETIMEDOUT, "never %s", words[0]);
}

static int version(struct driver *d, char **words, size_t n, struct err *err)
{
	CLEANUP(doc_release) struct doc answer = DOC_INIT;
	char *get[] = {(char[]){"GET"}, words[0]};
	const char *now;
	int r = ask(&d->admin, get, n + 1, err);

	if (r == 0)
		r = parse_answer(&d->admin, &answer, err);
	now = doc_string(doc_get(doc_get(&answer, "metadata"), "resourceVersion"));
	if (r < 0 || !now)
		return r < 0 ? r : err_set(err, -EPROTO, "no resourceVersion");
	puts(d->version && !strcmp(d->version, now) ? "same version" : "new version");
	text_set(&d->version, now);
	return 0;
}

static int show(struct driver *d, char **words, size_t n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 20);
	CLEANUP(doc_release) struct doc answer = DOC_INIT;
	char *get[] = {(char[]){"GET"}, words[0]};
	const struct doc *at = &answer;
	int r = ask(&d->admin, get, 2, err);

	if (r == 0)
		r = parse_answer(&d->admin, &answer, err);
	for (size_t i = 1; r == 0 && at && i < n; i++)
		at = at->kind != DOC_LIST                        ? doc_get(at, words[i])
		     : strtoul(words[i], NULL, 10) < at->n_items ? &at->items[strtoul(words[i], NULL, 10)]
								 : NULL;
	if (r == 0 && at)
		r = json_print_compact(at, &text);
	if (r == 0)
		puts(at ? text.text : "absent");
	return r;
}

static int step(struct driver *d, char **words, size_t n, struct err *err)
{
	char **rest = words + 1;
	int r = 0;

	if (!strcmp(words[0], "nrt"))
		return load(words[1], &d->nrt, err);
	if (!strcmp(words[0], "numatopology"))
		return load(words[1], &d->numatopology, err);
	if (!strcmp(words[0], "publish"))
		return publish(d, rest, n - 1);
	if (!strcmp(words[0], "agent"))
		return ask_as_agent(d, rest, n - 1, err);
	if (!strcmp(words[0], "until"))
		return until(d, rest, n - 1, err);
	if (!strcmp(words[0], "version"))
		return version(d, rest, n - 1, err);
	if (!strcmp(words[0], "show"))
		return show(d, rest, n - 1, err);
	if (!strcmp(words[0], "advance")) {
		d->now_ms += strtoull(words[1], NULL, 10);
	} else if (!strcmp(words[0], "rename")) {
		r = rename(words[1], words[2]) < 0 ? -errno : 0;
		if (r < 0)
			return err_set(err, r, "cannot rename '%s': %s", words[1], strerror(-r));
	} else if (!strcmp(words[0], "pods")) {
		set_pods(d, rest, n - 1);
	} else if (!strcmp(words[0], "forget")) {
		publisher_forget(d->publisher);
	} else if (!strcmp(words[0], "cleanup")) {
		r = publisher_cleanup(d->publisher, d->numatopology.kind == DOC_MAP, err);
		puts(r < 0 ? err->text : "clean");
		return 0;
	} else if (!strcmp(words[0], "request")) {
		r = ask(&d->admin, rest, n - 1, err);
		if (r == 0)
			printf("%d\n", d->admin.response.status);
	} else {
		return err_set(err, -EINVAL, "no step '%s'", words[0]);
	}
	return r;
}

/* Words by spaces; the last of `request` and `agent` (the body) keeps its own. */
static size_t split(char *line, char **words)
{
	size_t n = 0, body = !strncmp(line, "request ", 8) || !strncmp(line, "agent ", 6) ? 5 : LINE_WORDS;

	while (*line && n < body) {
		size_t len = n + 1 == body ? strlen(line) : strcspn(line, " ");

		words[n++] = line;
		line += len;
		if (*line)
			*line++ = '\0';
	}
	return n;
}

static int run(struct driver *d, struct err *err)
{
	CLEANUP(freep) char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&line, &size, stdin)) > 0) {
		char *words[LINE_WORDS];
		size_t n;
		int r;

		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		n = split(line, words);
		r = n ? step(d, words, n, err) : 0;
		fflush(stdout);
		if (r < 0)
			return r;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct driver d = {.now_ms = 1000000};
	struct err err = {""};
	int r;

	if (argc != 4) {
		fputs("usage: steps AGENT-KUBECONFIG ADMIN-KUBECONFIG NODE\n", stderr);
		return 2;
	}
	r = side_open(&d.agent, argv[1], &err);
	if (r == 0)
		r = side_open(&d.admin, argv[2], &err);
	if (r == 0)
		r = publisher_new(d.agent.client,
			&(struct publisher_options){.node_name = argv[3],
				.node_burst = 6,
				.random = no_jitter,
				.random_data = &d,
				.clock = told_time,
				.clock_data = &d},
			&d.publisher, &err);
	if (r == 0)
		r = run(&d, &err);
	if (r < 0)
		fprintf(stderr, "steps: %s\n", err.text);
	publisher_free(d.publisher);
	side_close(&d.agent);
	side_close(&d.admin);
	doc_release(&d.nrt);
	doc_release(&d.numatopology);
	kai_pods_release(&d.pods);
	free(d.version);
	return r < 0;
}
