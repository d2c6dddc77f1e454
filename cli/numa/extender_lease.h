/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads from nrtd-extender's Lease whether the extender answers the schedulers of a plan's pods: without the extender, these
 * schedulers ignore the places that `kubectl numa plan --apply` reserves.
 */
#include <stdint.h>

#include "cluster/objects/extender_record.h"
#include "cluster/plan/plan.h"
#include "cluster/plan/simulated_cluster.h"
#include "common/err.h"
#include "common/kube/api_client.h"

/*
 * Reads the record of the Lease `lease`, NAMESPACE/NAME, as option_check_lease() has checked. 0; -ENOENT: no Lease, or a Lease without a
 * holder; -ENODATA: the extender writes no record; other errors of api_get(). The line says so.
 */
int extender_lease_read(
	struct api_client *client, const char *lease, struct extender_record *ret, struct err *err);

/*
 * Whether the schedulers of all pods of the plan send requests to the extender: it has answered each pod's scheduler, and this scheduler
 * has bound no pod since without asking. 0; -EPERM with one line that names the scheduler; errors of extender_lease_read().
 */
int extender_lease_check(struct api_client *client, const char *lease, const struct simulated_cluster *c,
	const struct plan *plan, struct err *err);
