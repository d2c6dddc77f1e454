/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/pod_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

const char *const pod_stage_names[POD_STAGE_COUNT] = {"waits", "bound", "rejected", "runs", "ended"};

void pod_status_release(struct pod_status *f)
{
	free(f->namespace);
	free(f->name);
	free(f->uid);
	free(f->node);
	free(f->phase);
	free(f->reason);
	free(f->message);
	free(f->scheduler);
	free(f->owner);
	*f = (struct pod_status){0};
}

/* ---- the stage */

/* A container of this list runs, or has run. */
static bool has_started(const struct doc *status, const char *list)
{
	const struct doc *containers = doc_get(status, list);

	if (!containers || containers->kind != DOC_LIST)
		return false;
	DOC_FOREACH (container, containers) {
		const struct doc *state = doc_get(container, "state");
		const struct doc *last = doc_get(container, "lastState");

		if (doc_get(state, "running") || doc_get(state, "terminated") || doc_get(last, "terminated"))
			return true;
	}
	return false;
}

static enum pod_stage find_stage(const struct doc *status, const struct pod_status *f)
{
	bool started =
		has_started(status, "containerStatuses") || has_started(status, "initContainerStatuses");

	if (!strcmp(f->phase, "Failed") && !started && *f->reason && *f->node)
		return POD_REJECTED;
	if (!strcmp(f->phase, "Failed") || !strcmp(f->phase, "Succeeded"))
		return POD_ENDED;
	if (!strcmp(f->phase, "Running") || (started && *f->node))
		return POD_RUNS;
	return *f->node ? POD_BOUND : POD_WAITS;
}

/* ---- the texts */

static void set(char **owned, const struct doc *map, const char *key)
{
	const char *text = doc_string(doc_get(map, key));

	text_set(owned, text ? text : "");
}

/* What the scheduler says for as long as it finds no node. */
static void read_scheduler(const struct doc *status, struct pod_status *f)
{
	const struct doc *conditions = doc_get(status, "conditions");
	const struct doc *found = NULL;

	if (conditions && conditions->kind == DOC_LIST)
		DOC_FOREACH (condition, conditions) {
			const char *type = doc_string(doc_get(condition, "type"));
			const char *value = doc_string(doc_get(condition, "status"));

			if (type && value && !strcmp(type, "PodScheduled") && !strcmp(value, "False"))
				found = condition;
		}
	set(&f->scheduler, found, "message");
}

static void read_owner(const struct doc *metadata, struct pod_status *f)
{
	const struct doc *owners = doc_get(metadata, "ownerReferences");
	const struct doc *first =
		owners && owners->kind == DOC_LIST && owners->n_items > 0 ? &owners->items[0] : NULL;
	const char *kind = doc_string(doc_get(first, "kind")), *name = doc_string(doc_get(first, "name"));

	if (!kind || !name) {
		text_set(&f->owner, "");
		return;
	}
	f->owner = xasprintf("%s '%s'", kind, name);
}

static void read_texts(
	const struct doc *metadata, const struct doc *spec, const struct doc *status, struct pod_status *f)
{
	const char *namespace = doc_string(doc_get(metadata, "namespace"));

	text_set(&f->namespace, namespace && *namespace ? namespace : "default");
	set(&f->name, metadata, "name");
	set(&f->uid, metadata, "uid");
	set(&f->node, spec, "nodeName");
	set(&f->phase, status, "phase");
	set(&f->reason, status, "reason");
	set(&f->message, status, "message");
	read_scheduler(status, f);
	read_owner(metadata, f);
}

int pod_status_read(const struct doc *pod, struct pod_status *ret, struct err *err)
{
	CLEANUP(pod_status_release) struct pod_status f = {0};
	const struct doc *spec = doc_get(pod, "spec"), *status = doc_get(pod, "status");
	const struct doc *gates = doc_get(spec, "schedulingGates");

	read_texts(doc_get(pod, "metadata"), spec, status, &f);
	if (!*f.name)
		return err_set(err, -EINVAL, "a Pod without a name");
	f.names = pod_names_of_object(doc_get(pod, "metadata"));
	f.gated = gates && gates->n_items > 0;
	f.stage = find_stage(status, &f);
	*ret = f;
	f = (struct pod_status){0};
	return 0;
}
