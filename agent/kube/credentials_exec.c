/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kube/credentials_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "agent/base/doc.h"
#include "agent/base/json.h"
#include "agent/base/timestamp.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define OUTPUT_MAX ((size_t)1 << 20)
#define SLICE_MS   20u /* how long a raised cancel flag may go unseen */

void exec_credential_release(struct exec_credential *c)
{
	free(c->token);
	free(c->certificate);
	free(c->key);
	*c = (struct exec_credential){.expires_s = INT64_MAX};
}

/* ---- what it printed */

static void take(const struct doc *status, const char *key, char **ret)
{
	const char *text = doc_string(doc_get(status, key));

	if (text && *text)
		text_set(ret, text);
}

int exec_credential_parse(
	const char *text, size_t len, const char *api_version, struct exec_credential *ret, struct err *err)
{
	struct exec_credential c = {.expires_s = INT64_MAX};
	CLEANUP(doc_release) struct doc output = DOC_INIT;
	const struct doc *status;
	const char *version, *kind, *expires;
	int r = json_parse(text, len, &output, NULL);

	if (r < 0)
		return err_set(err, r, "its output is not JSON");
	kind = doc_string(doc_get(&output, "kind"));
	version = doc_string(doc_get(&output, "apiVersion"));
	if (!kind || strcmp(kind, "ExecCredential") != 0 || !version || strcmp(version, api_version) != 0)
		return err_set(err, -EINVAL, "it printed no ExecCredential of %s", api_version);
	status = doc_get(&output, "status");
	expires = doc_string(doc_get(status, "expirationTimestamp"));
	if (expires && timestamp_parse(expires, &c.expires_s) < 0)
		return err_set(err, -EINVAL, "expirationTimestamp is not a time");
	take(status, "token", &c.token);
	r = 0;
	take(status, "clientCertificateData", &c.certificate);
	take(status, "clientKeyData", &c.key);
	if (!c.certificate != !c.key)
		r = err_set(err, -EINVAL, "it gave a certificate without key or a key without certificate");
	else if (!c.token && !c.certificate)
		r = err_set(err, -EINVAL, "it gave neither token nor certificate");
	if (r < 0) {
		exec_credential_release(&c);
		return r;
	}
	*ret = c;
	return 0;
}

/* ---- running it */

/* Whether `entry` ("NAME=VALUE") has the name of one of the list. */
static bool overridden(const char *entry, char *const *list, size_t n)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < n; i++)
		if (!strncmp(entry, list[i], len))
			return true;
	return false;
}

/* nrtd's environment without what the plugin's replaces, the plugin's, `info`. The array is the caller's, its
 * texts are not. */
static char **make_environment(const struct exec_config *config, char *info)
{
	size_t n = 0, at = 0;
	char **all;

	while (environ[n])
		n++;
	all = xcalloc(n + config->env.n_items + 2, sizeof(*all));
	for (size_t i = 0; i < n; i++)
		if (!overridden(environ[i], config->env.items, config->env.n_items) &&
			!overridden(environ[i], &info, 1))
			all[at++] = environ[i];
	for (size_t i = 0; i < config->env.n_items; i++)
		all[at++] = config->env.items[i];
	all[at] = info;
	return all;
}

static int spawn(const struct exec_config *config, char **argv, char **env, int output, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	sigemptyset(&none);
	sigfillset(&all);
	/* A group of its own, to be killed whole; signals as a fresh program expects them. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret, config->command, &actions, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int start(const struct exec_config *config, int output, pid_t *ret, struct err *err)
{
	CLEANUP(freep) char **argv = xcalloc(config->args.n_items + 2, sizeof(*argv));
	CLEANUP(freep) char **env = NULL;
	CLEANUP(freep) char *info = NULL;
	int r;

	info = xasprintf(
		"KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"spec\":{\"interactive\":false}}",
		config->api_version);
	if (info)
		env = make_environment(config, info);
	argv[0] = config->command;
	for (size_t i = 0; i < config->args.n_items; i++)
		argv[i + 1] = config->args.items[i];
	r = spawn(config, argv, env, output, ret);
	if (r < 0)
		return err_set(err, r, "%s%s%s", strerror(-r), config->install_hint ? "; " : "",
			config->install_hint ? config->install_hint : "");
	return 0;
}

/* Wait until the pipe has something or the other side is gone. 1 = it has; 0 = look at the clock again. */
static int wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, SLICE_MS);

	return n < 0 && errno != EINTR ? -errno : n > 0;
}

/* Read the pipe to its end. */
static int collect(int fd, int64_t deadline, const atomic_bool *cancel, struct strbuf *out, struct err *err)
{
	char chunk[4096];

	for (;;) {
		ssize_t n;
		int r = wait_readable(fd);

		if (r < 0)
			return err_set(err, r, "%s", strerror(-r));
		if (cancel && atomic_load(cancel))
			return err_set(err, -ECANCELED, "cancelled");
		if (clock_ms(CLOCK_MONOTONIC) >= deadline)
			return err_set(err, -ETIMEDOUT, "no answer in time");
		if (r == 0)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (n == 0)
			return 0;
		strbuf_add(out, chunk, (size_t)n);
		if (strbuf_error(out) < 0)
			return err_set(err, strbuf_error(out), "it prints too much");
	}
}

/* Wait for the end of the process itself, which may come after that of its output. */
static int reap(pid_t pid, int64_t deadline, const atomic_bool *cancel, int *ret_status, struct err *err)
{
	const struct timespec slice = {.tv_nsec = (long)SLICE_MS * 1000000 / 10};

	for (;;) {
		pid_t done = waitpid(pid, ret_status, WNOHANG);

		if (done == pid)
			return 0;
		if (done < 0 && errno != EINTR)
			return err_set(err, -errno, "cannot wait for it: %s", strerror(errno));
		if (cancel && atomic_load(cancel))
			return err_set(err, -ECANCELED, "cancelled");
		if (clock_ms(CLOCK_MONOTONIC) >= deadline)
			return err_set(err, -ETIMEDOUT, "it did not end in time");
		nanosleep(&slice, NULL);
	}
}

static int check_status(int status, struct err *err)
{
	if (WIFSIGNALED(status))
		return err_set(err, -EIO, "ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(err, -EIO, "failed with exit status %d", WEXITSTATUS(status));
	return 0;
}

static int run(const struct exec_config *config, unsigned deadline_ms, const atomic_bool *cancel,
	struct strbuf *output, struct err *err)
{
	CLEANUP(closep) int from = -1;
	int64_t deadline = clock_ms(CLOCK_MONOTONIC) + deadline_ms;
	int pipe_fds[2], status = 0, r;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	from = pipe_fds[0];
	r = start(config, pipe_fds[1], &pid, err);
	close(pipe_fds[1]);
	if (r < 0)
		return r;
	r = collect(from, deadline, cancel, output, err);
	if (r == 0)
		r = reap(pid, deadline, cancel, &status, err);
	if (r < 0) {
		kill(-pid, SIGKILL);
		(void)TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
		return r;
	}
	return check_status(status, err);
}

int exec_credential_run(const struct exec_config *config, unsigned deadline_ms, const atomic_bool *cancel,
	struct exec_credential *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT(OUTPUT_MAX);
	int r = run(config, deadline_ms, cancel, &output, err);

	if (r == 0)
		r = exec_credential_parse(output.text, output.len, config->api_version, ret, err);
	return r < 0 ? err_wrap(err, r, "credential plugin '%.100s'", config->command) : 0;
}
