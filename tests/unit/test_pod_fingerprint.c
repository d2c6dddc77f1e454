/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/pod_fingerprint.h"
#include "common/text.h"

#define PODS_MAX 320

/* "ns/name ns/name ..." -> pods whose texts lie in `storage`; a name that ends in '!' is of a pod that holds
 * something exclusively. Returns their number. */
static size_t parse_pods(char *storage, struct pod_ref *pods)
{
	char *save = NULL;
	size_t n = 0;

	for (char *word = strtok_r(storage, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		char *slash = strchr(word, '/');
		size_t len = strlen(word);

		assert_true(slash && n < PODS_MAX);
		*slash = '\0';
		pods[n] = (struct pod_ref){
			.namespace = word, .name = slash + 1, .exclusive = word[len - 1] == '!'};
		if (pods[n].exclusive)
			word[len - 1] = '\0';
		n++;
	}
	return n;
}

static void assert_fingerprint(const char *list, enum fingerprint_method method, const char *want)
{
	CLEANUP(freep) char *storage = strdup(list);
	struct pod_ref pods[PODS_MAX];
	char got[FINGERPRINT_SIZE];
	size_t n = parse_pods(storage, pods);

	fingerprint_pods(pods, n, method, got);
	test_assert_text(list, got, want);
}

static void known_sets_have_known_fingerprints(void **state)
{
	static const struct {
		const char *pods, *want;
	} cases[] = {
		{"", "pfp0v001ef46db3751d8e999"},
		/* from the tests of podfingerprint, resource-topology-exporter and scheduler-plugins */
		{"ns1/n1 ns1/n2 ns2/n1 ns3/n1 ns3/n2", "pfp0v001b92008c14168b3a6"},
		{"default/test-pod-0", "pfp0v001fe53c4dbd2c5f4a0"},
		{"namespace1/pod1", "pfp0v0019e0420efb37746c6"},
		/* made with the Go library */
		{"a/a", "pfp0v001f8af4c1985bf4dd8"},
		{"a/b a/c", "pfp0v0019526557488721777"},
		{"ns-1/pod-1 ns-2/pod-2 ns-2/pod-3", "pfp0v0013b68d754c0817837"},
		{"a/a a/b a/c a/d", "pfp0v00186c1b4fdf5328206"},
		{"a/a a/b a/c a/d a/e a/f a/g a/h", "pfp0v0013cdad26859d9fbf3"},
		{"default/x default/x", "pfp0v001941cca5cb5430ed9"},
		{"default/pod-a", "pfp0v0019131e707ccadb65c"},
		{"default/pod-a kube-system/coredns-1", "pfp0v001ccbfc86ce2630dd7"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_fingerprint(cases[i].pods, FINGERPRINT_ALL, cases[i].want);
}

static void the_method_says_which_pods(void **state)
{
	static const char *const list = "a/b! default/idle a/c! kube-system/proxy";

	(void)state;
	assert_fingerprint(list, FINGERPRINT_WITH_EXCLUSIVE_RESOURCES, "pfp0v0019526557488721777");
	assert_fingerprint("default/idle", FINGERPRINT_WITH_EXCLUSIVE_RESOURCES, "pfp0v001ef46db3751d8e999");
	assert_fingerprint("default/x! default/x", FINGERPRINT_ALL, "pfp0v001941cca5cb5430ed9");
}

static void the_order_of_pods_does_not_matter(void **state)
{
	struct pod_ref pods[PODS_MAX];
	char names[PODS_MAX][16], namespaces[PODS_MAX][16];
	uint64_t seed = test_seed(7);

	(void)state;
	for (size_t n = 1; n < PODS_MAX; n += 1 + n / 8) {
		char first[FINGERPRINT_SIZE], again[FINGERPRINT_SIZE];

		for (size_t i = 0; i < n; i++) {
			snprintf(names[i], sizeof(names[i]), "p%u", (unsigned)(test_random(&seed) % 1000));
			snprintf(namespaces[i], sizeof(namespaces[i]), "n%u",
				(unsigned)(test_random(&seed) % 9));
			pods[i] = (struct pod_ref){.namespace = namespaces[i], .name = names[i]};
		}
		fingerprint_pods(pods, n, FINGERPRINT_ALL, first);
		for (size_t i = n; i-- > 1;) {
			size_t other = test_random(&seed) % (i + 1);
			struct pod_ref swap = pods[i];

			pods[i] = pods[other];
			pods[other] = swap;
		}
		fingerprint_pods(pods, n, FINGERPRINT_ALL, again);
		test_assert_text("shuffled", again, first);
		pods[n - 1].name = (char[]){"another"};
		fingerprint_pods(pods, n, FINGERPRINT_ALL, again);
		assert_string_not_equal(again, first);
	}
}

/* The 259 pods of podfingerprint's own tests, where make conformance names its file. */
static void the_upstream_list_has_its_fingerprint(void **state)
{
	static const struct {
		size_t n;
		const char *want;
	} cases[] = {{3, "pfp0v00176dc00ddab7e50d9"}, {4, "pfp0v00157bcbb4437246d12"},
		{259, "pfp0v001e477a4e3b2fc0ec6"}};
	const char *path = getenv("NRTD_PODFINGERPRINT_PODS");
	CLEANUP(doc_release) struct doc list = DOC_INIT;
	CLEANUP(freep) char *text = NULL;
	struct pod_ref pods[PODS_MAX];
	char got[FINGERPRINT_SIZE];
	size_t len, n = 0;

	(void)state;
	if (!path)
		test_skip("NRTD_PODFINGERPRINT_PODS does not name podfingerprint's testdata/pods.json");
	text = test_read_file(path, &len);
	assert_int_equal(json_parse(text, len, &list, NULL), 0);
	assert_int_equal(list.kind, DOC_LIST);
	assert_int_equal(list.n_items, 259);
	DOC_FOREACH (item, &list)
		pods[n++] = (struct pod_ref){
			.namespace = doc_get(item, "namespace")->text, .name = doc_get(item, "name")->text};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fingerprint_pods(pods, cases[i].n, FINGERPRINT_ALL, got);
		test_assert_text("the first pods", got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sets_have_known_fingerprints),
		cmocka_unit_test(the_method_says_which_pods),
		cmocka_unit_test(the_order_of_pods_does_not_matter),
		cmocka_unit_test(the_upstream_list_has_its_fingerprint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
