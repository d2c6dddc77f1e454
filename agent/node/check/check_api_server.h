/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What would stop nrtd from publishing, for `nrtd check`: credentials, API server, clock, CRD, rights, Node.
 */
#include "agent/base/doc.h"
#include "agent/node/check/check_host.h"
#include "agent/node/check/check_report.h"

#define CHECK_CLOCK_WARN_MS  5000
#define CHECK_CLOCK_FAIL_MS  300000 /* Kubernetes' signer dates certificates back by this much */
#define CHECK_EXPIRY_WARN_S  86400
#define CHECK_EXPIRY_PERCENT 10 /* of its life left: it should have been renewed before */

/*
 * An item for each, in the order in which they stop nrtd; after one without which the next cannot be asked
 * there are no more. Nothing is changed on the API server: there is a dry run of what `nrtd run` writes. `nrt` is the
 * object it would write, NULL when there is none. Takes at most some 5 s more than what a credential plugin takes.
 */
void check_api_server(const struct check_config *config, const struct doc *nrt, struct check_report *report);

/* How bad it is that the local clock is this far from the API server's, either way. */
enum check_level check_clock_level(int64_t ahead_ms);
