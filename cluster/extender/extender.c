/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/extender.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cluster/extender/nominator.h"
#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/kube/lease.h"
#include "common/kube/reflector.h"
#include "common/log.h"
#include "common/text.h"

#define TICK_MS      1000u
#define RENEW_MS     10000u             /* interval of checking the TLS files for changes */
#define TRIM_MS      60000u             /* interval of returning free memory to the kernel */
#define IDLE_SECONDS 120u               /* longer than the 90 s of Go's HTTP clients */
#define BODY_MAX     ((size_t)64 << 20) /* 5000 whole Node objects */
#define VICTIMS_MS   100u               /* longer than the delay between two watches of Pods, usually */
#define WORK_MS      50u                /* CPU time per request for WORK_NODES nodes */

/* API paths by kind. */
static const char *const paths[CLUSTER_KINDS] = {"/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
	"/api/v1/nodes", "/api/v1/pods", "/apis/policy/v1/poddisruptionbudgets"};

/* The watch of one kind, which fills the cluster. */
struct watch {
	struct extender *extender;
	struct server *server;
	enum object_kind kind;
	struct reflector *reflector;
};

struct extender {
	const struct extender_config *config;
	struct server *server;
	struct watch watches[CLUSTER_KINDS];
	struct lease *lease;
	pthread_t lease_thread; /* slow requests about the Lease must not delay signals */
	bool has_lease_thread;
	int wake_fd, timer_fd; /* end the lease thread's wait: an eventfd, and a timer of CLOCK_BOOTTIME */
	bool lease_failed;     /* the last step failed, and the failure is logged */
	char *holder;          /* the lease's holder, as last logged */
	struct nominator *nominator; /* NULL = --nominate=off */
	struct http_server *http;
	_Atomic int64_t certificate_until_s; /* notAfter of the serving certificate; 0 = no TLS */
	struct cancel cancel;                /* ends the requests to the API server and the lease thread */
};

static void wake_lease_thread(struct extender *x)
{
	if (x->wake_fd >= 0)
		(void)eventfd_write(x->wake_fd, 1);
}

/* Cancellation must be requested. */
static void stop_lease_thread(struct extender *x)
{
	if (x->has_lease_thread)
		thread_join(x->lease_thread);
	x->has_lease_thread = false;
}

/* Stops all threads that call the server, then frees the server. */
static void extender_release(struct extender *x)
{
	cancel_request(&x->cancel);
	http_server_free(x->http);
	nominator_free(x->nominator);
	stop_lease_thread(x);
	for (size_t k = 0; k < CLUSTER_KINDS; k++)
		reflector_free(x->watches[k].reflector);
	lease_free(x->lease);
	server_free(x->server);
	closep(&x->wake_fd);
	closep(&x->timer_fd);
	cancel_release(&x->cancel);
	free(x->holder);
}

/* ---- events */

static int on_begin(void *ctx)
{
	struct watch *watch = ctx;

	server_list_begin(watch->server, watch->kind);
	return 0;
}

static int on_object(void *ctx, struct doc *object)
{
	struct watch *watch = ctx;

	server_update(watch->server, watch->kind, object);
	return 0;
}

static int on_deleted(void *ctx, struct doc *object)
{
	struct watch *watch = ctx;

	server_delete(watch->server, watch->kind, object);
	return 0;
}

static void on_skip(void *ctx, const struct err *why)
{
	struct watch *watch = ctx;

	server_skip(watch->server, watch->kind, why);
}

static int on_end(void *ctx, const char *version)
{
	struct watch *watch = ctx;

	server_list_end(watch->server, watch->kind, resource_version_parse(version));
	wake_lease_thread(watch->extender);
	return 0;
}

static void on_alive(void *ctx)
{
	struct watch *watch = ctx;

	replica_note_alive(server_replica(watch->server), watch->kind);
}

static const struct reflector_events events = {.begin = on_begin,
	.object = on_object,
	.deleted = on_deleted,
	.skip = on_skip,
	.end = on_end,
	.alive = on_alive};

/* ---- start */

static int watch_all(struct extender *x, struct err *err)
{
	int r = 0;

	for (size_t k = 0; k < CLUSTER_KINDS && r == 0; k++) {
		const struct reflector_options options = {.path = paths[k]};

		x->watches[k] =
			(struct watch){.extender = x, .server = x->server, .kind = (enum object_kind)k};
		r = reflector_new(&options, &x->config->credentials, &events, &x->watches[k], &x->cancel,
			&x->watches[k].reflector, err);
	}
	return r;
}

/* ---- the lease */

/* The URL at which other hosts reach this replica. False if it is unknown: the replica listens on all addresses or on
 * loopback, and --advertise is not set. */
