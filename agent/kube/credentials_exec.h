/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Credential plugins: programs that print a token or a certificate, named in kubeconfig files. They speak
 * client.authentication.k8s.io/v1 or v1beta1. Depends on agent/kube/credentials_config.h, agent/base/json.h and
 * common/.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>

#include "agent/kube/credentials_config.h"
#include "common/err.h"

#define EXEC_DEADLINE_MS 10000u

/* What a plugin gave. Owned texts, NULL = not given. */
struct exec_credential {
	char *token;
	char *certificate, *key; /* PEM; both or none */
	int64_t expires_s;       /* seconds since 1970, INT64_MAX = it does not say */
};

void exec_credential_release(struct exec_credential *c);

/*
 * Read what a plugin printed: an ExecCredential of the version it was asked for with a status that holds a
 * token or a certificate with its key. 0; -EINVAL with one line, in which nothing of the output is quoted.
 */
int exec_credential_parse(
	const char *text, size_t len, const char *api_version, struct exec_credential *ret, struct err *err);

/*
 * Run the plugin, with no terminal and nothing on its standard input; what it writes to stderr goes to
 * nrtd's. It and what it started (its process group) are killed when `deadline_ms` have passed (-ETIMEDOUT)
 * or *cancel becomes true
 * (-ECANCELED; `cancel` may be NULL). 0; -ENOENT when there is no such command; -EIO when it failed; as
 * exec_credential_parse(). *ret is the caller's, untouched on failure.
 */
int exec_credential_run(const struct exec_config *config, unsigned deadline_ms, const atomic_bool *cancel,
	struct exec_credential *ret, struct err *err);
