/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/check/check.h"
#include "common/cleanup.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END   "-----END CERTIFICATE-----\n"
#define KEY   "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIA==\n-----END EC PRIVATE KEY-----\n"

/* Of a key that was thrown away; made by openssl ca. Version 3, from 2026-01-02 03:04:05 for a year. */
#define CERTIFICATE                                                          \
	"MIIBaTCCAQ6gAwIBAgIUJ64LLp+J2VBPzeyZDJw2q+U2xf4wCgYIKoZIzj0EAwIw\n" \
	"GDEWMBQGA1UEAwwNc3lzdGVtOm5vZGU6bjAeFw0yNjAxMDIwMzA0MDVaFw0yNzAx\n" \
	"MDIwMzA0MDVaMBgxFjAUBgNVBAMMDXN5c3RlbTpub2RlOm4wWTATBgcqhkjOPQIB\n" \
	"BggqhkjOPQMBBwNCAAQpYXLQCxXLToJh4fyhFTwer+xLVj5qdsXltuWBwUUCOE13\n" \
	"XJGKN1o5E/XIYLgotE4eYcjpdMzQfg6qIBGSm9/aozYwNDATBgNVHSUEDDAKBggr\n" \
	"BgEFBQcDAjAdBgNVHQ4EFgQUj1XPn231WQBSq6UDjBtocjaw2wswCgYIKoZIzj0E\n" \
	"AwIDSQAwRgIhANe28LE8I8KpcmBuB9Byg1v6IVkpF3BdUgEnmi+jnw7LAiEA3eXb\n" \
	"1dK8D7Two8QBr8K+vIilwlNEMca5f/QkJpmUxCY=\n"

/* Version 1, until 2100-03-04 05:06:07, which is a GeneralizedTime. */
#define LATE                                                                 \
	"MIIBKzCB0wIURq06KnX7UjqPe2DT71YcSr+nhwMwCgYIKoZIzj0EAwIwGDEWMBQG\n" \
	"A1UEAwwNc3lzdGVtOm5vZGU6bjAgFw0yNjAxMDIwMzA0MDVaGA8yMTAwMDMwNDA1\n" \
	"MDYwN1owGDEWMBQGA1UEAwwNc3lzdGVtOm5vZGU6bjBZMBMGByqGSM49AgEGCCqG\n" \
	"SM49AwEHA0IABClhctALFctOgmHh/KEVPB6v7EtWPmp2xeW25YHBRQI4TXdckYo3\n" \
	"WjkT9chguCi0Th5hyOl0zNB+DqogEZKb39owCgYIKoZIzj0EAwIDRwAwRAIga54S\n" \
	"TIDiGiklVjE44+7RFmf3qeX0jPIYPiaHOXu7DpQCIAIKhfJ3E07ei70pjzTZNJsj\n" \
	"EP08j/t7Q7cM0by8pxyl\n"

/* Version 1, from 1960-01-02 03:04:05 to 1970-01-01 00:00:01. */
#define OLD                                                                  \
	"MIIBKjCB0QIUZs15/UuvdAnJvbaS2Pi5UW4nQ2owCgYIKoZIzj0EAwIwGDEWMBQG\n" \
	"A1UEAwwNc3lzdGVtOm5vZGU6bjAeFw02MDAxMDIwMzA0MDVaFw03MDAxMDEwMDAw\n" \
	"MDFaMBgxFjAUBgNVBAMMDXN5c3RlbTpub2RlOm4wWTATBgcqhkjOPQIBBggqhkjO\n" \
	"PQMBBwNCAAQpYXLQCxXLToJh4fyhFTwer+xLVj5qdsXltuWBwUUCOE13XJGKN1o5\n" \
	"E/XIYLgotE4eYcjpdMzQfg6qIBGSm9/aMAoGCCqGSM49BAMCA0gAMEUCIQDPGNDN\n" \
	"HAwNKdWSfapIKn0QPgpvFABZjiN4JiAAeuk8IAIgU1cq4zyQTxFLFSFeyKiU6rv/\n" \
	"Z+g+h6kyU3lHlcNVE/I=\n"

