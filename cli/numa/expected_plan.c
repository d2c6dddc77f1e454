/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/expected_plan.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/yaml.h"

#define FILE_MAX ((size_t)64 << 20)

int expected_plan_read(const char *path, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);
	CLEANUP(doc_release) struct doc plan = DOC_INIT;
	const struct doc *steps;
	int r = fs_read_argument(path, &text, err);

	if (r < 0)
		return r;
	r = yaml_parse_config(text.text, text.len, false, &plan, err);
	if (r < 0)
		return err_wrap(err, -EINVAL, "%s", fs_argument_name(path));
	steps = doc_get(&plan, "steps");
	if (!steps || steps->kind != DOC_LIST)
		return err_set(err, -EINVAL, "%s: not a plan of kubectl numa plan -o json: it has no steps",
			fs_argument_name(path));
	*ret = plan;
	plan = (struct doc)DOC_INIT;
	return 0;
}

static const char *node_name(const struct simulated_cluster *c, size_t node)
{
	return node == SIMULATED_NOWHERE ? "" : c->nodes[node].name;
}

static bool is_same_step(
	const struct doc *expected, const struct simulated_cluster *c, const struct plan_step *step)
{
	const struct simulated_pod *p = &c->pods[step->pod];

	return !strcmp(doc_text(expected, "action"), plan_step_names[step->kind]) &&
	       !strcmp(doc_text(expected, "namespace"), p->namespace) &&
	       !strcmp(doc_text(expected, "pod"), p->name) && !strcmp(doc_text(expected, "uid"), p->uid) &&
	       !strcmp(doc_text(expected, "from"), node_name(c, step->from)) &&
	       !strcmp(doc_text(expected, "to"), node_name(c, step->to));
}

/* Sets `at` to the position after the step. The search begins there: most plans have the expected order. */
static bool has_step(
	const struct doc *steps, const struct simulated_cluster *c, const struct plan_step *step, size_t *at)
{
	for (size_t i = 0; i < steps->n_items; i++) {
		size_t k = (*at + i) % steps->n_items;

		if (!is_same_step(&steps->items[k], c, step))
			continue;
		*at = k + 1;
		return true;
	}
	return false;
}

int expected_plan_check(const struct doc *expected, const char *path, const struct simulated_cluster *c,
	const struct plan *plan, struct err *err)
{
	const struct doc *steps = doc_get(expected, "steps");
	size_t at = 0;

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];
		const struct simulated_pod *p = &c->pods[step->pod];
		const char *from = node_name(c, step->from), *to = node_name(c, step->to);

		if (!has_step(steps, c, step, &at))
			return err_set(err, -EPERM, "step %zu is not in %s: %s %s/%s%s%s%s%s", i + 1,
				fs_argument_name(path), plan_step_names[step->kind], p->namespace, p->name,
				*from ? " from " : "", from, *to ? " to " : "", to);
	}
	return 0;
}
