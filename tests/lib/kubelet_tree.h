/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Trees with a kubelet's configuration, and what settings_find() finds in them.
 */
#include "agent/observe/settings_find.h"

#define KUBELET_CONFIG_HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

struct test_tree_file {
	const char *path, *text;
};

/* Until a file without a path. */
void test_write_tree(const char *dir, const struct test_tree_file *files);

/* Everything found (`only` NULL) or some settings, "root DIR\n" and notes behind it; or the error, without the
 * tree's own path. `overrides` may be NULL. */
void test_check_find(const char *what, const char *dir, const struct settings_overrides *overrides,
	const enum setting *only, size_t n_only, const char *want);

/* The policies of the CPU manager and the Topology Manager alone. */
void test_check_policies(
	const char *what, const char *dir, const struct settings_overrides *overrides, const char *want);