static void certificates_are_read(void **state)
{
	static const struct {
		const char *name, *pem;
		int r;
		int64_t from_s, until_s;
	} cases[] = {
		{"version 3", BEGIN CERTIFICATE END, 0, 1767323045, 1798859045},
		{"the first of a chain", BEGIN OLD END BEGIN CERTIFICATE END, 0, -315521755, 1},
		{"behind its key", KEY BEGIN LATE END, 0, 1767323045, 4107819967},
		{"a key", KEY, -EINVAL, 0, 0},
		{"nothing", "", -EINVAL, 0, 0},
		{"nothing in it", BEGIN END, -EINVAL, 0, 0},
		{"not base64", BEGIN "MIIB*" END, -EINVAL, 0, 0},
		{"cut off", BEGIN "MIIBKjCB0QIUQEbSSCHB47dgSITg" END, -EINVAL, 0, 0},
		{"a length of 2^32", BEGIN "MIT/////" END, -EINVAL, 0, 0},
		{"an unlimited length", BEGIN "MIAAAAAA" END, -EINVAL, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct credential_expiry v = {0, 0};
		int r = certificate_expiry(cases[i].pem, &v);

		if (r != cases[i].r || v.from_s != cases[i].from_s || v.until_s != cases[i].until_s)
			fail_msg("%s: %d, %lld to %lld", cases[i].name, r, (long long)v.from_s,
				(long long)v.until_s);
	}
}

static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The bytes of `hex`, which may have spaces, as a certificate's text. */
static void print_pem(const char *hex, struct strbuf *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char bytes[128] = {0};
	size_t n = 0;

	for (const char *p = hex; *p; p++)
		if (*p != ' ') {
			assert_true(n < sizeof(bytes) - 3);
			bytes[n++] = (unsigned char)(nibble(p[0]) << 4 | nibble(p[1]));
			p++;
		}
	strbuf_addstr(out, BEGIN);
	for (size_t i = 0; i < n; i += 3) {
		unsigned word = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | bytes[i + 2];

		for (size_t j = 0; j < 4; j++)
			strbuf_addch(out, j <= n - i ? digits[word >> (18 - 6 * j) & 63] : '=');
	}
	strbuf_addstr(out, "\n" END);
}

/* Serial number 1, no algorithm, no issuer; two times. */
#define FIRST "02 01 01 30 00 30 00"
#define FROM  "17 0d 37 30 30 31 30 31 30 30 30 30 30 30 5a" /* 700101000000Z */
#define UNTIL "17 0d 37 30 30 31 30 31 30 30 30 31 30 30 5a" /* 700101000100Z */

/* The same in other bytes, and what is nearly one. */
static void the_bytes_of_a_certificate_are_read_strictly(void **state)
{
	static const struct {
		const char *name, *hex;
		int r;
		int64_t from_s, until_s;
	} cases[] = {
		{"the shortest", "30 29 30 27" FIRST "30 1e" FROM UNTIL, 0, 0, 60},
		{"a length in one byte more", "30 81 29 30 27" FIRST "30 1e" FROM UNTIL, 0, 0, 60},
		{"in two more", "30 82 00 29 30 27" FIRST "30 1e" FROM UNTIL, 0, 0, 60},
		{"in three more", "30 83 00 00 29 30 27" FIRST "30 1e" FROM UNTIL, 0, 0, 60},
		{"in four more", "30 84 00 00 00 29 30 27" FIRST "30 1e" FROM UNTIL, -EINVAL, 0, 0},
		{"a length in none", "30 80 30 27" FIRST "30 1e" FROM UNTIL, -EINVAL, 0, 0},
		{"nothing but its length, of three bytes", "30 83 00 00 00", -EINVAL, 0, 0},
		{"a length that is cut off", "30 82 00", -EINVAL, 0, 0},
		{"one byte less than there should be",
			"30 29 30 27" FIRST "30 1e" FROM "17 0d 37 30 30 31 30 31 30 30 30 31 30 30", -EINVAL,
			0, 0},
		{"an empty time behind another one", "30 1c 30 1a" FIRST "30 11" FROM "17 00", -EINVAL, 0, 0},
		{"no second time", "30 1a 30 18" FIRST "30 0f" FROM, -EINVAL, 0, 0},
		{"half of its head", "30 1b 30 19" FIRST "30 10" FROM "17", -EINVAL, 0, 0},
		{"a text in place of a time",
			"30 29 30 27" FIRST "30 1e" FROM "13 0d 37 30 30 31 30 31 30 30 30 31 30 30 5a",
			-EINVAL, 0, 0},
		{"the other kind of time, too short",
			"30 29 30 27" FIRST "30 1e" FROM "18 0d 37 30 30 31 30 31 30 30 30 31 30 30 5a",
			-EINVAL, 0, 0},
		{"a UTC time as long as the other kind",
			"30 2b 30 29" FIRST "30 20" FROM "17 0f 31 39 37 30 30 31 30 31 30 30 30 31 30 30 5a",
			-EINVAL, 0, 0},
		{"of another zone",
			"30 29 30 27" FIRST "30 1e" FROM "17 0d 37 30 30 31 30 31 30 30 30 31 30 30 41",
			-EINVAL, 0, 0},
		{"with a letter",
			"30 29 30 27" FIRST "30 1e" FROM "17 0d 37 30 30 31 30 31 30 30 30 31 4f 30 5a",
			-EINVAL, 0, 0},
		{"without seconds", "30 27 30 25" FIRST "30 1c" FROM "17 0b 37 30 30 31 30 31 30 30 30 31 5a",
			-EINVAL, 0, 0},
		{"the year 1950",
			"30 29 30 27" FIRST "30 1e" FROM "17 0d 35 30 30 31 30 31 30 30 30 30 30 30 5a", 0, 0,
			-631152000},
		{"the year 2049",
			"30 29 30 27" FIRST "30 1e" FROM "17 0d 34 39 30 31 30 31 30 30 30 30 30 30 5a", 0, 0,
			2493072000},
		{"the year 1951",
			"30 29 30 27" FIRST "30 1e" FROM "17 0d 35 31 30 31 30 31 30 30 30 30 30 30 5a", 0, 0,
			-599616000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(1024);
		struct credential_expiry v = {7, 8};
		int r;

		print_pem(cases[i].hex, &pem);
		r = certificate_expiry(pem.text, &v);
		if (r != cases[i].r || v.from_s != (r < 0 ? 7 : cases[i].from_s) ||
			v.until_s != (r < 0 ? 8 : cases[i].until_s))
			fail_msg("%s: %d, %lld to %lld", cases[i].name, r, (long long)v.from_s,
				(long long)v.until_s);
	}
}

/* Whatever is changed in one, it stays within its bytes (the sanitizers look), and a refusal changes nothing.
 */
static void damaged_certificates_are_survived(void **state)
{
	static const char whole[] = BEGIN CERTIFICATE END;
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint64_t seed = test_seed(11);
	size_t refused = 0, n = 20000;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct credential_expiry v = {7, 8};
		char text[sizeof(whole)];

		memcpy(text, whole, sizeof(whole));
		for (uint64_t changes = 1 + test_random(&seed) % 3; changes > 0; changes--) {
			/* The first 160 characters have all that is read. */
			size_t at = strlen(BEGIN) + test_random(&seed) % 160;

			if (text[at] != '\n')
				text[at] = alphabet[test_random(&seed) % 64];
		}
		if (certificate_expiry(text, &v) < 0) {
			refused++;
			assert_true(v.from_s == 7 && v.until_s == 8);
		}
	}
	assert_true(refused > n / 10 && refused < n);
}

static void tokens_are_read(void **state)
{
#define NONE INT64_MIN, INT64_MAX
	static const struct {
		const char *token;
		int r;
		int64_t from_s, until_s;
	} cases[] = {
		/* {"exp":1798859045,"iat":1767323045,"nbf":1767323046,"?":"~~?"} */
		{"e30.eyJleHAiOjE3OTg4NTkwNDUsImlhdCI6MTc2NzMyMzA0NSwibmJmIjoxNzY3MzIzMDQ2LCI_Ijoifn4_In0."
		 "c2ln",
			0, 1767323046, 1798859045},
		/* {"exp":1798859045,"iat":1767323045} */
		{"e30.eyJleHAiOjE3OTg4NTkwNDUsImlhdCI6MTc2NzMyMzA0NX0.c2ln", 0, 1767323045, 1798859045},
		{"e30.e30.c2ln", 0, NONE},                                  /* {} */
		{"e30.eyJleHAiOiIxNzk4ODU5MDQ1In0.c2ln", 0, NONE},          /* {"exp":"1798859045"} */
		{"e30.eyJleHAiOi0xfQ.c2ln", 0, NONE},                       /* {"exp":-1} */
		{"e30.eyJleHAiOjkyMjMzNzIwMzY4NTQ3NzU4MDd9.c2ln", 0, NONE}, /* {"exp":9223372036854775807} */
		{"e30.W10.c2ln", -EINVAL, 7, 8},                            /* [] */
		{"e30.e3.c2ln", -EINVAL, 7, 8},
		{"e30.e.c2ln", -EINVAL, 7, 8},
		{"e30..c2ln", -EINVAL, 7, 8},
		{"e30.*.c2ln", -EINVAL, 7, 8},
		{"abcdef.0123456789abcdef", -EINVAL, 7, 8}, /* a bootstrap token */
		{"opaque", -EINVAL, 7, 8},
		{"", -EINVAL, 7, 8},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct credential_expiry v = {7, 8};
		int r = token_expiry(cases[i].token, &v);

		if (r != cases[i].r || v.from_s != cases[i].from_s || v.until_s != cases[i].until_s)
			fail_msg("'%s': %d, %lld to %lld", cases[i].token, r, (long long)v.from_s,
				(long long)v.until_s);
	}
}

static void an_end_that_is_near_is_judged(void **state)
{
	static const struct {
		struct credential_expiry v;
		bool renewed;
		enum check_level level;
	} cases[] = {
		/* It is 1000000. */
		{{NONE}, false, CHECK_OK},
		{{NONE}, true, CHECK_OK},
		{{0, 1086400}, false, CHECK_OK},
		{{0, 1086399}, false, CHECK_WARN},
		{{0, 1000001}, false, CHECK_WARN},
		{{0, 1000000}, false, CHECK_FAIL},
		{{0, 1000000}, true, CHECK_FAIL},
		{{996760, 1000360}, true, CHECK_OK},
		{{996759, 1000359}, true, CHECK_WARN},
		{{0, 1111112}, true, CHECK_OK},
		{{0, 1111100}, true, CHECK_WARN},
		{{INT64_MIN, 1000001}, true, CHECK_OK},
		{{1000060, 2000000}, false, CHECK_OK},
		{{1000061, 2000000}, false, CHECK_FAIL},
		{{1000061, INT64_MAX}, true, CHECK_FAIL},
		{{INT64_MIN, 0}, true, CHECK_FAIL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (check_expiry_level(&cases[i].v, cases[i].renewed, 1000000) != cases[i].level)
			fail_msg("case %zu is not %s", i, check_level_names[cases[i].level]);
}

/* A kubeconfig with this user, checked: "LEVEL source: text" of each item, and its remedy behind "|". */
static void check_user(const char *user, struct strbuf *ret)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(check_report_release) struct check_report report = {.items = NULL};
	CLEANUP(credentials_freep) struct credentials *c = NULL;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *text = NULL;
	struct credentials_options options = {.kubeconfig = NULL};

	assert_true(asprintf(&text,
			    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
			    "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\n"
			    "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
			    "users: [{name: u, user: %s}]\n",
			    user) > 0);
	test_write_file(dir, "kubeconfig", text);
	assert_true(asprintf(&path, "%s/kubeconfig", dir) > 0);
	options.kubeconfig = path;
	assert_true(check_credentials(&options, &report, &c));
	strbuf_reset(ret);
	for (size_t i = 0; i < report.n_items; i++) {
		const struct check_item *item = &report.items[i];

		strbuf_addf(ret, "%s %s: %s%s%s%s%s\n", check_level_names[item->level], item->source,
			item->text, item->state ? " [" : "", item->state ? item->state : "",
			item->state ? "]" : "", item->remedy ? " |" : "");
		if (item->remedy)
			strbuf_addf(ret, "%s\n", item->remedy);
	}
	assert_int_equal(strbuf_error(ret), 0);
}

/* JSON Web Tokens, of which only the claims count: {"nbf":4000000000,"exp":4100000000}, {"exp":1000}, {"exp":4100000000}. */
#define EARLY_TOKEN "e30.eyJuYmYiOjQwMDAwMDAwMDAsImV4cCI6NDEwMDAwMDAwMH0.x"
#define LATE_TOKEN  "e30.eyJleHAiOjEwMDB9.x"
#define GOOD_TOKEN  "e30.eyJleHAiOjQxMDAwMDAwMDB9.x"

static void an_end_is_told_with_its_time(void **state)
{
	static const struct {
		const char *user, *has[3];
	} cases[] = {
		{"{token: " EARLY_TOKEN "}",
			{"FAIL token: not valid before 2096-10-02T07:06:40Z, ", " from now |",
				"\nset the clock, or use another credential\n"}},
		{"{token: " LATE_TOKEN "}",
			{"FAIL token: expired at 1970-01-01T00:16:40Z, ", " ago [expired] |",
				"\nput a new one into the kubeconfig, or name a file that is renewed"}},
		{"{token: " GOOD_TOKEN "}", {"ok token: valid until 2099-12-03T16:53:20Z, ", " from now\n",
						    "ok credentials: context 'c', a token [read]\n"}},
		{"{token: opaque}", {"ok credentials: context 'c', a token [read]\n", "", ""}},
	};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_user(cases[i].user, &got);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].has); k++)
			if (!strstr(got.text, cases[i].has[k]))
				fail_msg("no '%s' in:\n%s", cases[i].has[k], got.text);
	}
	assert_null(strstr(got.text, "token:")); /* an opaque token does not say when it ends */
}

static void a_clock_is_judged_both_ways(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		assert_int_equal(check_clock_level(sign * 0), CHECK_OK);
		assert_int_equal(check_clock_level(sign * 5000), CHECK_OK);
		assert_int_equal(check_clock_level(sign * 5001), CHECK_WARN);
		assert_int_equal(check_clock_level(sign * 300000), CHECK_WARN);
		assert_int_equal(check_clock_level(sign * 300001), CHECK_FAIL);
		assert_int_equal(check_clock_level(sign * INT64_C(4000000000000)), CHECK_FAIL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificates_are_read),
		cmocka_unit_test(the_bytes_of_a_certificate_are_read_strictly),
		cmocka_unit_test(damaged_certificates_are_survived),
		cmocka_unit_test(tokens_are_read),
		cmocka_unit_test(an_end_that_is_near_is_judged),
		cmocka_unit_test(an_end_is_told_with_its_time),
		cmocka_unit_test(a_clock_is_judged_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
