/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/admitted_pods.h"

#include <errno.h>
#include <string.h>

#include "agent/observe/admitted_pods.pb-c.h"
#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"

#define VERSION_2 "v2"

static void pod_list_freep(Admittedpods__PodList **list)
{
	admittedpods__pod_list__free_unpacked(*list, NULL);
}

static int add_uid(const ProtobufCBinaryData *bytes, struct strv *uids, struct err *err)
{
	Admittedpods__Pod *pod = admittedpods__pod__unpack(NULL, bytes->len, bytes->data);
	const char *uid = pod && pod->metadata ? text_or_empty(pod->metadata->uid) : "";
	int r = 0;

	if (*uid)
		strv_push(uids, uid);
	else
		r = err_set(err, -EBADMSG, "podList: %s",
			pod ? "a pod without UID" : "a pod is not a valid message");
	admittedpods__pod__free_unpacked(pod, NULL);
	return r;
}

static int parse_pod_list(const struct strbuf *bytes, struct strv *uids, struct err *err)
{
	CLEANUP(pod_list_freep)
	Admittedpods__PodList *list =
		admittedpods__pod_list__unpack(NULL, bytes->len, (const uint8_t *)bytes->text);
	int r = 0;

	if (!list)
		return err_set(err, -EBADMSG, "podList is not a valid message");
	for (size_t i = 0; i < list->n_items && r == 0; i++)
		r = add_uid(&list->items[i], uids, err);
	return r;
}

/*
 * Decodes podList into `bytes`; without a podList, appends the UIDs of `entries`. Frees the parsed file before the caller unpacks the list,
 * because each of them needs as much memory as the text.
 */
static int parse_file(const char *text, size_t len, struct strbuf *bytes, struct strv *uids, struct err *err)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	struct state_members top = {.err = err}, data = {.err = err};
	const struct doc *entries, *pods;
	const char *version;
	int r = state_file_parse(text, len, ADMITTED_PODS_MAX, &file, err);

	if (r < 0)
		return r;
	top.map = &file.top;
	data.map = state_file_content(&file);
	version = state_string(&top, "version");
	entries = state_member(&data, "entries", DOC_MAP);
	pods = state_member(&data, "podList", DOC_STRING);
	if (top.r < 0 || data.r < 0)
		return top.r < 0 ? top.r : data.r;
	if (*version && strcmp(version, VERSION_2) != 0)
		return err_set(err, -EINVAL, "format '%.20s' is not known", version);
	if (pods && base64_decode(pods->text, bytes) < 0)
		return err_set(err, -EINVAL, "podList is not base64");
	/* Up to 1.37, without a version, the kubelet omits entries if no pod is admitted. A podList is never empty. */
	if (!pods && *version)
		return err_set(err, -EINVAL, "it has no list of pods");
	for (size_t i = 0; !pods && entries && i < entries->n_items; i++)
		strv_push(uids, entries->items[i].key);
	return 0;
}

int admitted_pods_parse(const char *text, size_t len, struct strv *uids, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(ADMITTED_PODS_MAX);
	CLEANUP(strv_release) struct strv found = {0};
	int r = parse_file(text, len, &bytes, &found, err);

	if (r == 0 && bytes.len > 0)
		r = parse_pod_list(&bytes, &found, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < found.n_items; i++)
		strv_push(uids, found.items[i]);
	return 0;
}
