/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/fs_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/xalloc.h"
#include "tests/lib/test.h"

/* ---- links below a root */

static void link_to(const char *dir, const char *path, const char *target)
{
	char full[4096];

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	assert_int_equal(symlink(target, full), 0);
}

/* A host whose /var/lib/kubelet is a link, links of every other kind, and a file beside the tree. */
struct tree {
	char *dir, *outside;
	char beside[256]; /* where the file is that no path below `dir` may reach */
};

static void make_tree(struct tree *t)
{
	char climb[512], target[512];

	t->dir = test_tmpdir();
	t->outside = test_tmpdir();
	snprintf(t->beside, sizeof(t->beside), "%s/file", t->outside);
	test_write_file(t->outside, "file", "outside");
	test_write_file(t->dir, "data/file", "above");
	test_write_file(t->dir, "data/kubelet/file", "inside");
	test_write_file(t->dir, "var/lib/empty", "");
	test_write_file(t->dir, "etc/empty", "");
	link_to(t->dir, "var/lib/kubelet", "/data/kubelet");
	link_to(t->dir, "etc/relative", "../data/./kubelet//file");
	link_to(t->dir, "etc/twice", "/var/lib/kubelet/file");
	link_to(t->dir, "etc/absolute", t->beside);
	snprintf(climb, sizeof(climb), "../../../../../../../..%s", t->beside);
	link_to(t->dir, "etc/climbing", climb);
	link_to(t->dir, "etc/loop", "/etc/loop");
	link_to(t->dir, "etc/dangling", "/nowhere/file");
	/* Another process's root in a saved tree; a link there would lead out of it. */
	test_write_file(t->dir, "proc/7/root/real/file", "of the process");
	link_to(t->dir, "proc/7/root/way", "/real");
	test_write_file(t->dir, "proc/8/empty", "");
	link_to(t->dir, "proc/8/root", "/");
	snprintf(target, sizeof(target), "proc/8/root%s", t->beside);
	link_to(t->dir, "etc/through", target);
}

static void remove_tree(struct tree *t)
{
	test_rmtree(&t->dir);
	test_rmtree(&t->outside);
}

/* What each path gives: the text or the error, and where fs_resolve() sees it below the tree. */
static void read_all(const struct tree *t, struct strbuf *out)
{
	static const char *const paths[] = {"/data/kubelet/file", "/var/lib/kubelet/file",
		"/var/lib/kubelet/../file", "/var/lib/kubelet/file/x", "/../../data/kubelet/file",
		"/etc/relative", "/etc/twice", "/etc/absolute", "/etc/climbing", "/etc/loop", "/etc/dangling",
		"/proc/7/root/way/file", "/etc/through"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(100);
		CLEANUP(strbuf_release) struct strbuf where = STRBUF_INIT(8192);
		struct stat st = {.st_size = -1};
		int r = fs_read(t->dir, paths[i], &text, NULL), resolved;

		resolved = fs_resolve(t->dir, paths[i], &where);
		strbuf_addf(out, "%s: %s", paths[i], r < 0 ? strerror(-r) : text.text);
		if ((fs_lookup(t->dir, paths[i], NULL) > 0) != (r == 0) ||
			fs_stat(t->dir, paths[i], &st) != r || st.st_size != (r < 0 ? -1 : (off_t)text.len))
			strbuf_addstr(out, ", but stat(2) says otherwise");
		if (resolved == 0 && !strncmp(where.text, t->dir, strlen(t->dir)) && r == 0)
			strbuf_addf(out, " at %s", where.text + strlen(t->dir));
		else if (resolved < 0)
			strbuf_addf(out, ", %s", strerror(-resolved));
		strbuf_addch(out, '\n');
	}
}

static const char tree_text[] =
	"/data/kubelet/file: inside at /data/kubelet/file\n"
	"/var/lib/kubelet/file: inside at /data/kubelet/file\n"
	"/var/lib/kubelet/../file: above at /data/file\n"
	"/var/lib/kubelet/file/x: Not a directory\n"
	"/../../data/kubelet/file: inside at /data/kubelet/file\n"
	"/etc/relative: inside at /data/kubelet/file\n"
	"/etc/twice: inside at /data/kubelet/file\n"
	"/etc/absolute: No such file or directory\n"
	"/etc/climbing: No such file or directory\n"
	"/etc/loop: Too many levels of symbolic links, Too many levels of symbolic links\n"
	"/etc/dangling: No such file or directory\n"
	"/proc/7/root/way/file: of the process at /proc/7/root/real/file\n"
	"/etc/through: No such file or directory\n";

