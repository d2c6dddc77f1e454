/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the credentials for the API server, and when they expire. */
#include <errno.h>
#include <stdlib.h>

#include "agent/check/check.h"
#include "common/cleanup.h"

/* With a tolerance for a credential that was just issued by a clock slightly ahead of the local one. */
static bool is_early(const struct credential_expiry *expiry, int64_t now_s)
{
	return expiry->from_s > now_s && expiry->from_s - now_s > CHECK_EXPIRY_LEEWAY_S;
}

enum check_level check_expiry_level(const struct credential_expiry *expiry, bool renewed, int64_t now_s)
{
	bool lifetime_known = expiry->from_s != INT64_MIN && expiry->from_s < expiry->until_s;
	int64_t overdue_s; /* the renewal is overdue if less time is left */

	if (now_s >= expiry->until_s || is_early(expiry, now_s))
		return CHECK_FAIL;
	if (expiry->until_s == INT64_MAX)
		return CHECK_OK;
	if (!renewed)
		return expiry->until_s - now_s < CHECK_EXPIRY_WARN_S ? CHECK_WARN : CHECK_OK;
	if (!lifetime_known)
		return CHECK_OK;
	overdue_s = (expiry->until_s - expiry->from_s) / 100 * CHECK_EXPIRY_PERCENT;
	return expiry->until_s - now_s < overdue_s ? CHECK_WARN : CHECK_OK;
}

static const char *remedy_of_expiry(enum check_level level, bool early, bool renewed)
{
	if (level == CHECK_OK)
		return NULL;
	if (early)
		return "set the clock, or use another credential";
	if (renewed)
		return "it was not renewed: the kubelet renews a pod's token and a node's certificate";
	return "put a new one into the kubeconfig, or name a file that is renewed (tokenFile, client-certificate)";
}

static void report_expiry(struct check_report *report, const char *source,
	const struct credential_expiry *expiry, bool renewed, int64_t now_s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(256);
	enum check_level level = check_expiry_level(expiry, renewed, now_s);
	bool early = is_early(expiry, now_s), late = now_s >= expiry->until_s;
	time_t edge = (time_t)(early ? expiry->from_s : expiry->until_s);
	const char *what = "valid until";
	struct tm tm = {0};
	char stamp[32] = "";

	if (!early && expiry->until_s == INT64_MAX) {
		check_report_line(report, level, source, NULL, "valid without an expiry date", NULL);
		return;
	}
	gmtime_r(&edge, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (early)
		what = "not valid before";
	else if (late)
		what = "expired at";
	strbuf_addf(&text, "%s %s, ", what, stamp);
	check_duration(llabs((long long)edge - now_s), &text);
	strbuf_addstr(&text, late ? " ago" : " from now");
	check_report_line(report, level, source, late ? "expired" : NULL, text.text,
		remedy_of_expiry(level, early, renewed));
}

static void report_expiries(
	struct check_report *report, const struct api_access *access, const struct credentials_origin *origin)
{
	int64_t now_s = (int64_t)time(NULL);
	bool certificate_renewed = origin->certificate_file || origin->plugin;
	bool token_renewed = origin->token_file || origin->plugin;
	struct credential_expiry expiry;

	if (access->certificate && certificate_expiry(access->certificate, &expiry) == 0)
		report_expiry(report, "certificate", &expiry, certificate_renewed, now_s);
	else if (access->certificate)
		check_report_line(report, CHECK_FAIL, "certificate", "broken",
			"the client certificate is not PEM",
			"client-certificate must hold a text from BEGIN CERTIFICATE to END CERTIFICATE");
	/* Only a token that is a JSON Web Token says when it expires. */
	if (access->token && token_expiry(access->token, &expiry) == 0)
		report_expiry(report, "token", &expiry, token_renewed, now_s);
}

static const char *remedy_of_credentials(int r)
{
	switch (-r) {
	case EACCES:
	case EPERM:
		return "run as root, or let this user read it";
	case ENOENT:
	case ENOTDIR:
		return "name the right file by --kubeconfig; in a pod automountServiceAccountToken must not be false";
	case ETIMEDOUT:
	case EIO:
		return "run the credential plugin by hand: it must print an ExecCredential within 10 s";
	default:
		return "repair the file; kubectl config view --kubeconfig FILE shows what it holds";
	}
}

static const char *secret_of_context(const struct api_access *access, const struct credentials_origin *origin)
{
	if (origin->plugin)
		return "by a credential plugin";
	if (access->token)
		return "a token";
	return access->certificate ? "a client certificate" : "neither token nor certificate";
}

static void report_credentials(
	struct check_report *report, const struct api_access *access, const struct credentials_origin *origin)
{
	const char *path = origin->kubeconfig ? origin->kubeconfig : origin->token_file;
	struct check_item *item;

	if (origin->kubeconfig)
		item = check_report_add(report, CHECK_OK, "credentials", "context '%s', %s", origin->context,
			secret_of_context(access, origin));
	else
		item = check_report_add(report, CHECK_OK, "credentials", "%s",
			origin->token_file ? "the pod's service account" : "none");
	if (path) {
		item->state = "read";
		check_report_set(&item->path, "%s", path);
	}
}

bool check_credentials(
	const struct credentials_options *options, struct check_report *report, struct credentials **ret)
{
	CLEANUP(credentials_freep) struct credentials *c = NULL;
	struct credentials_origin origin;
	struct api_access access;
	struct err err = {""};
	int r = credentials_new(options, &c, &err);

	if (r == -ENOKEY) {
		check_report_line(report, CHECK_NOTE, "credentials", "absent",
			"none are given, so the API server is not checked; only run and diff require them",
			"give --kubeconfig FILE (on many nodes /etc/kubernetes/kubelet.conf), or run in a pod with a service account");
		return false;
	}
	if (r == 0)
		r = credentials_access(c, NULL, &access, &err);
	if (r < 0) {
		check_report_line(report, CHECK_FAIL, "credentials", check_state_of(r), err.text,
			remedy_of_credentials(r));
		return false;
	}
	credentials_origin(c, &origin);
	report_credentials(report, &access, &origin);
	report_expiries(report, &access, &origin);
	*ret = TAKE(c);
	return true;
}
