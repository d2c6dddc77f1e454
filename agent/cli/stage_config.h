/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From the command line to each stage's configuration: the one place that knows both.
 *
 * Texts in a configuration belong to the command line or the environment, and lists to struct stage_lists,
 * which must outlive it.
 */
#include "agent/cli/opts.h"
#include "agent/node/check/check.h"
#include "agent/node/observe/observe.h"
#include "agent/node/publish/target.h"
#include "agent/node/render/render.h"
#include "agent/node/run/loop.h"
#include "agent/state/node_derive.h"

/* The values of the flags that repeat. */
struct stage_lists {
	const char *excluded[OPTIONS_MAX_REPEATED];
	const char *namespaces[OPTIONS_MAX_REPEATED];
};

struct observe_config stage_observe(const struct options *options);
struct derive_config stage_model(const struct options *options, struct stage_lists *lists);
struct publish_config stage_publish(const struct options *options);

struct nrt_config stage_nrt(const struct options *options);

/*
 * What --shape, --shape-strategy, --fit-hints-max and --labels say. A shape is "NAME=RESOURCE=QUANTITY,...",
 * a Guaranteed pod of one container. 0; -EINVAL with one line (no name that an annotation can end in, a name
 * twice, a resource twice, a bad amount). `ret` is untouched on failure; else hints_config_release()
 * releases it.
 */
int stage_hints(const struct options *options, struct hints_config *ret, struct err *err);

/* What is to be published, as stage_hints(); `ret` is zeroed, and its hints are released as there. */
int stage_render(const struct options *options, struct render_config *ret, struct err *err);

/* What the flags say of the daemon itself; the rest of *ret stays. 0; -EINVAL with one line for a bad --http.
 */
int stage_daemon(const struct options *options, struct loop_config *ret, struct err *err);

struct check_config stage_check(const struct options *options, struct stage_lists *lists);
