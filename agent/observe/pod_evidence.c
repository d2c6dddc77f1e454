/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/pod_evidence.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/admitted_pods.h"
#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

void pod_evidence_release(struct pod_evidence *e)
{
	free(e->folders);
	strv_release(&e->admitted);
	for (size_t i = 0; i < e->n_logs; i++) {
		free(e->logs[i].uid);
		free(e->logs[i].namespace);
		free(e->logs[i].name);
	}
	free(e->logs);
	*e = (struct pod_evidence){0};
}

/* ---- the file of admitted pods */

static int read_admitted(const char *root, const char *kubelet_root, struct pod_evidence *e,
	struct notes *notes, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ADMITTED_PODS_MAX);
	char path[PATH_MAX];
	struct err why = {""};
	int r;

	snprintf(path, sizeof(path), "%.3000s/" ADMITTED_PODS_FILE, kubelet_root);
	r = fs_read(root, path, &text, &why);
	if (fs_is_transient(r))
		return err_set(err, r, "%s", why.text);
	if (fs_is_absent(r))
		return 0;
	if (r == 0)
		r = admitted_pods_parse(text.text, text.len, &e->admitted, &why);
	if (r < 0)
		notes_add(notes, "%.3000s: %s; the admitted pods are unknown", path, why.text);
	e->admitted_known = r == 0;
	e->admitted_hidden = r < 0;
	return 0;
}

/* ---- log directories */

/* NAMESPACE_NAME_UID; no part contains the separator. Other folders are not the kubelet's. */
static void add_log(struct pod_evidence *e, const char *folder)
{
	const char *name = strchr(folder, '_'), *uid = name ? strchr(name + 1, '_') : NULL;
	struct pod_log *slot;

	if (!uid || !uid[1] || !text_is_dns_subdomain(folder, (size_t)(name - folder)) ||
		!text_is_dns_subdomain(name + 1, (size_t)(uid - name - 1)))
		return;
	slot = vec_push(&e->logs, &e->n_logs, &e->logs_size, sizeof(*slot));
	*slot = (struct pod_log){.uid = xstrdup(uid + 1),
		.namespace = xstrndup(folder, (size_t)(name - folder)),
		.name = xstrndup(name + 1, (size_t)(uid - name - 1))};
}

static int read_logs(const char *sysroot, struct pod_evidence *e, struct notes *notes, struct err *err)
{
	CLEANUP(strv_release) struct strv folders = {0};
	struct err why = {""};
	int r = fs_list(sysroot, POD_LOGS_FOLDER, &folders, &why);

	if (fs_is_transient(r))
		return err_set(err, r, "%s", why.text);
	e->logs_hidden = r < 0 && !fs_is_absent(r);
	if (e->logs_hidden)
		notes_add(notes, "%s; the names of some pods are unknown", why.text);
	for (size_t i = 0; i < folders.n_items; i++)
		add_log(e, folders.items[i]);
	return 0;
}

int pod_evidence_read(const char *sysroot, const char *files_root, const char *kubelet_root,
	struct pod_evidence *ret, struct notes *notes, struct err *err)
{
	char path[PATH_MAX];
	int r;

	*ret = (struct pod_evidence){.root = files_root};
	r = read_admitted(files_root, kubelet_root, ret, notes, err);
	if (r == 0)
		r = read_logs(sysroot, ret, notes, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%.3000s/" PODS_FOLDER, kubelet_root);
	r = fs_lookup(files_root, path, err);
	if (fs_is_transient(r))
		return r;
	if (r > 0)
		ret->folders = xstrdup(path);
	return 0;
}

/* ---- pod directories */

enum folder { FOLDER_MISSING, FOLDER_EXISTS, FOLDER_UNKNOWN };

static enum folder find_folder(const struct pod_evidence *e, const char *uid)
{
	char path[PATH_MAX];
	int r;

