/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the API server is and who nrtd is to it: a kubeconfig file or the service account of a pod. What
 * files hold is read again when they change, so that rotated tokens and certificates are taken up without a
 * restart.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* How to reach the API server. All texts are owned by the struct credentials that it came from. */
struct api_access {
	const char *server;          /* "https://10.0.0.1:6443/prefix", without a slash at the end */
	const char *ca;              /* PEM certificates to trust; NULL = those of the system */
	const char *certificate;     /* PEM client certificate, or NULL */
	const char *key;             /* PEM key of it, or NULL */
	const char *token;           /* bearer token, or NULL */
	const char *tls_server_name; /* name to check the server's certificate against; NULL = the URL's */
	const char *proxy;           /* URL of the proxy; NULL = as the environment says */
	uint64_t generation;         /* another number whenever any of the above is another */
};

struct credentials_options {
	const char *api_server; /* --api-server: URL that replaces the one found; NULL = as found */
	const char *kubeconfig; /* --kubeconfig: file; NULL = as below */
	const char *context;    /* --context; NULL = the file's current-context */
};

struct credentials;

/*
 * Find the credentials: the file `kubeconfig`; else the first file of the list $KUBECONFIG that exists (files
 * of a list are not merged); else the service account of the pod this runs in, when KUBERNETES_SERVICE_HOST
 * is set. ~/.kube/config is not looked at: a daemon does not act with a person's rights unless asked to.
 *
 * *ret is the caller's, to be freed by credentials_free(). 0; -ENOKEY when there are none; -EINVAL for a
 * file that is wrong or uses what is not supported; what reading files gives.
 */
int credentials_new(const struct credentials_options *options, struct credentials **ret, struct err *err);
void credentials_free(struct credentials *c);

static inline void credentials_freep(struct credentials **c)
{
	credentials_free(*c);
	*c = NULL;
}

/*
 * What holds now: files that changed are read again, a credential plugin is run when what it gave is expired
 * or was refused. Running one ends early with -ECANCELED when *cancel becomes true (`cancel` may be NULL).
 * *ret is valid until the next call. 0; -ETIMEDOUT (plugin); -EINVAL and what reading files gives, `ret` then
 * untouched.
 */
int credentials_access(
	struct credentials *c, const atomic_bool *cancel, struct api_access *ret, struct err *err);

/* Where they come from, for a person; names only, owned by the struct credentials. NULL = no such thing. */
struct credentials_origin {
	const char *kubeconfig, *context; /* NULL: a pod's service account, or only an --api-server */
	const char *certificate_file;     /* where others renew what it holds */
	const char *token_file;
	const char *plugin; /* command of the credential plugin */
};

/* Valid until the next credentials_access(). */
void credentials_origin(const struct credentials *c, struct credentials_origin *ret);

/* The API server refused them (401): the next credentials_access() reads every file and runs the plugin again.
 */
void credentials_refused(struct credentials *c);
