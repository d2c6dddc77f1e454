/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

static void need(bool ok, const char *text)
{
	if (ok)
		return;
	fprintf(stderr, "not a pod: '%s'\n", text);
	abort();
}

void resources_set(struct resource_list *list, const char *name, const char *amount)
{
	struct quantity q = {0};

	need(quantity_parse(amount, &q, NULL) == 0, amount);
	resource_list_set(list, name, q);
}

struct resource_list resources_from_text(const char *text)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	struct resource_list list = {0};
	char *rest = copy, *word;

	while ((word = strsep(&rest, " "))) {
		char *name = strsep(&word, "=");

		need(word != NULL || *name == '\0', text);
		if (word)
			resources_set(&list, name, word);
	}
	return list;
}

/* The kind at the beginning of *text, behind which *text is left. */
static enum container_kind take_kind(const char **text, const char **ret_name)
{
	static const char *const kinds[CONTAINER_KIND_COUNT] = {"init", "sidecar", "app"};
	size_t len;

	*text += strspn(*text, " ");
	len = strcspn(*text, " |");
	for (size_t i = 0; i < CONTAINER_KIND_COUNT; i++)
		if (strlen(kinds[i]) == len && !strncmp(*text, kinds[i], len)) {
			*text += len;
			*ret_name = kinds[i];
			return (enum container_kind)i;
		}
	need(memchr(*text, '=', len) != NULL, *text);
	*ret_name = kinds[CONTAINER_APP];
	return CONTAINER_APP;
}

static void add_container(struct pod_request *pod, char *text)
{
	const char *requests = text, *name;
	enum container_kind kind = take_kind(&requests, &name);
	struct container_request *container = pod_request_add(pod, kind, name);
	char *bar = strchr(text, '|');

	if (bar)
		*bar = '\0';
	container->requests = resources_from_text(requests);
	container->limits = resources_from_text(bar ? bar + 1 : requests);
}

void pod_add_from_text(struct pod_request *pod, const char *text)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	char *rest = copy, *container;

	while ((container = strsep(&rest, ";")))
		if (container[strspn(container, " ")])
			add_container(pod, container);
}

void pod_from_text(struct pod_request *ret, const char *text)
{
	pod_request_init(ret);
	pod_add_from_text(ret, text);
}
