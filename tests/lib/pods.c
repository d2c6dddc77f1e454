/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

static void need(bool ok, const char *text)
{
	if (ok)
		return;
	fprintf(stderr, "not a pod: '%s'\n", text);
	abort();
}

static void add_amount(struct container_request *container, char *word)
{
	char *equals = strchr(word, '=');
	struct quantity q = {0};

	need(equals != NULL, word);
	*equals = '\0';
	need(quantity_parse(equals + 1, &q, NULL) == 0, word);
	resource_list_set(&container->requests, word, q);
	resource_list_set(&container->limits, word, q);
}

static struct container_request *add_container(struct pod_request *pod, const char *word)
{
	static const char *const kinds[CONTAINER_KIND_COUNT] = {"init", "sidecar", "app"};
	struct container_request *container = NULL;

	for (size_t i = 0; i < CONTAINER_KIND_COUNT; i++)
		if (!strcmp(word, kinds[i]))
			container = pod_request_add(pod, (enum container_kind)i, word);
	need(container != NULL, word);
	return container;
}

void pod_from_text(struct pod_request *ret, const char *text)
{
	CLEANUP(freep) char *copy = strdup(text);
	char *rest_of_pod = copy, *part;

	need(copy != NULL, text);
	pod_request_init(ret);
	while ((part = strsep(&rest_of_pod, ";"))) {
		struct container_request *container = NULL;
		char *word;

		while ((word = strsep(&part, " "))) {
			if (*word == '\0')
				continue;
			if (container)
				add_amount(container, word);
			else
				container = add_container(ret, word);
		}
	}
}
