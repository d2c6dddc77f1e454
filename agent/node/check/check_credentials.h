/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The credentials for the API server and how long they last, for `nrtd check`. Asks no server.
 */
#include <stdbool.h>

#include "agent/kube/credentials.h"
#include "agent/node/check/check_report.h"

#define CHECK_EXPIRY_WARN_S   86400
#define CHECK_EXPIRY_LEEWAY_S 60 /* as the API server allows for the times in tokens */
#define CHECK_EXPIRY_PERCENT  10 /* of its life left: it should have been renewed before */

/* An item for where they come from, and one for each certificate and token that says how long it is valid.
 * True: *ret is the caller's. False: there are none to ask with, and an item says why. */
bool check_credentials(
	const struct credentials_options *who, struct check_report *report, struct credentials **ret);

/*
 * How bad it is to have a credential of this validity at this time. One that nobody renews (it is in the
 * kubeconfig itself) is warned of a day before its end; one that is renewed, when that is overdue: a tenth of
 * its life is left. A pod's token lives for an hour, and the kubelet renews it when a fifth is left.
 */
enum check_level check_validity_level(const struct credential_expiry *v, bool renewed, int64_t now_s);
