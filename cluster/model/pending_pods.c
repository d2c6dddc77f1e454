/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/pending_pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

struct pending_pod {
	char *uid;
	uint64_t list_number; /* the last list that contained the pod */
};

static void pending_pod_free(void *item)
{
	struct pending_pod *pod = item;

	free(pod->uid);
	free(pod);
}

void pending_pods_release(struct pending_pods *p)
{
	name_table_release_values(&p->by_uid, pending_pod_free);
	*p = (struct pending_pods){0};
}

void pending_pods_list_begin(struct pending_pods *p)
{
	p->list_number++;
	p->version = 0;
	p->skipped = false;
}

void pending_pods_list_end(struct pending_pods *p, uint64_t version)
{
	struct name_table *t = &p->by_uid;

	for (size_t i = 0; i < t->size;) { /* removing an entry may move another entry to its index */
		const struct pending_pod *pod = t->entries[i].name ? t->entries[i].value : NULL;

		if (pod && pod->list_number < p->list_number)
			pending_pods_remove(p, pod->uid);
		else
			i++;
	}
	p->version = p->skipped ? 0 : version;
}

void pending_pods_advance(struct pending_pods *p, uint64_t version)
{
	if (p->version > 0 && version > p->version)
		p->version = version;
}

void pending_pods_skip(struct pending_pods *p)
{
	p->version = 0;
	p->skipped = true;
}

void pending_pods_add(struct pending_pods *p, const char *uid)
{
	struct pending_pod *pod = name_table_find(&p->by_uid, uid);

	if (!pod) {
		pod = xcalloc(1, sizeof(*pod));
		pod->uid = xstrdup(uid);
		name_table_add(&p->by_uid, pod->uid, pod);
	}
	pod->list_number = p->list_number;
}

void pending_pods_remove(struct pending_pods *p, const char *uid)
{
	struct pending_pod *pod = name_table_find(&p->by_uid, uid);

	if (!pod)
		return;
	name_table_remove(&p->by_uid, uid);
	pending_pod_free(pod);
}

bool pending_pods_is_deleted(const struct pending_pods *p, const char *uid, uint64_t version)
{
	return version > 0 && version <= p->version && !name_table_find(&p->by_uid, uid);
}
