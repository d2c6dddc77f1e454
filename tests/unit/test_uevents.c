/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/run/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/lib/test.h"

#define LONG_MS 30000

#define MESSAGE(text) text, sizeof(text)

static void names_of_subsystems(void **state)
{
	(void)state;
	assert_true(
		uevents_is_hardware(MESSAGE("offline@/devices/system/cpu/cpu7\0ACTION=offline\0"
					    "DEVPATH=/devices/system/cpu/cpu7\0SUBSYSTEM=cpu\0SEQNUM=9")));
	assert_true(uevents_is_hardware(MESSAGE("online@/devices/system/memory/memory9\0SUBSYSTEM=memory")));
	assert_true(uevents_is_hardware(MESSAGE("add@/devices/system/node/node1\0SUBSYSTEM=node")));
	assert_false(
		uevents_is_hardware(MESSAGE("add@/devices/virtual/net/veth0\0SUBSYSTEM=net\0IFINDEX=7")));
	assert_false(uevents_is_hardware(MESSAGE("add@/class/cpuid\0SUBSYSTEM=cpuid")));
	assert_false(uevents_is_hardware(MESSAGE("x@y\0NAME=SUBSYSTEM=cpu\0SUBSYSTEM=")));
	assert_false(uevents_is_hardware("", 0));
	/* Without the last zero byte, as a message that was cut off has it. */
	assert_true(uevents_is_hardware("SUBSYSTEM=cpu", 13));
	assert_false(uevents_is_hardware("SUBSYSTEM=cpu", 12));
}

static bool is_writable(const char *path)
{
	return access(path, W_OK) == 0;
}

/* The kernel repeats a device's report when asked. */
static void report(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "change", 6), 6);
}

/* Wait for a message, and take what has come. */
static bool changed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct err err = {""};
	bool ret = false;

	assert_int_equal(poll(&p, 1, LONG_MS), 1);
	assert_int_equal(uevents_read(fd, &ret, &err), 0);
	return ret;
}

static void reports_of_this_kernel(void **state)
{
	static const char cpu[] = "/sys/devices/system/cpu/cpu0/uevent", lo[] = "/sys/class/net/lo/uevent";
	CLEANUP(closep) int fd = -1;
	struct err err = {""};
	bool ret = true;

	(void)state;
	if (!is_writable(cpu) || !is_writable(lo))
		test_skip("who may not write below /sys cannot ask the kernel for a report");
	fd = uevents_open(&err);
	assert_true(fd >= 0);
	assert_int_equal(uevents_read(fd, &ret, &err), 0);
	assert_false(ret);
	report(lo);
	assert_false(changed(fd));
	report(cpu);
	assert_true(changed(fd));
}

static void reports_of_processes_do_not_count(void **state)
{
	static const char text[] = "offline@/devices/system/cpu/cpu7\0SUBSYSTEM=cpu";
	const struct sockaddr_nl everybody = {.nl_family = AF_NETLINK, .nl_groups = 1};
	CLEANUP(closep) int sender = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	CLEANUP(closep) int fd = -1;
	struct err err = {""};

	(void)state;
	fd = uevents_open(&err);
	assert_true(fd >= 0);
	if (sendto(sender, text, sizeof(text), 0, (const struct sockaddr *)&everybody, sizeof(everybody)) < 0)
		test_skip("who is not root cannot send one");
	assert_false(changed(fd));
}

static void a_socket_that_cannot_be_read(void **state)
{
	int fds[2];
	struct err err = {""};
	bool ret;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(uevents_read(fds[0], &ret, &err), -ENOTSOCK);
	assert_string_equal(err.text, "cannot read the kernel's uevents: Socket operation on non-socket");
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_subsystems),
		cmocka_unit_test(reports_of_this_kernel),
		cmocka_unit_test(reports_of_processes_do_not_count),
		cmocka_unit_test(a_socket_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
