/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_name: finds and checks the name of this host's Node object. Depends on common/ only. */
#include "common/err.h"

/* 0 when `name` is a valid Node name: a DNS-1123 subdomain of at most 253 bytes. Otherwise -EINVAL. */
int node_name_check(const char *name, struct err *err);

/*
 * Find the Node name: `given` (the flag), otherwise the environment variable NODE_NAME, otherwise the host
 * name in lower case, as the kubelet does. *ret_name is a new string that the caller owns. 0; -EINVAL: not a
 * valid Node name; -errno of gethostname(2). *ret_name is untouched on failure.
 */
int node_name_find(const char *given, char **ret_name, struct err *err);
