/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/stored_pod.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/kube/access_review.h"
#include "common/kube/api_client.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#define BODY_MAX   ((size_t)2 << 20)
#define PATH_BYTES 1024u

void stored_pod_release(struct stored_pod *p)
{
	pod_template_release(&p->template);
	doc_release(&p->object);
	strv_release(&p->form.not_evaluated);
}

/* ---- without the API server */

/* Whether a container has no request or limit for CPUs or memory, which a LimitRange would then set. */
static bool lacks_amounts(const struct pod_request *pod)
{
	static const char *const names[] = {"cpu", "memory"};

	for (size_t i = 0; i < pod->n_containers; i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (!resource_list_find(&pod->containers[i].requests, names[k]) ||
				!resource_list_find(&pod->containers[i].limits, names[k]))
				return true;
	return false;
}

static void add_named(struct strv *list, const char *kind, const char *name)
{
	CLEANUP(freep) char *text = *name ? xasprintf("%s '%.100s'", kind, name) : NULL;

	if (text)
		strv_push(list, text);
}

/* Lists the kinds of objects that may change the pod on the API server. */
static void list_unknown(const struct pod_template *t, struct strv *ret)
{
	const struct doc *spec = doc_get(t->owner, "spec");
	int32_t ignored;

	if (lacks_amounts(&t->pod))
		strv_push(ret, "LimitRange");
	add_named(ret, "RuntimeClass", doc_text(spec, "runtimeClassName"));
	if (!pod_priority_read(t->owner, &ignored))
		add_named(ret, "PriorityClass", doc_text(spec, "priorityClassName"));
}

/* ---- the dry run */

/* The Pod that the controller would create, without its owner. */
static int print_pod(const struct pod_template *t, const char *namespace, struct strbuf *out)
{
	static const char *const members[] = {"labels", "annotations"};
	CLEANUP(doc_release) struct doc pod = {.kind = DOC_MAP};
	const char *name = t->pod.name && *t->pod.name ? t->pod.name : "pod";
	CLEANUP(freep) char *prefix = xasprintf("%s-", name);
	struct doc *metadata;

	doc_add_string(&pod, "apiVersion", "v1");
	doc_add_string(&pod, "kind", "Pod");
	metadata = doc_add_map(&pod, "metadata");
	doc_add_string(metadata, "generateName", prefix);
	doc_add_string(metadata, "namespace", namespace);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		doc_copy_member(doc_get(t->owner, "metadata"), members[i], metadata);
	doc_copy_member(t->owner, "spec", &pod);
	return json_print_compact(&pod, out);
}

/* 0: `response` has a status; negative: the API server was not asked, or did not answer. */
static int ask_for_dry_run(const struct pod_template *t, const char *namespace, struct api_client *client,
	struct api_response *response, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	struct api_request request = {.method = "POST", .content_type = "application/json"};

	if (print_pod(t, namespace, &body) < 0)
		return err_set(err, -EFBIG, "the pod is too large");
	strbuf_addstr(&path, "/api/v1/namespaces/");
	api_path_escape(&path, namespace);
	/* The operators of other kinds may drop members that are not a Pod's. */
	strbuf_addf(&path, "/pods?dryRun=All&fieldValidation=%s&fieldManager=kubectl-numa",
		t->is_native ? "Strict" : "Ignore");
	request.path = path.text;
	request.body = body.text;
	request.body_len = body.len;
	return api_client_request(client, &request, response, err);
}

/* Whether this user may create pods in the namespace; unknown counts as no. */
static bool may_create(struct api_client *client, const char *namespace)
{
	const struct access_right create = {.verb = "create", .resource = "pods", .namespace = namespace};

	return access_review_ask(client, &create, &(struct err){""}) == 1;
}

/* Without the UID and the status of the dry run: no such pod exists, and a nodeName is still the user's. */
static void copy_as_manifest(const struct doc *stored, struct doc *ret)
{
	static const char *const members[] = {"apiVersion", "kind", "spec"}, *const names[] = {
										     "labels", "annotations"};
	struct doc *metadata;

	*ret = (struct doc){.kind = DOC_MAP};
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		doc_copy_member(stored, members[i], ret);
	metadata = doc_add_map(ret, "metadata");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		doc_copy_member(doc_get(stored, "metadata"), names[i], metadata);
}

/* Of the template, the pod and its owner become those of the dry run's response; `namespace` stays borrowed from the template. */
static int take_stored(const struct pod_template *t, const char *namespace,
	const struct api_response *response, struct stored_pod *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc stored = DOC_INIT;
	struct pod_template read = {0};
	int r = json_parse(response->body.text, response->body.len, &stored, err);

	if (r == 0)
		r = pod_template_from_pod(&stored, &read, err);
	if (r < 0)
		return err_wrap(err, -EINVAL, "the pod of the dry run in namespace '%.60s'", namespace);
	copy_as_manifest(&stored, &ret->object);
	ret->template = *t;
	ret->template.pod = read.pod; /* the only member of `read` that owns memory */
	ret->template.owner = &ret->object;
	/* The dry run may have generated a name. */
	text_set(&ret->template.pod.name, text_or_empty(t->pod.name));
	return 0;
}

/* 1: the API server would store the pod, which is in `ret`; 0: it is unknown; -EINVAL: the API server refuses the pod; -EFBIG. */
static int dry_run(const struct pod_template *t, const char *namespace, struct api_client *client,
	struct stored_pod *ret, struct err *err)
{
	CLEANUP(api_response_release) struct api_response response;
	char message[API_MESSAGE_MAX];
	int r;

	api_response_init(&response);
	r = ask_for_dry_run(t, namespace, client, &response, err);
	if (r < 0)
		return r == -EFBIG ? r : 0;
	if (response.status == HTTP_CREATED) {
		r = take_stored(t, namespace, &response, ret, err);
		return r < 0 ? r : 1;
	}
	api_response_message(&response, message);
	err_set(err, 0, "the API server refuses the pod in namespace '%.60s': %s", namespace, message);
	if (response.status == HTTP_NOT_FOUND && !strncmp(message, "namespaces ", strlen("namespaces ")))
		strv_take(&ret->form.not_evaluated,
			xasprintf("namespace '%.60s', which does not exist", namespace));
	if (response.status == HTTP_NOT_FOUND || response.status >= 500 ||
		response.status == HTTP_TOO_MANY_REQUESTS)
		return 0;
	/* Quotas and other policies answer as an identity without the right. */
	if (response.status == HTTP_UNAUTHORIZED ||
		(response.status == HTTP_FORBIDDEN && !may_create(client, namespace)))
		return 0;
	return -EINVAL;
}

int stored_pod_find(const struct options *options, struct source *source, const struct pod_template **picked,
	struct stored_pod *ret, struct err *err)
{
	const struct pod_template *t = *picked;
	const char *mode = options->value[OPT_DRY_RUN];
	const char *namespace = t->namespace && *t->namespace ? t->namespace : source_namespace(source);
	bool asks =
		!strcmp(mode, "server") || (!strcmp(mode, "auto") && !option_set(options, OPT_OBJECTS_ONLY));
	struct api_client *client = asks ? source_client(source) : NULL;
	struct err why = {"requires the API server, omit --from"};
	int r;

	*ret = (struct stored_pod){.object = DOC_INIT};
	if (!t->owner || !pod_is_manifest(t->owner))
		return 0;
	ret->form.is_manifest = true;
	r = client ? dry_run(t, namespace, client, ret, &why) : 0;
	if (r < 0)
		return err_set(err, r, "%s", why.text);
	if (r > 0) {
		ret->form.stored = true;
		*picked = &ret->template;
		return 0;
	}
	if (!strcmp(mode, "server"))
		return err_set(err, -EINVAL, "%s: %s", options->origin[OPT_DRY_RUN], why.text);
	if (client)
		log_info("%s; judged as written", why.text);
	list_unknown(t, &ret->form.not_evaluated);
	return 0;
}
