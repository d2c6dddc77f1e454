/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Observations as observe() makes them, from a machine of tests/fixtures/machines and a list of what pods
 * hold. For the tests of `nrtd show` and its pictures.
 */
#include "agent/observe/observe.h"
#include "common/vec.h"
#include "scoring/node/node_derive.h"

struct holding {
	const char *uid, *namespace, *pod, *container; /* NULL = "" */
	const char *cpus;                              /* "1-4,49-52"; NULL = none */
	const char *nodes;                             /* NUMA nodes of the memory, "0" or "2-3" */
	uint64_t memory, pages_2mi;                    /* bytes, in equal shares of the nodes */
	const char *resource;                          /* of devices, or NULL */
	const char *ids[8];
	const char *near; /* their NUMA nodes; NULL = not known */
};

/* The names of every machine of tests/fixtures/machines, at least 20; to be released. */
void observation_machines(struct strv *ret);

/* The machine NAME, or that of an absolute path, alone, as on a computer without kubelet. Fails the test on any error. */
void observation_of_machine(const char *name, struct observation *ret);

/*
 * The machine NAME under a kubelet with the static policies, which has reserved these CPUs and 1 GiB of the
 * first NUMA node, and given each pod what it holds.
 */
void observation_of_kubelet(const char *name, const char *reserved, const struct holding *holdings,
	size_t n_holdings, struct observation *ret);

/* Two sockets, eight NUMA nodes, five pods: what the pictures show. */
void observation_of_picture(struct observation *ret);
