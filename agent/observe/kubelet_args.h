/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the kubelet's command line: from the words of a process, from the environment files of systemd units,
 * from the argument lists of distributions that run the kubelet within another process.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/observe/kubelet_config.h"
#include "common/vec.h"

struct kubelet_args {
	struct kubelet_config flags;
	/* --config, --config-dir, --root-dir, --hostname-override as written; NULL = not given. */
	char *config, *config_dir, *root_dir, *hostname;
	char *hostname_from; /* "--hostname-override of kubelet (pid 7)"; NULL = no hostname */
};

void kubelet_args_release(struct kubelet_args *a);

/*
 * Add the flags among `words` ("--k=v", or "--k" and "v"); later flags override earlier flags; flags without
 * a setting are skipped. `source` is where the words come from, for errors and origins: "kubelet (pid 7)". 0;
 * -EINVAL (a flag without its value, or malformed).
 */
int kubelet_args_add(struct kubelet_args *a, const char *const *words, size_t n_words, const char *source,
	struct err *err);

/*
 * Whether a kubelet with these words runs as a server: one of its flags is a configuration, a kubeconfig, a
 * manifest, a root directory, or a setting, and none of them only prints something (--version, --help).
 */
bool kubelet_args_start_server(const char *const *words, size_t n_words);

/*
 * The value of the flag `name` at the first of `n_words` words: that of "--name=value", or the second word. NULL if the first word is
 * another one or the value is missing. As for Go's flag package, one dash suffices.
 */
const char *kubelet_args_flag_value(const char *const *words, size_t n_words, const char *name);

/* Add the words of each variable "NAME=value" whose name contains KUBELET_, in their order. */
int kubelet_args_add_variables(
	struct kubelet_args *a, const struct strv *variables, const char *source, struct err *err);

/* As kubelet_args_add_variables(), of an environment file as systemd reads it. */
int kubelet_args_add_env(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);

/*
 * Add from a file of arguments as MicroK8s' kubelite reads it (options.ReadArgsFromFile()): separated by blanks, "#" begins a comment line,
 * quotes mean nothing. `variables` are pairs of a name and the value that replaces ${NAME} or $NAME in the file; NULL ends the pairs.
 */
int kubelet_args_add_file(struct kubelet_args *a, const char *text, size_t len, const char *const *variables,
	const char *source, struct err *err);
