/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod of the API server is recognized in its node's allocations: on the node, and in a published state.
 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "scoring/node/pod_names.h"

/* Checks an item of the node, and the same item of its published state. */
static void assert_match(
	const struct pod_names *names, const char *uid, const char *namespace, const char *name, bool want)
{
	char own_uid[16], own_namespace[16], own_name[16], none[] = "";
	const struct allocation plain = {.pod_uid = own_uid, .namespace = own_namespace, .pod = own_name};
	struct pod_names hashes;
	const struct allocation published = {.pod_uid = hashes.uid, .namespace = none, .pod = hashes.pod};

	snprintf(own_uid, sizeof(own_uid), "%s", uid);
	snprintf(own_namespace, sizeof(own_namespace), "%s", namespace);
	snprintf(own_name, sizeof(own_name), "%s", name);
	hashes = pod_names_of_item(&plain);
	assert_int_equal(pod_names_match(names, &plain), want);
	assert_int_equal(pod_names_match(names, &published), want);
}

static void a_uid_decides_where_both_have_one(void **state)
{
	const struct pod_names names = pod_names_of("u1", "ns", "web-0"),
			       nameless = pod_names_of("u1", "", "");

	(void)state;
	assert_match(&names, "u1", "ns", "web-0", true);
	assert_match(&names, "u1", "", "", true);
	assert_match(&nameless, "u1", "ns", "web-0", true);
	/*
	 * A StatefulSet has recreated the pod under its name, and the object still reports the previous pod.
	 */
	assert_match(&names, "u0", "ns", "web-0", false);
}

static void a_name_decides_elsewhere(void **state)
{
	const struct pod_names names = pod_names_of("u1", "ns", "web-0"),
			       no_uid = pod_names_of("", "ns", "web-0");

	(void)state;
	assert_match(&names, "", "ns", "web-0", true);
	assert_match(&no_uid, "u1", "ns", "web-0", true);
	assert_match(&names, "", "other", "web-0", false);
	assert_match(&names, "", "ns", "web-1", false);
	assert_match(&no_uid, "u1", "", "", false);
	assert_match(&names, "", "", "", false);
}

static void a_static_pod_has_its_kubelets_uid(void **state)
{
	static const struct {
		const char *metadata, *uid;
	} cases[] = {
		{"{uid: u1}", "u1"},
		{"{uid: u1, annotations: {kubernetes.io/config.mirror: file}}", "file"},
		{"{annotations: {a: b}}", ""},
		{"{}", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc metadata = DOC_INIT;

		assert_int_equal(
			yaml_parse(cases[i].metadata, strlen(cases[i].metadata), &metadata, NULL), 0);
		assert_string_equal(pod_names_kubelets_uid(&metadata), cases[i].uid);
	}
}

static struct pod_names names_of(const char *yaml)
{
	CLEANUP(doc_release) struct doc metadata = DOC_INIT;

	assert_int_equal(yaml_parse(yaml, strlen(yaml), &metadata, NULL), 0);
	return pod_names_of_object(&metadata);
}

/* Every user may write the annotation, but no user can use the name of an existing pod. */
static void a_mirror_pod_is_known_by_uid_and_name(void **state)
{
	const struct pod_names mirror = names_of("{uid: u9, namespace: kube-system, name: etcd-node-a,"
						 " annotations: {kubernetes.io/config.mirror: file}}"),
			       fake = names_of("{uid: u9, namespace: evil, name: web-0,"
					       " annotations: {kubernetes.io/config.mirror: u1}}"),
			       plain = names_of("{uid: u1, name: web-0}");

	(void)state;
	assert_match(&mirror, "file", "kube-system", "etcd-node-a", true);
	assert_match(&mirror, "file", "", "", false);
	assert_match(&mirror, "u9", "kube-system", "etcd-node-a", false);
	assert_match(&fake, "u1", "ns", "web-0", false);
	assert_match(&fake, "", "evil", "web-0", false);
	assert_match(&plain, "u1", "ns", "web-0", true);
	assert_match(&plain, "", "default", "web-0", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_uid_decides_where_both_have_one),
		cmocka_unit_test(a_name_decides_elsewhere),
		cmocka_unit_test(a_static_pod_has_its_kubelets_uid),
		cmocka_unit_test(a_mirror_pod_is_known_by_uid_and_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
