/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_exporters.h"

#include <errno.h>

#include "agent/node/publish/apply.h"
#include "common/cleanup.h"

static const char *remedy_of(const char *manager)
{
	static const struct {
		const char *manager, *remedy;
	} known[] = {
		{"koordlet",
			"that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false"},
		{"node-feature-discovery-topology-updater",
			"that is NFD's: uninstall its topology-updater (in its chart topologyUpdater.enable=false)"},
		{"nfd-topology-updater",
			"that is NFD's: uninstall its topology-updater (in its chart topologyUpdater.enable=false)"},
		{"resource-topology-exporter", "uninstall the resource-topology-exporter"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(manager, known[i].manager))
			return known[i].remedy;
	return "if it still runs, stop it: of two exporters of one object each overwrites the other";
}

bool check_exporters(const struct doc *object, bool leaves_it, struct check_report *report)
{
	CLEANUP(managed_fields_release) struct managed_fields m = {0};
	struct check_item *item;

	if (managed_fields_read(object, &apply_nrt, &m) < 0)
		return leaves_it;
	if (!m.rival[0]) {
		check_report_line(
			report, CHECK_OK, "exporters", NULL, "nobody else writes this node's object", NULL);
		return leaves_it || m.other_version;
	}
	item = check_report_add(report, leaves_it ? CHECK_OK : CHECK_WARN, "exporters",
		leaves_it ? "'%s' writes this node's object, and nrtd leaves it alone"
			  : "'%s' has written this node's object",
		m.rival);
	if (item && !leaves_it)
		check_report_set(&item->remedy, "%s", remedy_of(m.rival));
	return leaves_it || m.other_version;
}
