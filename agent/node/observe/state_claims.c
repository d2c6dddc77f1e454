/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/state_claims.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "agent/base/fs.h"
#include "agent/node/observe/state_file.h"
#include "common/cleanup.h"
#include "common/strbuf.h"

/* What is being read of one claim. */
struct reading {
	const struct pod_evidence *evidence;
	const char *uid, *namespace, *name;
	struct claims *claims;
	struct err *err;
};

static int read_device(const struct doc *device, struct claim *claim, struct err *err)
{
	const char *pool = NULL, *name = NULL, *share = NULL;
	const struct doc *cdi = NULL;
	int r = state_string(device, "PoolName", &pool, err);

	if (r == 0)
		r = state_string(device, "DeviceName", &name, err);
	if (r == 0)
		r = state_string(device, "ShareID", &share, err);
	if (r == 0)
		r = state_member(device, "CDIDeviceIDs", DOC_LIST, &cdi, err);
	if (r < 0)
		return r;
	claim_add_device(claim, pool, name, share);
	for (size_t i = 0; cdi && i < cdi->n_items; i++)
		if (doc_string(&cdi->items[i]))
			strv_push(&claim->cdi, cdi->items[i].text);
	return 0;
}

static void add_pods(const struct reading *rd, const struct doc *uids, struct claim *claim)
{
	for (size_t i = 0; uids && i < uids->n_items; i++) {
		const struct pod_log *log = pod_evidence_log(rd->evidence, uids->items[i].key);

		if (log)
			claim_add_pod(claim, log->namespace, log->name);
	}
}

static int read_driver(const struct reading *rd, const struct doc *driver, const struct doc *pods)
{
	CLEANUP(claim_release) struct claim claim = {0};
	const struct doc *devices = NULL;
	int r;

	claim_init(&claim, driver->key, rd->uid, rd->namespace, rd->name);
	r = driver->kind == DOC_MAP ? state_member(driver, "Devices", DOC_LIST, &devices, rd->err) : 0;
	for (size_t i = 0; devices && i < devices->n_items && r == 0; i++)
		if (devices->items[i].kind == DOC_MAP)
			r = read_device(&devices->items[i], &claim, rd->err);
	if (r == 0)
		add_pods(rd, pods, &claim);
	if (r == 0 && devices)
		claims_take(rd->claims, &claim);
	return r;
}

static int read_claim(struct reading *rd, const struct doc *claim)
{
	const struct doc *pods = NULL, *drivers = NULL;
	int r = claim->kind == DOC_MAP ? state_string(claim, "ClaimUID", &rd->uid, rd->err)
				       : err_set(rd->err, -EINVAL, "a claim is %s", doc_kind_name(claim));

	if (r == 0)
		r = state_string(claim, "Namespace", &rd->namespace, rd->err);
	if (r == 0)
		r = state_string(claim, "ClaimName", &rd->name, rd->err);
	if (r == 0)
		r = state_member(claim, "PodUIDs", DOC_MAP, &pods, rd->err);
	if (r == 0)
		r = state_member(claim, "DriverState", DOC_MAP, &drivers, rd->err);
	for (size_t i = 0; drivers && i < drivers->n_items && r == 0; i++)
		r = read_driver(rd, &drivers->items[i], pods);
	return r;
}

int state_claims_parse(
	const char *text, size_t len, const struct pod_evidence *e, struct claims *ret, struct err *err)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(claims_release) struct claims claims = {0};
	struct reading rd = {.evidence = e, .claims = &claims, .err = err};
	const struct doc *list = NULL;
	int r = state_file_parse(text, len, STATE_CLAIMS_MAX, &file, err);

	if (r == 0)
		r = state_member(state_file_content(&file), "ClaimInfoStateList", DOC_LIST, &list, err);
	for (size_t i = 0; list && i < list->n_items && r == 0; i++)
		r = read_claim(&rd, &list->items[i]);
	if (r == 0)
		claims_unite(&claims);
	if (r < 0)
		return r;
	*ret = claims;
	claims = (struct claims){0};
	return 0;
}

void state_claims_read(const char *sysroot, const char *kubelet_root, struct claims *ret, struct notes *notes)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(STATE_CLAIMS_MAX);
	CLEANUP(pod_evidence_release) struct pod_evidence evidence = {0};
	char path[PATH_MAX];
	struct err err = {""};
	int r;

	snprintf(path, sizeof(path), "%.3000s/" STATE_CLAIMS_FILE, kubelet_root);
	r = fs_read(sysroot, path, &text, &err);
	if (r == -ENOENT)
		return;
	if (r == 0)
		pod_evidence_read(sysroot, kubelet_root, &evidence, NULL);
	if (r == 0)
		r = state_claims_parse(text.text, text.len, &evidence, ret, &err);
	if (r < 0)
		notes_add(notes, "%.3000s: %s; the names of claims are not known", path, err.text);
}
