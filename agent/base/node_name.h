/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The Node's name. */
#include "common/err.h"

/* 0 when `name` can name a Node: a DNS-1123 subdomain, at most 253 bytes. Else -EINVAL. */
int node_name_check(const char *name, struct err *err);

/*
 * `given` (the flag) where not NULL, else NODE_NAME, else the host name in lower case, as the kubelet makes
 * it. *ret_name is a new string the caller owns. -EINVAL for a name no Node can have; untouched on failure.
 */
int node_name_find(const char *given, char **ret_name, struct err *err);
