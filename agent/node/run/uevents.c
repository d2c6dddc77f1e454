/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/run/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"

#define FROM_KERNEL 1u    /* the multicast group; udev's own messages are in another */
#define MESSAGE_MAX 4096u /* the kernel's are half of that at most (UEVENT_BUFFER_SIZE, and the path) */

int uevents_open(struct err *err)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = FROM_KERNEL};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT), r;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	r = err_set(err, -errno, "cannot listen to the kernel's uevents: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return r;
}

bool uevents_is_hardware(const char *message, size_t len)
{
	static const char *const subsystems[] = {"SUBSYSTEM=cpu", "SUBSYSTEM=memory", "SUBSYSTEM=node"};

	size_t n;

	for (size_t at = 0; at < len; at += n + 1) {
		n = strnlen(message + at, len - at);
		for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++)
			if (n == strlen(subsystems[i]) && !memcmp(message + at, subsystems[i], n))
				return true;
	}
	return false;
}

int uevents_read(int fd, bool *ret_changed, struct err *err)
{
	char message[MESSAGE_MAX];

	*ret_changed = false;
	for (;;) {
		struct sockaddr_nl from = {0};
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from, &size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != ENOBUFS)
			return err_set(err, -errno, "cannot read the kernel's uevents: %s", strerror(errno));
		/* What a process has sent has that process' number. */
		if (n < 0 || (from.nl_pid == 0 && uevents_is_hardware(message, (size_t)n)))
			*ret_changed = true;
	}
}