static void links_stay_below_the_root(void **state)
{
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	CLEANUP(remove_tree) struct tree t;

	(void)state;
	make_tree(&t);
	read_all(&t, &got);
	test_assert_text("with openat2(2)", got.text, tree_text);
}

/* From here on this thread has no openat2(2). False when the system allows no such filter. */
static bool take_openat2_away(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 &&
	       syscall(__NR_openat2, AT_FDCWD, "/", NULL, 0) < 0 && errno == ENOSYS;
}

struct old_kernel {
	struct tree tree;
	struct strbuf got;
	bool is_old;
};

static void *on_an_old_kernel(void *data)
{
	struct old_kernel *k = data;

	k->is_old = take_openat2_away();
	if (k->is_old)
		read_all(&k->tree, &k->got);
	return NULL;
}

static void links_stay_below_the_root_on_an_old_kernel(void **state)
{
	struct old_kernel k = {.got = STRBUF_INIT(65536)};
	pthread_t thread;

	(void)state;
	make_tree(&k.tree);
	assert_int_equal(pthread_create(&thread, NULL, on_an_old_kernel, &k), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	remove_tree(&k.tree);
	if (k.is_old)
		test_assert_text("without openat2(2)", k.got.text, tree_text);
	strbuf_release(&k.got);
	if (!k.is_old)
		test_skip("no filter of system calls can be set here");
}

/* With the directory open and without it, as where it cannot be opened. */
static void files_of_a_directory_are_read_through_links_too(void **state)
{
	static const struct {
		const char *name;
		int want;
		const char *text;
	} cases[] = {{"file", 0, "above"}, {"kubelet/file", 0, "inside"}, {"kubelet/none", -ENOENT, ""},
		{"none/file", -ENOENT, ""}, {"file/none", -ENOTDIR, ""}, {"link/file", 0, "inside"},
		{"kubelet/link", 0, "inside"}, {"kubelet/out", -ENOENT, ""}, {"../data/file", 0, "above"}};
	CLEANUP(remove_tree) struct tree t;
	CLEANUP(closep) int fd = -1;

	(void)state;
	make_tree(&t);
	link_to(t.dir, "data/link", "kubelet");
	link_to(t.dir, "data/kubelet/link", "file");
	link_to(t.dir, "data/kubelet/out", t.outside);
	fd = fs_open(t.dir, "/data", O_PATH | O_DIRECTORY);
	assert_true(fd >= 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const struct fs_directory data = {t.dir, "/data", i % 2 == 0 ? fd : -EACCES};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(100);
		CLEANUP(freep)
		char *message = xasprintf("cannot open '%s/data/%s': ", t.dir, cases[i / 2].name);
		struct err err = {""};

		if (fs_read_in(&data, cases[i / 2].name, &text, &err) != cases[i / 2].want)
			fail_msg("%s: %s", cases[i / 2].name, err.text);
		test_assert_text(cases[i / 2].name, text.text, cases[i / 2].text);
		if (cases[i / 2].want < 0)
			assert_true(strstr(err.text, message) == err.text);
		else
			assert_string_equal(err.text, "");
	}
}

static void folders_are_listed_below_the_root(void **state)
{
	CLEANUP(remove_tree) struct tree t;
	CLEANUP(freep) uint64_t *numbers = NULL;
	size_t n = 0;

	(void)state;
	make_tree(&t);
	test_write_file(t.dir, "data/kubelet/node3", "");
	test_write_file(t.dir, "data/kubelet/node12", "");
	link_to(t.dir, "etc/out", t.outside);
	assert_int_equal(fs_list_numbers(t.dir, "/var/lib/kubelet/", "node", "", &numbers, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(numbers[0], 3);
	assert_int_equal(numbers[1], 12);
	freep(&numbers);
	assert_int_equal(fs_list_numbers(t.dir, "/etc/out", "", "", &numbers, &n, NULL), -ENOENT);
	assert_int_equal(fs_list_numbers(t.dir, "/data/file", "", "", &numbers, &n, NULL), -ENOTDIR);
}

static void names_are_listed_in_order(void **state)
{
	CLEANUP(remove_tree) struct tree t;
	CLEANUP(strv_release) struct strv names = {0};
	struct err err = {""};

	(void)state;
	make_tree(&t);
	test_write_file(t.dir, "data/kubelet/b", "");
	test_write_file(t.dir, "data/kubelet/a", "");
	test_write_file(t.dir, "data/kubelet/.new", "");
	test_write_file(t.dir, "data/kubelet/c/x", "");
	assert_int_equal(fs_list(t.dir, "/var/lib/kubelet", &names, NULL), 0);
	assert_true(names.n_items >= 3);
	for (size_t i = 1; i < names.n_items; i++)
		assert_true(strcmp(names.items[i - 1], names.items[i]) < 0);
	assert_true(strv_contains(&names, "a") && strv_contains(&names, "b") && strv_contains(&names, "c"));
	assert_false(strv_contains(&names, ".new"));
	assert_int_equal(fs_list(t.dir, "/data/none", &names, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/data/none'"));
	assert_int_equal(fs_list(t.dir, "/data/file", &names, &err), -ENOTDIR);
}

/* As a watch needs it, which waits for what is not there. */
static void what_is_not_there_is_resolved_as_far_as_it_goes(void **state)
{
	static const struct {
		const char *path, *want;
	} cases[] = {
		{"/var/lib/kubelet/", "/data/kubelet/"},
		{"/var/lib/kubelet/new/../file", "/data/kubelet/file"},
		{"/var/lib/kubelet/a/b", "/data/kubelet/a/b"},
		{"/etc/dangling", "/nowhere/file"},
		{"", ""},
		{"/", "/"},
	};
	CLEANUP(remove_tree) struct tree t;

	(void)state;
	make_tree(&t);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(8192);
		CLEANUP(strbuf_release) struct strbuf live = STRBUF_INIT(8192);

		assert_int_equal(fs_resolve(t.dir, cases[i].path, &got), 0);
		assert_int_equal(strncmp(got.text, t.dir, strlen(t.dir)), 0);
		test_assert_text(cases[i].path, got.text + strlen(t.dir), cases[i].want);
		assert_int_equal(fs_resolve("", cases[i].path, &live), 0);
		test_assert_text("live", live.text, cases[i].path);
	}
}

/* ---- another process's root */

/* A process whose root directory is `dir`; it ends when *ret_end is closed. */
static pid_t start_below(const char *dir, int *ret_end)
{
	int ready[2], ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(ends[1]);
		if (chroot(dir) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(ends[0], &byte, 1) < 0);
	}
	close(ready[1]);
	close(ends[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*ret_end = ends[1];
	return pid;
}

static void a_path_through_a_process_stays_below_its_root(void **state)
{
	struct tree t;
	char path[64];
	pid_t pid;
	int end;

	(void)state;
	if (geteuid() != 0)
		test_skip("only root changes its root directory");
	make_tree(&t);
	pid = start_below(t.dir, &end);
	snprintf(path, sizeof(path), "/proc/%d/root/var/lib/kubelet/file", (int)pid);
	{
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(100);
		CLEANUP(strbuf_release) struct strbuf where = STRBUF_INIT(8192);
		char want[64];

		assert_int_equal(fs_read("", path, &text, NULL), 0);
		assert_string_equal(text.text, "inside");
		snprintf(want, sizeof(want), "/proc/%d/root/data/kubelet/file", (int)pid);
		assert_int_equal(fs_resolve("", path, &where), 0);
		assert_string_equal(where.text, want);
	}
	snprintf(path, sizeof(path), "/proc/%d/root/etc/absolute", (int)pid);
	assert_int_equal(fs_lookup("", path, NULL), 0);
	close(end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	remove_tree(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_stay_below_the_root),
		cmocka_unit_test(links_stay_below_the_root_on_an_old_kernel),
		cmocka_unit_test(files_of_a_directory_are_read_through_links_too),
		cmocka_unit_test(folders_are_listed_below_the_root),
		cmocka_unit_test(names_are_listed_in_order),
		cmocka_unit_test(what_is_not_there_is_resolved_as_far_as_it_goes),
		cmocka_unit_test(a_path_through_a_process_stays_below_its_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
