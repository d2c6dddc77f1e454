/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's configuration files: KubeletConfiguration as YAML or JSON, distinguished by content, and
 * drop-ins.
 */
#include <stddef.h>

#include "agent/node/observe/settings_raw.h"
#include "common/strv.h"

/*
 * Lay the KubeletConfiguration in a text over `raw`, as the configuration file (evictionHard's defaults with
 * it) or as a drop-in. Fields without a setting are ignored. 0; -EINVAL when it is not a
 * KubeletConfiguration of kubelet.config.k8s.io/v1beta1. Errors begin with `from`.
 */
int settings_file_parse(const char *text, size_t len, bool drop_in, const char *from,
	struct settings_raw *raw, struct err *err);

/* The same for the configuration file at root + path; from = path. -ENOENT, ... as fs_read(). */
int settings_file_read(const char *root, const char *path, struct settings_raw *raw, struct err *err);

/*
 * Lay the drop-ins of the directory root + dir over `raw`: the files whose names end in ".conf",
 * sub-directories included, in lexical order, as filepath.WalkDir walks them. A bad file is an error, as for
 * the kubelet, and so is a directory that cannot be read. `files` (NULL = nobody wants to know) gets the paths
 * below `root` of the files and of the directories, whose times say that a file came or went. 0 or -errno.
 */
int settings_dropins_read(
	const char *root, const char *dir, struct settings_raw *raw, struct strv *files, struct err *err);
