/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server or a plugin answers. The first byte says to whom: 'n' a Node, 'e' an ExecCredential, else the
 * status code of an answer to a write.
 */
#include "tests/fuzz/fuzz.h"

#include "agent/publish/publish.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/kube/credentials.h"

#define PATCH_MAX ((size_t)64 << 20)

/* What is kept of the Node is under nrtd.dev/; the patch from it to itself is empty, and to nothing it is a
 * text. */
static void read_node(const char *text, size_t len)
{
	CLEANUP(node_metadata_release) struct node_metadata have, nothing;
	CLEANUP(doc_release) struct doc same = DOC_INIT, patch = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PATCH_MAX);
	struct err err = {""};

	node_metadata_init(&have);
	node_metadata_init(&nothing);
	if (node_metadata_parse(text, len, &have, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(have.uid == NULL && have.annotations.n_items == 0);
		return;
	}
	fuzz_require(have.uid && *have.uid);
	DOC_FOREACH (item, &have.annotations)
		fuzz_require(!strncmp(item->key, NODE_METADATA_PREFIX, strlen(NODE_METADATA_PREFIX)));
	node_metadata_patch(&have, &have, &same);
	fuzz_require(same.n_items == 0);
	node_metadata_patch(&have, &nothing, &patch);
	fuzz_require(json_print_compact(&patch, &out) == 0);
}

static void read_credential(const char *text, size_t len)
{
	static const char *const versions[] = {
		"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		CLEANUP(exec_credential_release) struct exec_credential c = {0};
		struct err err = {""};

		if (exec_credential_parse(text, len, versions[i], &c, &err) < 0) {
			fuzz_check_line(err.text);
			fuzz_require(!c.token && !c.certificate && !c.key);
			continue;
		}
		fuzz_require(c.token || c.certificate);
		fuzz_require(!c.certificate == !c.key);
		/* What characters a token may have is checked where all tokens are, in credentials.c. */
	}
}

static void read_answer(int status, const char *text, size_t len)
{
	CLEANUP(api_response_release) struct api_response response;

	api_response_init(&response);
	response.status = status;
	response.body.max = SIZE_MAX;
	strbuf_add(&response.body, text, len);
	for (enum publish_object object = 0; object < PUBLISH_OBJECT_COUNT; object++) {
		struct err err = {""};
		enum publish_outcome outcome = publish_classify(object, "node-a", &response, &err);

		fuzz_require((unsigned)outcome < PUBLISH_OUTCOME_COUNT);
		fuzz_require((outcome == PUBLISH_WRITTEN) == (status >= 200 && status < 300));
		if (outcome != PUBLISH_WRITTEN)
			fuzz_check_line(err.text);
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int codes[] = {200, 201, 302, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504};
	CLEANUP(freep) char *text = NULL;

	if (size == 0)
		return;
	text = memcpy(calloc(size, 1), data + 1, size - 1); /* with a NUL, as what is received has */
	if (data[0] == 'n')
		read_node(text, size - 1);
	else if (data[0] == 'e')
		read_credential(text, size - 1);
	else
		read_answer(codes[data[0] % ARRAY_SIZE(codes)], text, size - 1);
}
