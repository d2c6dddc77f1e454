/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/refused.h"

#include <inttypes.h>
#include <string.h>

#include "agent/base/exposition.h"

/* The last is for all others. */
static const char *const reasons[REFUSED_REASONS] = {
	"TopologyAffinityError", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods", "other"};

void refused_count(struct refused *r, const char *reason)
{
	size_t i = 0;

	while (i < REFUSED_REASONS - 1 && strcmp(reason, reasons[i]) != 0)
		i++;
	r->n[i]++;
}

void refused_print(const struct refused *r, struct strbuf *out)
{
	static const char name[] = "nrtd_extender_promises_refused_total";

	exposition_head(out, name,
		"Pods that were promised a node and that its kubelet still refused, by its reason.", COUNTER);
	for (size_t i = 0; i < REFUSED_REASONS; i++)
		strbuf_addf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", name, reasons[i], r->n[i]);
}
