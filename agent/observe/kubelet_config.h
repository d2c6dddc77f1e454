/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Merges the kubelet's configuration file, drop-ins and flags, and converts them into struct settings. The
 * rules are the kubelet's own (cmd/kubelet/app/server.go, component-base/cli/flag).
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/settings.h"
#include "common/vec.h"

/* The settings as written, before any check: one document value and its origin per setting. Zeroed is
 * empty. */
struct kubelet_config {
	struct doc values[SETTING_COUNT]; /* shaped as KubeletConfiguration's field; DOC_NULL = not given */
	char *from[SETTING_COUNT];        /* NULL = not given */
	/* Fields of drop-ins whose names are those of settings in other case, and the drop-in of each; empty after kubelet_config_end_drop_ins() */
	struct doc others, other_from;
	struct strv fields;  /* the names of all fields */
	char *unknown_field; /* the first field that no kubelet is known to have, or NULL */
	char *unknown_field_from;
};

void kubelet_config_release(struct kubelet_config *config);

/* ---- files */

/*
 * Merge the KubeletConfiguration in a text (YAML or JSON, distinguished by content) into `config`, as the
 * configuration file (with evictionHard's defaults) or as a drop-in. A field replaces the earlier value; in
 * a drop-in maps are merged key by key, and null removes a field or a key (RFC 7396, as the kubelet
 * merges). Fields without a setting are ignored. 0; -EINVAL when it is not a KubeletConfiguration of
 * kubelet.config.k8s.io/v1beta1. Errors begin with `from`.
 */
int kubelet_config_parse(const char *text, size_t len, bool drop_in, const char *from,
	struct kubelet_config *config, struct err *err);

/*
 * To be called after the last drop-in. The kubelet ignores the case of a drop-in's fields, and of several spellings the one that sorts last
 * counts, because it sorts the merged fields and decodes them by encoding/json. 0 or -EINVAL.
 */
int kubelet_config_end_drop_ins(struct kubelet_config *config, struct err *err);

/* As kubelet_config_parse(), of the configuration file at root + path; from = path. -ENOENT, ... as fs_read(). */
int kubelet_config_read(const char *root, const char *path, struct kubelet_config *config, struct err *err);

/*
 * Merge the drop-ins of the directory root + dir: the files whose names end in ".conf", sub-directories
 * included, in lexical order, as filepath.WalkDir walks them. A symbolic link to a directory has no drop-ins, unless
 * `dir` ends with a slash. A bad file is an error, as for the kubelet, and so is a directory that cannot be read.
 * `files` gets the paths below `root` of the files and of the directories: a directory's time shows that a file came
 * or went. 0 or -errno.
 */
int kubelet_config_read_dropins(const char *root, const char *dir, struct kubelet_config *config,
	struct strv *files, struct err *err);

/* Set what differs without a configuration file: the kubelet has no hard eviction thresholds then. 0 or -EINVAL. */
int kubelet_config_without_file(struct kubelet_config *config, struct err *err);

/* ---- flags */

/* The setting of a flag, or -1. Accepts "cpu_manager_policy" for "cpu-manager-policy" as the kubelet does. */
int kubelet_config_find_flag(const char *name, size_t len);

/*
 * Set a setting from a flag's text. Maps ("k=v,k=v", "k<v" for eviction-hard) and reserved-memory
 * ("0:memory=1Gi;1:...") add to the values of earlier flags in `config`; other values replace them. 0;
 * -EINVAL (malformed, the error begins with `from`): `config` then keeps its value, or a part of the map.
 */
int kubelet_config_set_flag(struct kubelet_config *config, enum setting what, const char *text,
	const char *from, struct err *err);

/*
 * Apply flags to the configuration: a value in `flags` replaces the value in `config`, except featureGates,
 * which are merged gate by gate. 0, and `flags` is empty; or -errno with one line for gates that cannot be merged: both are
 * only to be released then.
 */
int kubelet_config_overlay(struct kubelet_config *config, struct kubelet_config *flags, struct err *err);

/* ---- settings_convert.c */

#define SETTINGS_KUBELET_DEFAULT "kubelet default"

/*
 * Convert the values. A setting that is not given becomes the kubelet's default (from = "kubelet default")
 * if `defaults`, else unknown. Options that this version does not know are noted and kept in the text. 0;
 * -EINVAL with "FROM: FIELD: what is wrong". `ret` must be as after settings_init() and is untouched on
 * failure.
 */
int settings_convert(const struct kubelet_config *config, bool defaults, struct settings *ret,
	struct notes *notes, struct err *err);

/* ---- settings_release.c */

/*
 * Notes the feature gates that no kubelet release has, and sets s->unknown_feature_gate. `gates` is a map of
 * booleans, or NULL; `from` is where it was read.
 */
void settings_check_gates(struct settings *s, const struct doc *gates, const char *from, struct notes *notes);

/*
 * Sets the kubelet's release, and what follows from it: without the memory manager (feature gate
 * MemoryManager) its policy is None. Notes a release that is newer than the newest compared release, and
 * feature gates and fields that this release does not have: they cannot change a decision.
 */
void settings_apply_release(struct settings *s, struct kubelet_release release, struct notes *notes);