static bool find_url(const struct extender_config *c, char *ret, size_t size)
{
	const char *address = c->advertise ? c->advertise : c->http.address;
	bool v6 = strchr(address, ':');

	if (!c->advertise && (!strcmp(address, "0.0.0.0") || !strcmp(address, "::") ||
				     !strncmp(address, "127.", 4) || !strcmp(address, "::1")))
		return false;
	snprintf(ret, size, "%s://%s%s%s:%u", c->tls.certificate ? "https" : "http", v6 ? "[" : "", address,
		v6 ? "]" : "", c->http.port);
	return true;
}

static void annotate_lease(void *data, const struct doc *before, struct doc *ret)
{
	const struct extender *x = data;

	replica_annotate_lease(server_replica(x->server), before, ret);
}

/* The identity is unique per process: the host name (in a pod: the pod's name) and a random number. */
static int open_lease(struct extender *x, struct err *err)
{
	char host[HOST_NAME_MAX + 1] = "", identity[HOST_NAME_MAX + 24], url[INET6_ADDRSTRLEN + 24];
	const struct lease_options options = {.namespace = x->config->lease_namespace,
		.name = x->config->lease_name,
		.identity = identity,
		.url = find_url(x->config, url, sizeof(url)) ? url : NULL,
		.annotate = annotate_lease,
		.annotate_data = x};
	uint64_t number;

	if (!x->config->lease_name)
		return 0;
	if (gethostname(host, sizeof(host) - 1) < 0 ||
		getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_set(err, -errno, "cannot make an identity for the lease: %s", strerror(errno));
	x->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	x->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (x->wake_fd < 0 || x->timer_fd < 0)
		return err_set(err, -errno, "cannot wait for the lease: %s", strerror(errno));
	snprintf(identity, sizeof(identity), "%s_%016" PRIx64, host, number);
	return lease_new(&options, &x->config->credentials, &x->cancel, &x->lease, err);
}

/* One step of the election: read or write the Lease. Logs who leads and tells the server. Returns the time of the next step, as wait_for_lease(). */
static int64_t renew_lease(struct extender *x)
{
	struct lease_state state;
	struct err err = {""};
	int r = lease_step(x->lease, &state, &err);

	if (r == -ECANCELED)
		return state.call_again_ms;
	/* One line per failure and one per recovery, not one per attempt. */
	if (r < 0 && !x->lease_failed)
		log_warning("%s", err.text);
	if (r == 0 && x->lease_failed)
		log_info("the lease '%s' can be read and written again", x->config->lease_name);
	x->lease_failed = r < 0;
	if (*state.holder && (!x->holder || strcmp(x->holder, state.holder) != 0))
		log_info("the lease '%s' is held by '%s'%s", x->config->lease_name, state.holder,
			state.held ? " (this replica)" : "");
	text_set(&x->holder, state.holder);
	replica_set_leader(server_replica(x->server), state.holder, state.url);
	return state.call_again_ms;
}

/* Waits until wake_lease_thread() is called, cancellation is requested, or `at_ms` of CLOCK_BOOTTIME; 0 = no time limit. */
static void wait_for_lease(const struct extender *x, int64_t at_ms)
{
	const struct itimerspec at = {
		.it_value = {.tv_sec = at_ms / 1000, .tv_nsec = (long)(at_ms % 1000) * 1000000}};
	struct pollfd fds[] = {{.fd = x->wake_fd, .events = POLLIN}, {.fd = x->timer_fd, .events = POLLIN},
		{.fd = x->cancel.fd, .events = POLLIN}};
	eventfd_t ignored;

	timerfd_settime(x->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	(void)poll(fds, ARRAY_SIZE(fds), -1);
	(void)eventfd_read(x->wake_fd, &ignored);
}

/* The first step waits for complete lists: a replica without lists must not hold the lease. */
static void *run_lease(void *arg)
{
	struct extender *x = arg;
	int64_t next = 0;

	while (!cancel_requested(&x->cancel)) {
		bool has_lists = replica_has_lists(server_replica(x->server));

		if (has_lists && clock_ms(CLOCK_BOOTTIME) >= next)
			next = renew_lease(x);
		wait_for_lease(x, has_lists ? next : 0);
	}
	return NULL;
}

static int start_lease_thread(struct extender *x, struct err *err)
{
	int r = thread_start(&x->lease_thread, run_lease, x);

	x->has_lease_thread = r == 0;
	return r < 0 ? err_set(err, r, "cannot start the thread of the Lease: %s", strerror(-r)) : 0;
}

/* ---- the server's callbacks */

static bool is_healthy(void *ctx, struct strbuf *line)
{
	(void)ctx;
	strbuf_addstr(line, "ok");
	return true;
}

static bool is_ready(void *ctx, struct strbuf *line)
{
	const struct extender *x = ctx;

	return replica_ready(server_replica(x->server), line);
}

static int print_metrics(void *ctx, struct strbuf *text)
{
	struct extender *x = ctx;
	struct reflector_counts watches[CLUSTER_KINDS];
	struct metrics_source from = {.certificate_until_s = atomic_load(&x->certificate_until_s)};

	for (size_t k = 0; k < CLUSTER_KINDS && !x->config->nrt; k++)
		reflector_counts(x->watches[k].reflector, &watches[k]);
	if (!x->config->nrt)
		from.watches = watches;
	return server_metrics(x->server, &from, text);
}

static int on_post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	const struct extender *x = ctx;

	return server_post(x->server, path, body, len, reply);
}

static void on_forbidden(void *ctx, const char *path, const char *address, const char *problem)
{
	const struct extender *x = ctx;

	server_forbidden(x->server, path, address, problem);
}

static bool is_loopback(const char *address)
{
	return !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

static int serve(struct extender *x, struct err *err)
{
	static const struct http_callbacks callbacks = {.healthy = is_healthy,
		.ready = is_ready,
		.metrics = print_metrics,
		.post = on_post,
		.forbidden = on_forbidden};
	const struct http_listen *at = &x->config->http;
	const struct http_options options = {.tls = x->config->tls,
		.idle_seconds = IDLE_SECONDS,
		.body_max = BODY_MAX,
		.posts = "/filter, /prioritize, /preempt, /v1/choose, /v1/admit and /v1/forget"};
	int r = http_server_start(at->address, at->port, &options, &callbacks, x, &x->http, err);

	if (r < 0)
		return r;
	atomic_store(&x->certificate_until_s, http_server_certificate_until(x->http));
	if (!x->config->tls.certificate && !is_loopback(at->address))
		log_warning(
			"any client that reaches %s may send requests and read node names: restrict clients with --tls-cert and --tls-client-ca",
			at->address);
	log_info("listening on %s port %u", at->address, http_server_port(x->http));
	return 0;
}

static int start(struct extender *x, struct err *err)
{
	struct server_config server = x->config->server;
	int r = open_lease(x, err);

	if (r < 0)
		return r;
	server.work_ms = WORK_MS;
	server.victims_ms = VICTIMS_MS;
	server_new(&server, x->lease, &x->server);
	if (x->config->nrt)
		r = server_load(x->server, x->config->nrt, err);
	else
		r = watch_all(x, err);
	if (r == 0 && server.nominate)
		r = nominator_new(x->server, &x->config->credentials, &x->cancel, &x->nominator, err);
	if (r == 0)
		r = serve(x, err);
	return r < 0 || !x->lease ? r : start_lease_thread(x, err);
}

/* ---- main loop */

/* Waits for at most `ms`; true if a signal asks the process to end. */
static bool wait_for_signal(uint64_t ms)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	sigset_t signals;
	int got;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	got = sigtimedwait(&signals, NULL, &timeout);
	return got == SIGTERM || got == SIGINT;
}

static void renew_tls(struct extender *x)
{
	struct err err = {""};
	int r = http_server_renew(x->http, &err);

	if (r > 0) {
		atomic_store(&x->certificate_until_s, http_server_certificate_until(x->http));
		log_info("using the new certificate");
	} else if (r < 0) {
		log_warning("%s; still using the old certificate", err.text);
	}
}

static void run(struct extender *x)
{
	uint64_t renewed = 0, trimmed = 0;

	do {
		uint64_t now = (uint64_t)clock_ms(CLOCK_MONOTONIC);

		if (now >= renewed + RENEW_MS) {
			renew_tls(x);
			renewed = now;
		}
		if (now >= trimmed + TRIM_MS) {
			malloc_trim(0);
			trimmed = now;
		}
		replica_tick(server_replica(x->server));
		server_tick(x->server);
	} while (!wait_for_signal(TICK_MS));
}

int extender_run(const struct extender_config *config, struct err *err)
{
	CLEANUP(extender_release)
	struct extender x = {.config = config, .cancel = CANCEL_INIT, .wake_fd = -1, .timer_fd = -1};
	struct err ignored = {""};
	int r = cancel_init(&x.cancel);

	if (r < 0)
		return err_set(err, r, "cannot create a pipe: %s", strerror(-r));
	r = start(&x, err);
	if (r < 0)
		return r;
	run(&x);
	cancel_request(&x.cancel);
	stop_lease_thread(&x);
	if (x.lease && lease_step_down(x.lease, &ignored) < 0)
		log_warning("cannot release the lease: %s", ignored.text);
	return 0;
}
