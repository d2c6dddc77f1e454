/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/broken_assumptions.h"

#include <inttypes.h>
#include <string.h>

#include "agent/base/exposition.h"

/* The last is for all others. */
static const char *const reasons[BROKEN_REASONS] = {
	"TopologyAffinityError", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods", "other"};

void broken_assumptions_count(struct broken_assumptions *r, const char *reason)
{
	size_t i = 0;

	while (i < BROKEN_REASONS - 1 && strcmp(reason, reasons[i]) != 0)
		i++;
	r->n[i]++;
}

void broken_assumptions_print(const struct broken_assumptions *r, struct strbuf *out)
{
	static const char name[] = "nrtd_extender_assumed_pods_rejected_total";

	exposition_head(out, name,
		"Pods that were promised a node and that its kubelet still rejected, by its reason.",
		COUNTER);
	for (size_t i = 0; i < BROKEN_REASONS; i++)
		strbuf_addf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", name, reasons[i], r->n[i]);
}
