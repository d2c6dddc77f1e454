/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/run/watch.h"
#include "common/cleanup.h"

/* ---- files */

struct fixture {
	char *dir;
	char path[3][512];
	struct watch *w;
};

static void start(struct fixture *f)
{
	struct strv files = {0};
	bool changed = false;
	struct err err = {""};

	f->dir = test_tmpdir();
	snprintf(f->path[0], sizeof(f->path[0]), "%s/kubelet/cpu_manager_state", f->dir);
	snprintf(f->path[1], sizeof(f->path[1]), "%s/kubelet/device-plugins/checkpoint", f->dir);
	snprintf(f->path[2], sizeof(f->path[2]), "%s/kubelet/memory_manager_state", f->dir);
	for (size_t i = 0; i < 3; i++)
		strv_push(&files, f->path[i]);
	assert_int_equal(watch_new(&f->w, &err), 0);
	assert_int_equal(watch_set(f->w, &files, &changed, &err), 0);
	assert_true(changed);
	assert_int_equal(watch_set(f->w, &files, &changed, &err), 0);
	assert_false(changed);
	strv_release(&files);
}

static void finish(struct fixture *f)
{
	watch_free(f->w);
	test_rmtree(&f->dir);
}

/* Whether something is told within a moment. */
static bool told(struct fixture *f)
{
	struct pollfd p = {.fd = watch_fd(f->w), .events = POLLIN};
	struct err err = {""};
	bool any = false, changed = true;

	while (poll(&p, 1, 50) > 0) {
		assert_int_equal(watch_read(f->w, &changed, &err), 0);
		any = any || changed;
	}
	return any;
}

static void replace(const char *path)
{
	char other[600];

	snprintf(other, sizeof(other), "%s.new", path);
	test_write_file("", other, "x");
	assert_int_equal(rename(other, path), 0);
}

static void make(const struct fixture *f, const char *folder)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", f->dir, folder);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void folders_come_and_go(void **state)
{
	struct fixture f;
	char *folder;

	(void)state;
	start(&f);
	assert_false(told(&f));
	make(&f, "elsewhere");
	assert_false(told(&f));
	for (int i = 0; i < 3; i++) {
		make(&f, "kubelet");
		assert_true(told(&f));
		replace(f.path[0]);
		assert_true(told(&f));
		make(&f, "kubelet/device-plugins");
		assert_true(told(&f));
		replace(f.path[1]);
		assert_true(told(&f));
		make(&f, "kubelet/pods");
		assert_false(told(&f));
		assert_int_equal(remove(f.path[0]), 0);
		assert_true(told(&f));
		folder = NULL;
		assert_true(asprintf(&folder, "%s/kubelet", f.dir) > 0);
		test_rmtree(&folder);
		assert_true(told(&f));
	}
	finish(&f);
}

static void a_folder_is_replaced_by_another(void **state)
{
	struct fixture f;
	char from[600], to[600];

	(void)state;
	start(&f);
	make(&f, "kubelet");
	assert_true(told(&f));
	make(&f, "next");
	snprintf(from, sizeof(from), "%s/kubelet", f.dir);
	snprintf(to, sizeof(to), "%s/old", f.dir);
	assert_int_equal(rename(from, to), 0);
	snprintf(to, sizeof(to), "%s/next", f.dir);
	assert_int_equal(rename(to, from), 0);
	assert_true(told(&f));
	replace(f.path[0]);
	assert_true(told(&f));
	finish(&f);
}

/* Events of files that do not matter, alternating so that the kernel does not merge them, more than its queue
 * holds: what comes after them is lost, and the kernel says only that something was. */
static void fill_queue(const struct fixture *f)
{
	char other[2][600], limit[16] = "";
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	unsigned long events;

	assert_non_null(file);
	assert_non_null(fgets(limit, sizeof(limit), file));
	assert_int_equal(fclose(file), 0);
	events = strtoul(limit, NULL, 10);
	for (size_t i = 0; i < 2; i++)
		snprintf(other[i], sizeof(other[i]), "%s/kubelet/other-%zu", f->dir, i);
	for (unsigned long i = 0; i <= events; i++)
		test_write_file("", other[i % 2], "x");
}

static void lost_events_are_taken_for_changes(void **state)
{
	struct fixture f;
	struct err err = {""};
	char from[600], to[600];
	bool changed = false;

	(void)state;
	start(&f);
	make(&f, "kubelet");
	make(&f, "next");
	assert_true(told(&f));
	fill_queue(&f);
	replace(f.path[0]);
	assert_int_equal(watch_read(f.w, &changed, &err), 0);
	assert_true(changed);
	assert_false(told(&f));
	/* That another folder has taken the place of the watched one may be among them. */
	fill_queue(&f);
	snprintf(from, sizeof(from), "%s/kubelet", f.dir);
	snprintf(to, sizeof(to), "%s/old", f.dir);
	assert_int_equal(rename(from, to), 0);
	snprintf(to, sizeof(to), "%s/next", f.dir);
	assert_int_equal(rename(to, from), 0);
	assert_true(told(&f));
	replace(f.path[0]);
	assert_true(told(&f));
	finish(&f);
}

/* ---- hardware */

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
		cmocka_unit_test(folders_come_and_go),
		cmocka_unit_test(a_folder_is_replaced_by_another),
		cmocka_unit_test(lost_events_are_taken_for_changes),
		cmocka_unit_test(names_of_subsystems),
		cmocka_unit_test(reports_of_this_kernel),
		cmocka_unit_test(reports_of_processes_do_not_count),
		cmocka_unit_test(a_socket_that_cannot_be_read),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
