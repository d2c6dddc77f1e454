/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/plan_rights.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/kube/access_review.h"
#include "common/text.h"

/* 0; -EACCES: the right is missing. Also 0 if the API server does not know (-ENODATA): the right may be there. */
static int check_right(struct api_client *client, const struct access_right *right, struct err *err)
{
	struct err reason = {""};
	int r = access_review_ask(client, right, &reason);

	if (r == 1 || r == -ENODATA)
		return 0;
	if (r < 0)
		return err_set(err, r, "%s", reason.text);
	return err_set(err, -EACCES, "the right to %s %s%s%s%s%s is missing%s%s", right->verb,
		right->resource, right->subresource ? "/" : "", text_or_empty(right->subresource),
		right->namespace ? " in namespace " : "", text_or_empty(right->namespace),
		reason.text[0] ? ": " : "", reason.text);
}

int plan_rights_check(struct api_client *client, const struct simulated_cluster *c, const struct plan *plan,
	struct err *err)
{
	static const struct access_right write_nodes = {.verb = "patch", .resource = "nodes"};
	struct name_table asked_to_evict = {0}, asked_to_get = {0}; /* namespaces */
	int r = check_right(client, &write_nodes, err);

	for (size_t i = 0; i < plan->n_steps && r == 0; i++) {
		const char *namespace = c->pods[plan->steps[i].pod].namespace;
		bool evicts = plan->steps[i].kind != PLAN_START;
		const struct access_right right = {.verb = evicts ? "create" : "get",
			.resource = "pods",
			.subresource = evicts ? "eviction" : NULL,
			.namespace = namespace};
		struct name_table *asked = evicts ? &asked_to_evict : &asked_to_get;

		if (name_table_find(asked, namespace))
			continue;
		name_table_add(asked, namespace, asked);
		r = check_right(client, &right, err);
	}
	name_table_release(&asked_to_evict);
	name_table_release(&asked_to_get);
	return r;
}
