/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that stops the clocks of a program, so that two programs see the same time.
 *
 * FROZEN_CLOCK is a Unix time in milliseconds, or the path of a file with struct shared_clock, by which another process sets the time.
 * CPU time is always 0. With a Unix time, a program that sleeps continues at once, and its clocks show the later time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UPTIME_MS ((int64_t)1000000000) /* what CLOCK_MONOTONIC and CLOCK_BOOTTIME show at the beginning */
#define TICK_NS   2000000               /* longest wait of sigtimedwait() with a shared clock */

struct shared_clock {
	_Atomic int64_t begin_ms, passed_ms; /* Unix time at the beginning, and the time since then */
	_Atomic uint64_t ticks;              /* calls of sigtimedwait(): a daemon's main loop waits there */
};

static struct shared_clock own, *clock_now = &own;

static __attribute__((constructor)) void open_clock(void)
{
	const char *text = getenv("FROZEN_CLOCK");
	void *map;
	int fd;

	if (!text || *text != '/') {
		own.begin_ms = text ? strtoll(text, NULL, 10) : 0;
		return;
	}
	fd = open(text, O_RDWR | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort();
	close(fd);
	clock_now = map;
}

static int64_t read_clock_ms(clockid_t clock)
{
	switch (clock) {
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		return 0;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return clock_now->begin_ms + clock_now->passed_ms;
	default:
		return UPTIME_MS + clock_now->passed_ms;
	}
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int64_t ms = read_clock_ms(clock);

	*ret = (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	return 0;
}

time_t time(time_t *ret)
{
	time_t now = (time_t)(read_clock_ms(CLOCK_REALTIME) / 1000);

	if (ret)
		*ret = now;
	return now;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	int64_t ms = read_clock_ms(CLOCK_REALTIME);

	(void)zone;
	*ret = (struct timeval){.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000) * 1000};
	return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	if (clock_now != &own)
		return (int)syscall(SYS_nanosleep, wanted, left);
	own.passed_ms += wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000 + 1;
	return 0;
}

/* A condition that does not hold yet does not hold while the time stands still. */
int pthread_cond_timedwait(
	pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock, const struct timespec *restrict until)
{
	(void)cond;
	(void)lock;
	(void)until;
	return ETIMEDOUT;
}

int sigtimedwait(
	const sigset_t *restrict signals, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	int r = (int)syscall(
		SYS_rt_sigtimedwait, signals, info, clock_now == &own ? timeout : &tick, _NSIG / 8);

	atomic_fetch_add(&clock_now->ticks, 1);
	return r;
}
