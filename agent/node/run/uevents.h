/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * uevents: the kernel's reports that a CPU, a memory block or a NUMA node came, went, or goes on or offline.
 * They reach every network namespace of the first user namespace, so a pod's too, without udev. (The monitor of
 * libsystemd listens to udev's own messages, which stay in the host's network namespace.) Changed hugepages are
 * not reported.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* A socket that is readable when there is something to uevents_read(); the caller's. -errno with one line. */
int uevents_open(struct err *err);

/* Take what has come. *ret_changed says whether hardware may have changed: it was reported, or reports were
 * lost. 0 or -errno with one line. */
int uevents_read(int fd, bool *ret_changed, struct err *err);

/* Whether a message of the kernel ("ACTION@PATH" and "NAME=VALUE" texts, each with a zero byte at its end) is
 * about a CPU, a memory block or a NUMA node. */
bool uevents_is_hardware(const char *message, size_t len);
