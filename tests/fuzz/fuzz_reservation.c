/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of a Node, which its kubelet may write: reservations are bounded in number, none has expired, and what is printed of one is read
 * back as the same one.
 */
#include "tests/fuzz/fuzz.h"

#include "cluster/objects/pod_parse.h"
#include "cluster/objects/reservation.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"

static void check_invalid(const struct err *err, const void *data)
{
	(void)data;
	fuzz_check_line(err->text);
}

/* The input as a Pod for which a place is reserved: the value is read back. */
static void check_pod(const struct doc *pod)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(RESERVATION_TEXT_MAX);
	CLEANUP(reservation_release) struct reservation again = {0};
	char namespace[] = "a", name[] = "p", none[] = "";
	int64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;
	const struct reservation r = {.namespace = namespace,
		.pod = name,
		.uid = none,
		.controller = none,
		.created_s = now_s,
		.expires_s = now_s + 60};

	if (pod_template_from_pod(pod, &template, NULL) < 0 || reservation_print(&r, pod, &text) < 0)
		return;
	fuzz_require(reservation_parse(RESERVATION_PREFIX "x", text.text, &again, NULL) == 0);
	fuzz_require(again.created_s == r.created_s && again.expires_s == r.expires_s);
	fuzz_require(again.request.n_containers == template.pod.n_containers);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct reservation found[RESERVATIONS_MAX];
	double begin = fuzz_cpu_seconds();
	int64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;
	size_t n;

	if (json_parse((const char *)data, size, &object, NULL) < 0)
		return;
	n = reservations_parse(&object, check_invalid, NULL, found);
	fuzz_require(n <= RESERVATIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		fuzz_require(*found[i].id && *found[i].namespace);
		fuzz_require(found[i].expires_s > now_s - 60);
		reservation_release(&found[i]);
	}
	check_pod(&object);
	fuzz_require(fuzz_cpu_seconds() - begin < FUZZ_CPU_SECONDS);
}
