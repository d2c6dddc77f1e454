/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/cleanup.h"

static atomic_uint threads;

int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	/* The new thread inherits the mask, so that only the starting thread receives signals. */
	sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0) {
		atomic_fetch_add(&threads, 1);
		r = pthread_create(ret, NULL, fn, arg);
		if (r != 0)
			atomic_fetch_sub(&threads, 1);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	return -r;
}

void thread_join(pthread_t thread)
{
	pthread_join(thread, NULL);
	atomic_fetch_sub(&threads, 1);
}

bool thread_any(void)
{
	return atomic_load(&threads) > 0;
}

int thread_pipe(int fds[2])
{
	if (pipe(fds) < 0)
		return -errno;
	fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	fcntl(fds[1], F_SETFD, FD_CLOEXEC);
	return 0;
}

int cancel_init(struct cancel *c)
{
	int fds[2], r = thread_pipe(fds);

	if (r < 0)
		return r;
	*c = (struct cancel){.fd = fds[0], .write_fd = fds[1]};
	return 0;
}

void cancel_release(struct cancel *c)
{
	closep(&c->fd);
	closep(&c->write_fd);
}

void cancel_request(struct cancel *c)
{
	atomic_store(&c->requested, true);
	(void)!write(c->write_fd, "", 1);
}

bool cancel_requested(const struct cancel *c)
{
	return c && atomic_load(&c->requested);
}

int cancel_poll(const struct cancel *c, int fd, short events, int ms)
{
	struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = c ? c->fd : -1, .events = POLLIN}};

	if (poll(fds, 2, ms) >= 0)
		return fds[0].revents;
	return errno == EINTR ? 0 : -errno;
}

static int mask_daemon_signals(int how)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	return -pthread_sigmask(how, &signals, NULL);
}

int signals_hold(void)
{
	return mask_daemon_signals(SIG_BLOCK);
}

int signals_release(void)
{
	return mask_daemon_signals(SIG_UNBLOCK);
}
