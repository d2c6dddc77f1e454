/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A second reader of sysfs for the tests, which shares no code with the discovery: it takes files one by one
 * and asks the machine about each.
 */
#include "common/machine.h"

/* Fail the test unless `m` says what the files below `root` ("" = the running system) say. */
void sysfs_assert_machine(const char *root, const struct machine *m);

/* Unpack of a recorded machine's archive (../shared/machines) what a discovery reads; `root` is the directory inside. */
void sysfs_unpack(const char *archive, const char *dir, char *root, size_t size);
