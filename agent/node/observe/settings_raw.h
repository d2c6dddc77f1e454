/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Kubelet settings as they are written, before anybody judges them: one document value and its origin for
 * each setting. Configuration files, drop-ins and flags are laid over one another here, by the kubelet's own
 * rules (cmd/kubelet/app/server.go, component-base/cli/flag), and settings_convert() makes values of the
 * result.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "common/err.h"
#include "common/notes.h"
#include "common/settings.h"

struct settings_raw {
	struct doc values[SETTING_COUNT]; /* shaped as KubeletConfiguration's field; DOC_NULL = not given */
	char *from[SETTING_COUNT];        /* NULL = not given */
	char *unknown_field;              /* the first field that no kubelet is known to have, or NULL */
	char *unknown_field_from;
};

void settings_raw_init(struct settings_raw *raw);
void settings_raw_release(struct settings_raw *raw);

/* The setting of a flag ("cpu_manager_policy" is the same to the kubelet), or -1. */
int settings_flag_find(const char *name, size_t len);

/*
 * Take a flag's text as its setting's value. Maps ("k=v,k=v", "k<v" for eviction-hard) and reserved-memory
 * ("0:memory=1Gi;1:...") add to what earlier flags in `raw` gave, anything else replaces it. 0; -EINVAL
 * (malformed, the error begins with `from`). `raw` keeps what it had on failure, or a part of the
 * map.
 */
int settings_raw_flag(
	struct settings_raw *raw, enum setting what, const char *text, const char *from, struct err *err);

/*
 * Lay a KubeletConfiguration's fields over what is there. A field of `config` replaces; in a drop-in maps are
 * merged key by key, and null takes a field or a key away (RFC 7396, as the kubelet merges). 0, -EINVAL.
 */
int settings_raw_merge(
	struct settings_raw *raw, const struct doc *config, bool drop_in, const char *from, struct err *err);

/*
 * The kubelet's default thresholds where no evictionHard is given; where one is, those that it does not set
 * if `merge` (mergeDefaultEvictionSettings). The kubelet does this between its configuration file and the
 * drop-ins.
 */
int settings_raw_default_eviction(struct settings_raw *raw, bool merge, struct err *err);

/*
 * Lay flags over configuration: what `over` has replaces what `raw` has, but featureGates are merged gate by
 * gate. `over` is empty afterwards.
 */
int settings_raw_overlay(struct settings_raw *raw, struct settings_raw *over, struct err *err);

#define SETTINGS_KUBELET_DEFAULT  "kubelet default"
#define SETTINGS_EVICTION_DEFAULT "100Mi" /* memory.available */

/*
 * Make settings of the values. Where one is not given it is the kubelet's default (from = "kubelet default")
 * if `defaults`, else unknown. Options that this version does not know are noted and kept in the text. 0;
 * -EINVAL with "FROM: FIELD: what is wrong". `ret` must be as after settings_init() and is untouched
 * on failure.
 */
int settings_convert(const struct settings_raw *raw, bool defaults, struct settings *ret, struct notes *notes,
	struct err *err);
