/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Makes each stage's configuration from the command line.
 *
 * A configuration borrows its texts from the command line and the environment, and its lists from struct stage_lists,
 * which must outlive the configuration.
 */
#include "agent/check/check.h"
#include "agent/observe/observe.h"
#include "agent/publish/target.h"
#include "agent/render/render.h"
#include "agent/run/loop.h"
#include "cli/opts.h"
#include "scoring/node/node_derive.h"

/* The values of the flags that repeat. */
struct stage_lists {
	const char *excluded[OPTIONS_MAX_REPEATED];
	const char *namespaces[OPTIONS_MAX_REPEATED];
};

struct observe_config stage_observe(const struct options *options);
struct derive_config stage_derive(const struct options *options, struct stage_lists *lists);
struct publish_config stage_publish(const struct options *options);

struct nrt_config stage_nrt(const struct options *options);

/*
 * From --shape, --shape-strategy, --fit-hints-max and --labels. A shape is "NAME=RESOURCE=QUANTITY,...", a Guaranteed pod
 * of one container. 0; -EINVAL with one line: a name that is invalid at the end of an annotation's name, a repeated name or
 * resource, an invalid quantity. `ret` is untouched on failure; otherwise hints_config_release() releases it.
 */
int stage_hints(const struct options *options, struct hints_config *ret, struct err *err);

/* From the flags of the published objects. Returns as stage_hints(). `ret` must be zeroed; the caller releases ret->hints. */
int stage_render(const struct options *options, struct render_config *ret, struct err *err);

/* From the flags of the daemon; other members of *ret are untouched. 0; -EINVAL with one line for an invalid --http. */
int stage_daemon(const struct options *options, struct loop_config *ret, struct err *err);

struct check_config stage_check(const struct options *options, struct stage_lists *lists);
