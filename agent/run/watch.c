/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/watch.h"

#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define EVENTS                                                                                          \
	(IN_CREATE | IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | \
		IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)
#define READ_SIZE           (16u << 10)
#define UEVENT_GROUP_KERNEL 1u    /* multicast group; udev's messages are in another */
#define UEVENT_MAX          4096u /* at least twice the kernel's maximum (UEVENT_BUFFER_SIZE, and the path) */

/* ---- files */

/* A watched folder and a name in it: of a file, or of the next folder on the way to a file. */
struct entry {
	int wd;
	char *name;      /* "" = every name */
	bool on_the_way; /* the name is of a folder */
};

struct watch {
	int fd;
	struct strv files;
	struct entry *entries;
	size_t n_entries;
	size_t entries_size;
	bool incomplete; /* some files are not watched */
};

int watch_new(struct watch **ret, struct err *err)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0) {
		int r = -errno;

		free(w);
		return err_set(err, r, "cannot watch files: %s", strerror(-r));
	}
	*ret = w;
	return 0;
}

static void drop_entries(struct watch *w)
{
	for (size_t i = 0; i < w->n_entries; i++)
		free(w->entries[i].name);
	w->n_entries = 0;
}

/* The kernel has one watch per folder, and several entries share its descriptor: removing the watch again fails, and also if
 * the folder is gone. */
static void remove_watches(struct watch *w)
{
	for (size_t i = 0; i < w->n_entries; i++)
		inotify_rm_watch(w->fd, w->entries[i].wd);
	drop_entries(w);
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	drop_entries(w); /* close() removes the watches */
	strv_release(&w->files);
	free(w->entries);
	close(w->fd);
	free(w);
}

int watch_fd(const struct watch *w)
{
	return w->fd;
}

static void add_entry(struct watch *w, int wd, const char *name, size_t len, bool on_the_way)
{
	CLEANUP(freep) char *copy = xstrndup(name, len);
	struct entry *entry;

	for (size_t i = 0; i < w->n_entries; i++)
		if (w->entries[i].wd == wd && !strcmp(w->entries[i].name, copy) &&
			w->entries[i].on_the_way == on_the_way)
			return;
	entry = vec_push(&w->entries, &w->n_entries, &w->entries_size, sizeof(*entry));
	*entry = (struct entry){.wd = wd, .name = TAKE(copy), .on_the_way = on_the_way};
}

/* Watches the file's folder, or its nearest existing parent. */
static int watch_file(struct watch *w, const char *file, struct err *err)
{
	char path[PATH_MAX];
	size_t len = strlen(file);
	size_t end = len; /* the first `end` bytes of `file` are the path that is watched for in its folder */
	bool on_the_way = false;

	if (len >= sizeof(path) || *file != '/')
		return err_set(err, -EINVAL, "cannot watch '%.200s'", file);
	for (;;) {
		size_t slash = end; /* length of the folder's path, with its slash */
		int wd;

		while (slash > 0 && file[slash - 1] != '/')
			slash--;
		memcpy(path, file, slash);
		path[slash] = '\0';
		wd = inotify_add_watch(w->fd, path, EVENTS);
		if (wd >= 0) {
			add_entry(w, wd, file + slash, end - slash, on_the_way);
			return 0;
		}
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			return err_set(err, -errno, "cannot watch '%.200s': %s%s", path, strerror(errno),
				errno == ENOSPC ? " (fs.inotify.max_user_watches)" : "");
		if (slash <= 1)
			return err_set(err, -errno, "cannot watch '%.200s': %s", path, strerror(errno));
		end = slash - 1;
		on_the_way = true;
	}
}

/* Watches the file, and tries again if the folder was created just before its parent was watched. A try that adds no entry
 * found the same parent as the try before. */
static int watch_file_retry(struct watch *w, const char *file, struct err *err)
{
	int r = 0;

	for (unsigned tries = 0; tries < 3 && r == 0; tries++) {
		size_t before = w->n_entries;

		r = watch_file(w, file, err);
		if (r < 0 || w->n_entries == before || !w->entries[w->n_entries - 1].on_the_way)
			break;
	}
	return r;
}

/* Watches every file again. The kernel returns the same descriptor for a folder that is already watched. */
static int watch_all_files(struct watch *w, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < w->files.n_items; i++) {
		int one = watch_file_retry(w, w->files.items[i], err);

		if (r == 0)
			r = one;
	}
	w->incomplete = r < 0;
	return r;
}

bool watch_retry(struct watch *w)
{
	size_t before = w->n_entries;
	struct err err;

	return w->incomplete && (watch_all_files(w, &err) == 0 || w->n_entries > before);
}

int watch_set(struct watch *w, const struct strv *files, bool *ret_changed, struct err *err)
{
	*ret_changed = false;
	if (strv_equal(&w->files, files))
		return 0;
	*ret_changed = true;
	remove_watches(w);
	strv_release(&w->files);
	for (size_t i = 0; i < files->n_items; i++)
		strv_push(&w->files, files->items[i]);
	return watch_all_files(w, err);
}

/* Sets *changed if a file may have changed, and *rearm if the folders have to be watched again. */
static void handle_event(const struct watch *w, const struct inotify_event *event, bool *changed, bool *rearm)
{
	const char *name = event->len > 0 ? event->name : "";

	if (event->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		*changed = *rearm = true;
		return;
	}
	for (size_t i = 0; i < w->n_entries; i++) {
		const struct entry *entry = &w->entries[i];

		if (entry->wd != event->wd || (*entry->name && strcmp(entry->name, name) != 0))
			continue;
		/* A folder on the way to a file was created or removed. */
		if (entry->on_the_way)
			*rearm = true;
		*changed = true;
	}
}

int watch_read(struct watch *w, bool *ret_changed, struct err *err)
{
	_Alignas(struct inotify_event) char buf[READ_SIZE];
	bool rearm = false;

	*ret_changed = false;
	for (;;) {
		ssize_t n = read(w->fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return err_set(err, -errno, "cannot read inotify events: %s", strerror(errno));
		if (n <= 0)
			break;
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *event = (const void *)p;

			handle_event(w, event, ret_changed, &rearm);
			p += sizeof(*event) + event->len;
		}
	}
	if (!rearm)
		return 0;
	remove_watches(w);
	return watch_all_files(w, err);
}

/* ---- hardware */

int uevents_open(struct err *err)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = UEVENT_GROUP_KERNEL};
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
	static const char *const subsystems[] = {
		"SUBSYSTEM=cpu", "SUBSYSTEM=memory", "SUBSYSTEM=node", "SUBSYSTEM=pci"};

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
	char message[UEVENT_MAX];

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
		/* ENOBUFS: messages were lost. Messages of processes have the process id in nl_pid. */
		if (n < 0 || (from.nl_pid == 0 && uevents_is_hardware(message, (size_t)n)))
			*ret_changed = true;
	}
}
