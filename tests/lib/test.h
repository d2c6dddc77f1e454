/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the unit tests share: cmocka with its includes in order, temporary trees, files of tests/fixtures,
 * a seeded random generator, and "skipped: reason".
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/io/thread.h"
#include "common/strbuf.h"

/* Path of a file below tests/fixtures, e.g. test_fixture("states/cpu_v2.json"). Static storage, the last four
 * results stay valid. The tests run from the top of the tree; NRTD_TOP overrides it. */
const char *test_fixture(const char *name);

/* The same for the tree of a machine made from tests/fixtures/machines/NAME.spec; fails the test when it was
 * not made (make units does). */
const char *test_machine_tree(const char *name);

/* Path of a file below the project's larger recorded sets (../shared, or NRTD_SHARED), NULL where they are
 * not. */
const char *test_shared(const char *name);

/* Print "skipped: reason" and leave the test as skipped. */
#define test_skip(reason)                               \
	do {                                            \
		print_message("skipped: %s\n", reason); \
		skip();                                 \
	} while (0)

/* Whole file as a string that the caller frees; fails the test when it cannot be read. */
char *test_read_file(const char *path, size_t *ret_len);

/* Write a file, making its directories. Fails the test on error. */
void test_write_file(const char *dir, const char *path, const char *text);

/* Assert that a text equals a file below tests/fixtures; with NRTD_UPDATE_GOLDEN=1 it is written there first.
 */
void test_assert_golden(const char *fixture, const char *text);

/* A fresh temporary directory (path that the caller frees); test_rmtree removes it with all it holds. */
char *test_tmpdir(void);
void test_rmtree(char **dir);

/* A thread that raises the flag in 100 ms; the caller joins it. */
pthread_t test_cancel_soon(struct cancel *cancel);

/* SplitMix64: the same seed gives the same sequence everywhere. */
uint64_t test_random(uint64_t *state);

/* Seed of a property test: NRTD_SEED or `fallback`; it is printed, so that a failure can be repeated. */
uint64_t test_seed(uint64_t fallback);

/* assert that two strings are equal, naming the case they belong to in the failure. */
void test_assert_text(const char *what, const char *got, const char *want);

/* Whether a program such as valgrind or QEMU runs the test (RUNNER of tests/check/run-tests.sh). */
bool test_runner(void);

/* The log's lines instead of standard error, until test_log_end(). */
struct test_log_lines {
	unsigned n;
	char last[300];
};
void test_log_begin(struct test_log_lines *lines);
void test_log_end(void);
