/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How much CPU time a question may take, and those of one namespace that need more. A user whose pods are expensive to judge
 * delays nobody else's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/budget.h"

/* Zeroed it limits nothing. */
struct work_limit {
	uint64_t until_ns; /* of the thread's CPU time; 0 = no limit */
	bool kept_only;    /* nothing is worked out: what is kept is answered */
	bool advanced;     /* something was worked out that is kept: set by whoever keeps it */
	bool reached;      /* something was not worked out */
};

/* CPU time of the calling thread. */
uint64_t work_limit_now_ns(void);

/* Whether one thing more is worked out that is kept: as long as nothing is, always, so that each question comes further than
 * the one before. To be asked by the thread that answers the question. */
bool work_limit_goes_on(struct work_limit *w);

/* The same for something that is not kept: only while there is time. */
bool work_limit_has_time(struct work_limit *w);

#define WORK_NAMESPACES 64u

/* The namespaces whose questions ran into the limit lately. */
struct work_namespaces {
	struct {
		uint64_t hash;     /* of the name */
		uint64_t until_ms; /* it is remembered */
		struct budget budget;
	} items[WORK_NAMESPACES];
	struct budget all; /* of all of them together */
};

/* Times are of CLOCK_MONOTONIC. Whether something may be worked out for a question of the namespace. */
bool work_namespaces_may(const struct work_namespaces *n, const char *name, uint64_t now_ms);

/* A question of the namespace ran into its limit after so much CPU time: in the long run the namespace gets a twentieth of
 * one CPU for such questions, and all namespaces together a quarter. */
void work_namespaces_note(struct work_namespaces *n, const char *name, uint64_t now_ms, uint64_t cpu_ms);
