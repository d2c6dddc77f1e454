/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render.h"

#include "agent/nrt.h"

/* The flag's values are those of the table; its index 0 is "none". */
static enum fingerprint_method fingerprint_method(const struct options *options)
{
	int method = settings_name_index(
		fingerprint_method_names, FINGERPRINT_METHOD_COUNT, options->value[OPT_FINGERPRINT]);

	return method < 0 ? FINGERPRINT_NONE : (enum fingerprint_method)method;
}

int render_nrt(
	const struct options *options, const struct observation *o, struct doc *ret, struct notes *notes)
{
	const struct nrt_input in = {
		.node_name = o->node_name,
		.machine = &o->machine,
		.settings = &o->settings,
		.inventory = &o->inventory,
		.allocations = &o->allocations,
		.pods_known = o->pods_known,
		.pods = o->pods,
		.n_pods = o->n_pods,
		.fingerprint = fingerprint_method(options),
	};

	return nrt_render(&in, ret, notes);
}
