/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/pending_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

struct pending_pod {
	char *uid;
	uint64_t round; /* the list in which it was seen last */
};

static void pod_free(struct pending_pod *pod)
{
	free(pod->uid);
	free(pod);
}

static void pod_freep(struct pending_pod **pod)
{
	if (*pod)
		pod_free(*pod);
}

void pending_pods_release(struct pending_pods *p)
{
	for (size_t i = 0; i < p->by_uid.size; i++)
		if (p->by_uid.entries[i].name)
			pod_free(p->by_uid.entries[i].value);
	name_table_release(&p->by_uid);
	*p = (struct pending_pods){0};
}

void pending_pods_list_begin(struct pending_pods *p)
{
	p->round++;
	p->version = 0;
	p->skipped = false;
}

void pending_pods_list_end(struct pending_pods *p, uint64_t version)
{
	struct name_table *t = &p->by_uid;

	for (size_t i = 0; i < t->size;) { /* removing a pod may move another one to its place */
		const struct pending_pod *pod = t->entries[i].name ? t->entries[i].value : NULL;

		if (pod && pod->round < p->round)
			pending_pods_remove(p, pod->uid);
		else
			i++;
	}
	p->version = p->skipped ? 0 : version;
}

void pending_pods_told(struct pending_pods *p, uint64_t version)
{
	if (p->version > 0 && version > p->version)
		p->version = version;
}

void pending_pods_skip(struct pending_pods *p)
{
	p->version = 0;
	p->skipped = true;
}

static struct pending_pod *add(struct pending_pods *p, const char *uid)
{
	CLEANUP(pod_freep) struct pending_pod *pod = calloc(1, sizeof(*pod));

	if (!pod || !(pod->uid = strdup(uid)) || name_table_add(&p->by_uid, pod->uid, pod) < 0)
		return NULL;
	return TAKE(pod);
}

int pending_pods_add(struct pending_pods *p, const char *uid)
{
	struct pending_pod *pod = name_table_find(&p->by_uid, uid);

	if (!pod)
		pod = add(p, uid);
	if (!pod)
		return -ENOMEM;
	pod->round = p->round;
	return 0;
}

void pending_pods_remove(struct pending_pods *p, const char *uid)
{
	struct pending_pod *pod = name_table_find(&p->by_uid, uid);

	if (!pod)
		return;
	name_table_remove(&p->by_uid, uid);
	pod_free(pod);
}

bool pending_pods_lack(const struct pending_pods *p, const char *uid, uint64_t version)
{
	return version > 0 && version <= p->version && !name_table_find(&p->by_uid, uid);
}
