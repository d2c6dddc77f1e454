/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Nodes for the scoring tests, from texts of their zones' resources (tests/lib/pods.h).
 */
#include "scoring/fit.h"
#include "scoring/request.h"
#include "tests/lib/pods.h"

struct test_node {
	struct inventory inv;
	struct distances distances;
	struct fit_space space;
};

/* n zones with ids 0.., the named resources (sorted) absent everywhere, no costs told. To be filled in, then
 * made ready for questions. */
void test_node_shape(struct test_node *node, size_t n, const char *const *names, size_t n_names);
void test_node_ready(struct test_node *node);

/* Both at once: a text for each zone, ended by NULL, with the distance 10 to itself and 20 to others. */
void test_node_init(struct test_node *node, const char *const *zones);
void test_node_release(struct test_node *node);

/* Capacity, allocatable and available of a resource of the shape. */
void test_node_set(struct test_node *node, size_t position, const char *name, const char *amount);
