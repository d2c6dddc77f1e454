/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig file; a text before a first line "# context" is the context that is asked for.
 */
#include "tests/fuzz/fuzz.h"

#include "common/cleanup.h"
#include "common/kube/credentials.h"

/* One of a text and a file at most, and a secret only for a server that proves who it is. */
static void check(const struct credentials_config *c)
{
	bool secret = c->token || c->token_file || c->key || c->key_file || c->exec.command;

	fuzz_require(c->server != NULL && !strchr(c->server, '\n'));
	fuzz_require(!strncmp(c->server, "https://", 8) || (!strncmp(c->server, "http://", 7) && !secret));
	fuzz_require(c->server[strlen(c->server) - 1] != '/');
	fuzz_require(!(c->ca && c->ca_file) && !(c->certificate && c->certificate_file) &&
		     !(c->key && c->key_file) && !(c->token && c->token_file));
	for (size_t i = 0; i < c->exec.env.n_items; i++)
		fuzz_require(strchr(c->exec.env.items[i], '=') != NULL);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char marker[] = "# context\n";
	CLEANUP(credentials_config_release) struct credentials_config config = {0};
	CLEANUP(freep) char *context = NULL;
	const char *text = (const char *)data, *at = memmem(data, size, marker, strlen(marker));
	struct kubeconfig_choice choice = {.context = NULL};
	struct kubeconfig_file file = {.dir = "/etc/kubernetes"};
	struct err err = {""};

	if (at) {
		context = strndup(text, (size_t)(at - text));
		fuzz_require(context != NULL);
		size -= (size_t)(at - text);
		text = at;
	}
	choice.context = context;
	file.text = text;
	file.len = size;
	if (kubeconfig_parse(&file, 1, &choice, &config, &err) < 0)
		fuzz_check_line(err.text);
	else
		check(&config);
}
