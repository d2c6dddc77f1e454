/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

/* dir/sub/name in one of four buffers used in turn. */
static const char *join(const char *dir, const char *sub, const char *name)
{
	static char paths[4][4096];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s/%s", dir, sub, name);
	return path;
}

const char *test_fixture(const char *name)
{
	const char *top = getenv("NRTD_TOP");

	return join(top ? top : ".", "tests/fixtures", name);
}

const char *test_machine_tree(const char *name)
{
	const char *top = getenv("NRTD_TOP"), *path = join(top ? top : ".", "build/fixtures/machines", name);

	if (access(path, R_OK) != 0)
		fail_msg("'%s' is missing; make build/fixtures/machines/made", path);
	return path;
}

const char *test_shared(const char *name)
{
	const char *top = getenv("NRTD_SHARED"), *path;

	path = join(top ? top : "..", top ? "." : "shared", name);
	return access(path, R_OK) == 0 ? path : NULL;
}

char *test_read_file(const char *path, size_t *ret_len)
{
	CLEANUP(fclosep) FILE *f = fopen(path, "re");
	struct strbuf text = STRBUF_INIT(256u << 20);
	char chunk[65536];
	size_t n;

	if (!f)
		fail_msg("cannot open '%s': %s", path, strerror(errno));
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		strbuf_add(&text, chunk, n);
	assert_int_equal(ferror(f), 0);
	assert_int_equal(strbuf_error(&text), 0);
	if (ret_len)
		*ret_len = text.len;
	return strbuf_detach(&text);
}

void test_write_file(const char *dir, const char *path, const char *text)
{
	CLEANUP(freep) char *full = strdup(join(dir, ".", path));
	FILE *f;

	assert_non_null(full);
	for (char *p = strchr(full + strlen(dir) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(full, 0755) < 0)
			assert_int_equal(errno, EEXIST);
		*p = '/';
	}
	f = fopen(full, "we");
	if (!f)
		fail_msg("cannot write '%s': %s", full, strerror(errno));
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
}

void test_assert_golden(const char *fixture, const char *text)
{
	CLEANUP(freep) char *want = NULL;

	if (getenv("NRTD_UPDATE_GOLDEN"))
		test_write_file(".", test_fixture(fixture), text);
	want = test_read_file(test_fixture(fixture), NULL);
	if (strcmp(text, want) != 0)
		fail_msg("%s differs; NRTD_UPDATE_GOLDEN=1 writes what was found:\n%s", fixture, text);
}

static void *cancel_soon(void *cancel)
{
	usleep(100000);
	cancel_request(cancel);
	return NULL;
}

/* cmocka has the function, but does not look at the environment. */
__attribute__((constructor)) static void take_filter(void)
{
	const char *filter = getenv("CMOCKA_TEST_FILTER");

	if (filter)
		cmocka_set_test_filter(filter);
}

pthread_t test_cancel_soon(struct cancel *cancel)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, cancel), 0);
	return thread;
}

char *test_tmpdir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = strdup(join(tmp ? tmp : "/tmp", ".", "nrtd-test-XXXXXX"));

	assert_non_null(dir);
	if (!mkdtemp(dir))
		fail_msg("cannot make '%s': %s", dir, strerror(errno));
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void test_rmtree(char **dir)
{
	if (*dir)
		nftw(*dir, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	freep(dir);
}

uint64_t test_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t test_seed(uint64_t fallback)
{
	const char *text = getenv("NRTD_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : fallback;

	print_message("seed: NRTD_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

void test_assert_text(const char *what, const char *got, const char *want)
{
	if (!got || strcmp(got, want) != 0)
		fail_msg("%s: got '%s', want '%s'", what, got ? got : "(null)", want);
}

bool test_runner(void)
{
	const char *runner = getenv("RUNNER");

	return runner && *runner;
}

static void keep_line(enum log_level level, const char *line, void *data)
{
	struct test_log_lines *lines = data;

	(void)level;
	lines->n++;
	snprintf(lines->last, sizeof(lines->last), "%s", line);
}

void test_log_begin(struct test_log_lines *lines)
{
	*lines = (struct test_log_lines){.n = 0};
	log_set_sink(keep_line, lines);
}

void test_log_end(void)
{
	log_set_sink(NULL, NULL);
}
