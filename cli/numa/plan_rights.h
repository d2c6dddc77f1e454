/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Asks the API server whether this user may carry out a plan, in every namespace of it.
 */
#include "cluster/plan/plan.h"
#include "common/kube/api_client.h"

/*
 * The rights: to patch Nodes, where reservations are written, and in the namespaces of the steps to evict or to get Pods. 0, also if it cannot be
 * known; -EACCES with one line that names the missing right; errors of api_client_request().
 */
int plan_rights_check(struct api_client *client, const struct simulated_cluster *c, const struct plan *plan,
	struct err *err);
