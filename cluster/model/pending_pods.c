/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/pending_pods.h"

void pending_pods_release(struct pending_pods *p)
{
	uid_set_release(&p->uids);
	*p = (struct pending_pods){0};
}

void pending_pods_list_begin(struct pending_pods *p)
{
	uid_set_list_begin(&p->uids);
	p->version = 0;
	p->skipped = false;
}

void pending_pods_list_end(struct pending_pods *p, uint64_t version)
{
	uid_set_list_end(&p->uids);
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
	uid_set_add(&p->uids, uid);
}

void pending_pods_remove(struct pending_pods *p, const char *uid)
{
	uid_set_remove(&p->uids, uid);
}

bool pending_pods_is_deleted(const struct pending_pods *p, const char *uid, uint64_t version)
{
	return version > 0 && version <= p->version && !uid_set_has(&p->uids, uid);
}