	if (!e->folders || !*uid || strchr(uid, '/') || strlen(uid) > NAME_MAX)
		return FOLDER_UNKNOWN;
	snprintf(path, sizeof(path), "%.3500s/%s", e->folders, uid);
	r = fs_lookup(e->root, path, NULL);
	if (r < 0)
		return FOLDER_UNKNOWN;
	return r > 0 ? FOLDER_EXISTS : FOLDER_MISSING;
}

void pods_seen_release(struct pods_seen *s)
{
	for (size_t i = 0; i < s->n_pods; i++)
		free(s->pods[i].uid);
	free(s->pods);
	*s = (struct pods_seen){0};
}

void pods_seen_copy(const struct pods_seen *s, struct pods_seen *ret)
{
	for (size_t i = 0; i < s->n_pods; i++) {
		struct pod_seen *slot = vec_push(&ret->pods, &ret->n_pods, &ret->pods_size, sizeof(*slot));

		*slot = s->pods[i];
		slot->uid = xstrdup(s->pods[i].uid);
	}
}

static const struct pod_seen *find_seen(const struct pods_seen *s, const char *uid)
{
	for (size_t i = 0; i < s->n_pods; i++)
		if (!strcmp(s->pods[i].uid, uid))
			return &s->pods[i];
	return NULL;
}

void pods_seen_update(struct pods_seen *s, const struct pod_evidence *e, const struct allocations *files)
{
	CLEANUP(pods_seen_release) struct pods_seen now = {0};

	for (size_t i = 0; i < files->n_items; i++) {
		const char *uid = files->items[i].pod_uid;
		const struct pod_seen *before = find_seen(s, uid);
		enum folder folder = find_folder(e, uid);
		struct pod_seen *slot;

		if (find_seen(&now, uid))
			continue; /* another item of the same pod */
		/* A new pod without a directory is kept only if it may wait for its directory because it was just admitted. */
		if (!before && folder != FOLDER_EXISTS && !e->fresh)
			continue;
		slot = vec_push(&now.pods, &now.n_pods, &now.pods_size, sizeof(*slot));
		slot->had_folder = folder == FOLDER_EXISTS || (before && before->had_folder);
		slot->ended = folder != FOLDER_EXISTS && before && before->ended;
		slot->ended = slot->ended || (slot->had_folder && folder == FOLDER_MISSING && !e->unattended);
		slot->uid = xstrdup(uid);
	}
	pods_seen_release(s);
	*s = now;
	now = (struct pods_seen){0};
}

bool pod_evidence_gone(const struct pod_evidence *e, const char *uid)
{
	const struct pod_seen *seen = e->seen ? find_seen(e->seen, uid) : NULL;

	if (find_folder(e, uid) != FOLDER_MISSING)
		return false;
	if (seen && seen->had_folder)
		return seen->ended;
	/* The kubelet never admitted the pod. */
	if (e->settled && e->admitted_known && !strv_contains(&e->admitted, uid))
		return true;
	/* Unless the pod may still wait for its directory: for a short time, or for any time if the pod appeared after the first reading. */
	return !e->fresh && !(seen && (e->admitted_known || e->admitted_hidden));
}

/* ---- logs */

const struct pod_log *pod_evidence_log(const struct pod_evidence *e, const char *uid)
{
	for (size_t i = 0; i < e->n_logs; i++)
		if (!strcmp(e->logs[i].uid, uid))
			return &e->logs[i];
	return NULL;
}

static const struct pod_log *only_log(const struct pod_evidence *e, const char *uid)
{
	const struct pod_log *found = NULL;

	for (size_t i = 0; i < e->n_logs; i++) {
		if (strcmp(e->logs[i].uid, uid) != 0)
			continue;
		if (found)
			return NULL;
		found = &e->logs[i];
	}
	return found;
}

void pod_evidence_name(const struct pod_evidence *e, struct allocations *files)
{
	for (size_t i = 0; i < files->n_items; i++) {
		struct allocation *item = &files->items[i];
		const struct pod_log *log = only_log(e, item->pod_uid);

		if (!log || !*log->namespace || !*log->name)
			continue;
		text_set(&item->namespace, log->namespace);
		text_set(&item->pod, log->name);
		item->named_by_logs = true;
	}
}

bool pod_evidence_has_logs(const struct pod_evidence *e, const char *namespace, const char *name)
{
	for (size_t i = 0; i < e->n_logs; i++)
		if (!strcmp(e->logs[i].namespace, namespace) && !strcmp(e->logs[i].name, name))
			return true;
	return false;
}
