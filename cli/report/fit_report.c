/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/fit_report.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

#define NUMA_HEADING "NUMA nodes        " /* the column has at least this width */

#define FOLDED_NODES 20u   /* a terminal shows each of so many nodes */
#define CAUTION_MAX  1024u /* bytes */

#define PLAN_APPLY "kubectl numa plan --apply"

#define CLAIMS "not evaluated: the pod's resourceClaims; the verdict ignores what the claims request"

/* ---- parts of several reports */

void fit_verdict_word(const struct node_report *n, char ret[VERDICT_WORD_MAX])
{
	const char *word = *n->rejection ? n->rejection : "reject";

	if (n->answer == KUBELET_ADMITS)
		word = "admit";
	else if (n->answer == KUBELET_UNKNOWN)
		word = "?";
	snprintf(ret, VERDICT_WORD_MAX, "%s%s", n->basis == CLUSTER_ESTIMATED ? "~" : "", word);
}

static void add_part(struct strbuf *out, size_t start, const char *text)
{
	if (*text)
		strbuf_addf(out, "%s%s", out->len > start ? "; " : "", text);
}

void fit_add_caution(const struct node_report *n, struct strbuf *out)
{
	size_t start = out->len;

	if (n->answer == KUBELET_ADMITS)
		for (size_t i = 0; i < n->cautions.n_items; i++)
			add_part(out, start, n->cautions.items[i]);
	add_part(out, start, text_or_empty(n->slow));
	add_part(out, start, n->release.text);
}

void fit_add_reasons(const struct node_report *n, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf caution = STRBUF_INIT(CAUTION_MAX);
	size_t start = out->len;

	fit_add_caution(n, &caution);
	add_part(out, start, text_or_empty(n->reason));
	add_part(out, start, caution.text);
}

/* "16 CPUs", "32Gi memory", "4Gi hugepages-1Gi" */
static void add_amount(struct strbuf *out, const char *name, struct quantity q)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	if (!strcmp(name, "cpu"))
		strbuf_addf(out, "%s CPU%s", text, q.nano == QTY_UNIT ? "" : "s");
	else {
		strbuf_addf(out, "%s ", text);
		strbuf_add_one_line(out, name);
	}
}

void fit_add_request(const struct pod_report *r, struct strbuf *out)
{
	for (size_t i = 0; i < r->wanted.n_items; i++) {
		strbuf_addstr(out, i > 0 ? ", " : "");
		add_amount(out, r->wanted.items[i].name, r->wanted.items[i].quantity);
	}
	strbuf_addf(out, "%s(%s)", r->wanted.n_items > 0 ? " " : "nothing ", qos_class_names[r->qos]);
}

void fit_add_alignment(const struct pod_report *r, const char *indent, struct strbuf *out)
{
	if (r->not_guaranteed.text[0]) {
		strbuf_addstr(out, indent);
		strbuf_add_one_line(out, r->not_guaranteed.text);
		strbuf_addch(out, '\n');
	}
	strbuf_addf(out, "%s%s\n", indent, r->alignment.text);
}

static void write_alignment(struct writer *w, const struct pod_report *r)
{
	writer_string(w, "qosClass", NULL, qos_class_names[r->qos]);
	writer_string(w, "notGuaranteed", NULL, r->not_guaranteed.text);
	writer_string(w, "alignment", NULL, r->alignment.text);
	writer_number(w, "exclusiveCPUs", NULL, true, (int64_t)r->exclusive_cpus);
}

static void add_unchecked(const struct node_report *n, struct strbuf *out)
{
	if (n->unchecked.n_items == 0)
		return;
	strbuf_addstr(out, " (not checked: ");
	strbuf_add_list(out, &n->unchecked, 3);
	strbuf_addch(out, ')');
}

/* Both amounts of a change, in the format of the pod's request. */
struct change_amounts {
	struct quantity from, to;
};

static struct change_amounts amounts_of_change(
	const struct pod_report *r, const struct request_change *change)
{
	const struct resource_quantity *wanted = resource_list_find(&r->wanted, change->resource);
	enum quantity_format format = wanted ? wanted->quantity.format : QUANTITY_DECIMAL_SI;

	return (struct change_amounts){
		{.nano = change->from, .format = format}, {.nano = change->to, .format = format}};
}

/* The name of the changed container; NULL if the pod has one container, or if the pod-level resources change. */
static const char *changed_container(const struct pod_report *r, const struct request_change *change)
{
	bool named = r->pod->n_containers > 1 && change->container < r->pod->n_containers;

	return named ? r->pod->containers[change->container].name : NULL;
}

static void add_admission_change(
	const struct pod_report *r, const struct request_change *change, struct strbuf *out)
{
	struct change_amounts amounts = amounts_of_change(r, change);
	char from[QUANTITY_TEXT_MAX];

	add_amount(out, change->resource, amounts.to);
	quantity_print(amounts.from, from);
	strbuf_addf(out, " instead of %s", from);
}

/* Where the change is made: after the last change of a container. */
static void add_changed_container(
	const struct pod_report *r, const struct request_change *change, struct strbuf *out)
{
	const char *container = changed_container(r, change);

	if (container) {
		strbuf_addstr(out, " in container '");
		strbuf_add_one_line(out, container);
		strbuf_addch(out, '\'');
	} else if (change->container == r->pod->n_containers) {
		strbuf_addstr(out, " in the pod's resources");
	}
}

void fit_add_nearest(const struct pod_report *r, const struct node_report *n, struct strbuf *out)
{
	const struct nearest_request *nearest = &n->nearest;

	for (size_t i = 0; i < nearest->n_changes; i++) {
		const struct request_change *change = &nearest->changes[i];
		bool more = i + 1 < nearest->n_changes;

		add_admission_change(r, change, out);
		if (more && change[1].container == change->container) {
			strbuf_addstr(out, " and ");
			continue;
		}
		add_changed_container(r, change, out);
		strbuf_addstr(out, more ? ", " : "");
	}
	if (n->fits_in_scope_pod)
		strbuf_addf(out, "%stopologyManagerScope pod", nearest->found ? ", or with " : "");
	if (nearest->found || n->fits_in_scope_pod)
		add_unchecked(n, out);
}

static void add_not_evaluated(const char *who, const struct strv *list, struct strbuf *out)
{
	if (list->n_items == 0)
		return;
	strbuf_addf(out, "not evaluated (%s): ", who);
	strbuf_add_list(out, list, SIZE_MAX);
	strbuf_addch(out, '\n');
}

void fit_write_not_evaluated(struct writer *w, const struct strv *list)
{
	if (writer_is_doc(w)) {
		writer_strings(w, "notEvaluated", list);
		return;
	}
	add_not_evaluated("schedulers do", list, w->out);
}

void fit_write_form(struct writer *w, const struct pod_form *form)
{
	const struct strv *list = &form->not_evaluated;

	writer_bool(w, "dryRun", form->is_manifest, form->stored);
	if (writer_is_doc(w)) {
		writer_strings(w, "asWritten", list);
		return;
	}
	if (w->format == WRITER_NAME)
		return;
	if (form->stored)
		strbuf_addstr(w->out, "judged as the API server would store the pod (dry run)\n");
	add_not_evaluated("the API server does", list, w->out);
}

/* ---- one node as text */

static void add_line(struct strbuf *out, const char *text)
{
	strbuf_addstr(out, "  ");
	strbuf_add_one_line(out, text);
	strbuf_addch(out, '\n');
}

static void add_verdict(const struct pod_report *r, const struct node_report *n, struct strbuf *out)
{
	static const char *const words[] = {
		[KUBELET_UNKNOWN] = "unknown", [KUBELET_ADMITS] = "fits", [KUBELET_REJECTS] = "does not fit"};
	CLEANUP(strbuf_release) struct strbuf caution = STRBUF_INIT(CAUTION_MAX);

	strbuf_addf(out, "%s: ", words[n->answer]);
	fit_add_request(r, out);
	strbuf_addch(out, '\n');
	if (r->exclusive_cpus == 0)
		fit_add_alignment(r, "  ", out);
	if (r->pod->has_claims)
		add_line(out, CLAIMS);
	if (*n->reason) {
		strbuf_addstr(out, "  ");
		strbuf_add_one_line(out, n->reason);
		if (*n->rejection)
			strbuf_addf(out, " (%s)", n->rejection);
		strbuf_addch(out, '\n');
	}
	fit_add_caution(n, &caution);
	if (caution.len > 0)
		add_line(out, caution.text);
	if (n->n_reserved > 0)
		strbuf_addf(out, "  counts as held: %zu reservation%s for other pods (" PLAN_APPLY ")\n",
			n->n_reserved, n->n_reserved == 1 ? "" : "s");
	if (n->n_unreported > 0)
		strbuf_addf(out, "  counts as held: %zu pod%s that the node's object %s\n", n->n_unreported,
			n->n_unreported == 1 ? "" : "s",
			n->n_unknown > 0 ? "may not report yet" : "does not report yet");
}

static void add_nearest(const struct pod_report *r, const struct node_report *n, struct strbuf *out)
{
	if (n->answer != KUBELET_REJECTS)
		return;
	/* The reason is not that the amounts are too large. */
	if (n->missing || n->unschedulable || n->full)
		return;
	if (!n->nearest.found && !n->fits_in_scope_pod) {
		bool complete = n->nearest.complete;

		strbuf_addstr(out, complete ? "  smaller amounts would not fit either"
					    : "  no smaller amounts are known to fit");
		if (n->obstacle)
			strbuf_addf(out, "%s%s", complete ? ": " : "; the smallest: ", n->obstacle);
		strbuf_addch(out, '\n');
		return;
	}
	strbuf_addstr(out, "  would fit with ");
	fit_add_nearest(r, n, out);
	strbuf_addch(out, '\n');
}

/* "default/web", or the UID if the name is unknown. In an object the UID is a hash. */
static void add_victim(const struct victim *p, struct strbuf *out)
{
	strbuf_addstr(out, *p->name ? "    " : "    UID ");
	if (*p->name) {
		strbuf_add_one_line(out, p->namespace);
		strbuf_addstr(out, *p->namespace ? "/" : "");
	}
	strbuf_add_one_line(out, *p->name ? p->name : p->uid);
	if (p->cpus > 0)
		strbuf_addf(out, ", %zu CPU%s", p->cpus, p->cpus == 1 ? "" : "s");
	strbuf_addch(out, '\n');
}

/* Pods that --below-priority excludes from the victims. */
static void add_kept(size_t n, const char *priority, struct strbuf *out)
{
	if (n > 0)
		strbuf_addf(out, "  %zu pod%s kept: priority %s\n", n, n == 1 ? " is" : "s are", priority);
}

/* `some_kept`: pods that must not be evicted were not considered. */
static void add_no_set(const struct victims *v, bool some_kept, struct strbuf *out)
{
	if (v->movable > 0)
		strbuf_addf(out,
			"  no set of pods: even without the %zu pod%s that hold%s requested resources%s, the pod does not fit\n",
			v->movable, v->movable == 1 ? "" : "s", v->movable == 1 ? "s" : "",
			some_kept ? " and may be evicted" : "");
	else
		strbuf_addf(out, "  no set of pods: no pod%s is known to hold requested resources\n",
			some_kept ? " that may be evicted" : "");
}

static void add_set(const struct victims *v, struct strbuf *out)
{
	strbuf_addf(out, "  would fit without %zu pod%s:\n", v->n_pods, v->n_pods == 1 ? "" : "s");
	for (size_t i = 0; i < v->n_pods; i++)
		add_victim(&v->pods[i], out);
	if (v->gave_up)
		strbuf_addf(out, "  the search ended after %zu verdicts; there may be a smaller set\n",
			v->verdicts);
}

/* Which pods must be evicted, or why no such set is known; and how many pods --below-priority excluded. */
static void add_victims(const struct node_report *n, struct strbuf *out)
{
	const struct victim_priority *p = &n->priority;
	char priority[64];

	/* unschedulable: the reason is a constraint, which the search for victims ignores. */
	if (n->victims.answer == VICTIMS_UNKNOWN && n->answer == KUBELET_REJECTS && !n->unschedulable) {
		strbuf_addstr(out, "  which pods must be evicted is unknown");
		add_unchecked(n, out);
		strbuf_addch(out, '\n');
	}
	if (n->victims.answer == VICTIMS_NO_SET)
		add_no_set(&n->victims, p->n_excluded + p->n_unknown_priority > 0, out);
	else if (n->victims.answer == VICTIMS_SET)
		add_set(&n->victims, out);
	else
		return;
	snprintf(priority, sizeof(priority), "%d or more", (int)p->below);
	add_kept(p->n_excluded, priority, out);
	add_kept(p->n_unknown_priority, "unknown", out);
}

static void write_placement(struct writer *w, const struct container_report *c)
{
	char nodes[NODE_MASK_TEXT_MAX], memory[NODE_MASK_TEXT_MAX];
	const char *quality = " preferred";

	if (!c->hint.preferred)
		quality = " not preferred";
	else if (c->remote)
		quality = " remote";
	node_mask_print(c->hint.nodes, nodes);
	node_mask_print(c->memory_nodes, memory);
	writer_row(w);
	writer_string(w, "name", "container", c->name);
	writer_ids(w, "numaNodes", !c->hint.any_node, c->hint.nodes);
	if (!c->aligned)
		writer_cell(w, NUMA_HEADING, "any");
	else
		writer_cell(w, NUMA_HEADING, "%s%s", nodes, quality);
	writer_bool(w, "preferred", true, c->hint.preferred);
	writer_bool(w, "remote", true, c->remote);
	writer_string(w, "cpus", NULL, c->cpus);
	writer_cell(w, "CPUs", "%s%s%s", *c->cpus ? c->cpus : "shared pool",
		c->memory_nodes ? "; memory on " : "", c->memory_nodes ? memory : "");
	writer_ids(w, "memoryNUMANodes", c->memory_nodes != 0, c->memory_nodes);
	writer_end(w);
}

static void write_containers(struct writer *w, const struct node_report *n)
{
	static const struct column columns[] = {COLUMN("container"), COLUMN(NUMA_HEADING), COLUMN("CPUs")};

	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "containers");
	for (size_t i = 0; i < n->n_containers; i++)
		write_placement(w, &n->containers[i]);
	writer_end(w);
}

static void add_scheduler_fit(const struct scheduler_report *s, struct strbuf *out)
{
	static const char *const distances[FIT_MIN_DISTANCE_COUNT] = {
		[FIT_MIN_DISTANCE_NO] = "not at minimum distance",
		[FIT_MIN_DISTANCE_YES] = "at minimum distance",
		[FIT_MIN_DISTANCE_UNKNOWN] = "whether at minimum distance is not known"};
	char text[NODE_MASK_TEXT_MAX];

	strbuf_addstr(out, "NUMA nodes   ");
	node_mask_print(s->numa, text);
	if (!s->bound)
		strbuf_addstr(out, "the pod requests no resource of NUMA nodes\n");
	else if (s->fit.verdict == FIT_FOUND)
		strbuf_addf(out, "%u for the scheduler (%s), %s\n", s->fit.n_nodes, text,
			distances[s->fit.min_distance]);
	else
		strbuf_addstr(out, s->fit.verdict == FIT_NONE
					   ? "no combination of NUMA nodes satisfies the request\n"
					   : "not known: too many combinations\n");
}

/* The filter of NodeResourceTopologyMatch if the filter decides differently from the kubelet. A node that is short is excluded by another
 * plugin of the scheduler. */
static void add_filter(const struct node_report *n, struct strbuf *out)
{
	if (n->answer == KUBELET_REJECTS && !n->node_is_short && n->scheduler.passes)
		strbuf_addstr(out, "scheduler    NodeResourceTopologyMatch would pass this node\n");
	if (n->answer == KUBELET_REJECTS || n->scheduler.passes)
		return;
	strbuf_addstr(out, "scheduler    NodeResourceTopologyMatch would not pass this node: ");
	strbuf_add_one_line(out, n->scheduler.filter_detail);
	strbuf_addch(out, '\n');
}

static void add_scheduler(const struct node_report *n, struct strbuf *out)
{
	const struct scheduler_report *s = &n->scheduler;

	if (!s->known) {
		strbuf_addstr(out,
			"scheduler    unknown: an object cannot contain the ids of this machine's NUMA nodes\n");
		return;
	}
	add_scheduler_fit(s, out);
	strbuf_addstr(out, "scores       ");
	for (enum strategy i = 0; i < STRATEGY_COUNT; i++) {
		strbuf_addf(out, "%s%s ", i > 0 ? ", " : "", strategy_names[i]);
		if (s->scores[i] == SCORE_UNKNOWN)
			strbuf_addstr(out, "unknown");
		else
			strbuf_addf(out, "%d", (int)s->scores[i]);
	}
	strbuf_addch(out, '\n');
	add_filter(n, out);
}

static void add_pci_pair(const struct node_report *n, struct strbuf *out)
{
	if (n->answer != KUBELET_ADMITS || n->pci_pair == PCI_PAIR_NOT_WANTED)
		return;
	strbuf_addf(out, "PCIe roots   %s; which of the free devices the kubelet assigns is unknown\n",
		n->pci_pair == PCI_PAIR_FREE ? "a GPU and a NIC are free below one root"
					     : "no root has both a GPU and a NIC free");
}

static void write_text(struct writer *w, const struct pod_report *r, const struct node_report *n)
{
	struct strbuf *out = w->out;

	add_verdict(r, n, out);
	add_nearest(r, n, out);
	add_victims(n, out);
	write_containers(w, n);
	if (n->n_containers > 0) {
		strbuf_addch(out, '\n');
		writer_table(w);
	}
	strbuf_addch(out, '\n');
	if (n->answer == KUBELET_ADMITS || n->rest_fits)
		strbuf_addf(out, "copies       %s%zu, one after the other%s\n",
			n->copies.at_least ? "at least " : "", n->copies.n,
			n->rest_fits ? ", without devices" : "");
	add_pci_pair(n, out);
	add_scheduler(n, out);
	strbuf_addf(out, "kubelet      Topology Manager policy %s, scope %s\n",
		topology_manager_policy_names[n->topology.policy],
		topology_manager_scope_names[n->topology.scope]);
	if (!n->name) /* not read from an object */
		return;
	strbuf_addf(out, "basis        %s%s", cluster_basis_names[n->basis], *n->why ? ": " : "");
	strbuf_add_one_line(out, n->why);
	strbuf_addch(out, '\n');
}

/* ---- one node as JSON or YAML */

static void write_pci_pair(struct writer *w, const struct node_report *n)
{
	writer_bool(w, "pciePair", n->answer == KUBELET_ADMITS && n->pci_pair != PCI_PAIR_NOT_WANTED,
		n->pci_pair == PCI_PAIR_FREE);
}

static void write_scheduler(struct writer *w, const struct scheduler_report *s)
{
	bool found = s->known && s->bound && s->fit.verdict == FIT_FOUND;

	writer_number(w, "numaNodes", NULL, found, s->fit.n_nodes);
	writer_bool(w, "minDistance", found && s->fit.min_distance != FIT_MIN_DISTANCE_UNKNOWN,
		s->fit.min_distance == FIT_MIN_DISTANCE_YES);
	writer_map(w, "scores");
	for (enum strategy i = 0; i < STRATEGY_COUNT; i++)
		writer_number(
			w, strategy_names[i], NULL, s->known && s->scores[i] != SCORE_UNKNOWN, s->scores[i]);
	writer_end(w);
	writer_bool(w, "schedulerPasses", s->known, s->passes);
}

static void write_change(struct writer *w, const struct pod_report *r, const struct request_change *change)
{
	struct change_amounts amounts = amounts_of_change(r, change);
	const char *container = changed_container(r, change);
	char request[QUANTITY_TEXT_MAX], fits[QUANTITY_TEXT_MAX];

	quantity_print(amounts.from, request);
	quantity_print(amounts.to, fits);
	if (container)
		writer_string(w, "container", NULL, container);
	else
		writer_null(w, "container");
	writer_string(w, "resource", NULL, change->resource);
	writer_string(w, "request", NULL, request);
	writer_string(w, "fits", NULL, fits);
}

static void write_nearest(struct writer *w, const struct pod_report *r, const struct node_report *n)
{
	const struct nearest_request *nearest = &n->nearest;

	if (!nearest->found) {
		writer_null(w, "nearest");
		return;
	}
	writer_map(w, "nearest");
	write_change(w, r, &nearest->changes[0]);
	if (nearest->n_changes > 1) {
		writer_list(w, "further");
		for (size_t i = 1; i < nearest->n_changes; i++) {
			writer_map(w, NULL);
			write_change(w, r, &nearest->changes[i]);
			writer_end(w);
		}
		writer_end(w);
	}
	writer_end(w);
}

static void write_victims(struct writer *w, const struct victims *v, const struct victim_priority *priority)
{
	static const char *const words[VICTIMS_ANSWER_COUNT] = {[VICTIMS_UNKNOWN] = "unknown",
		[VICTIMS_NOTHING] = "fits",
		[VICTIMS_SET] = "set",
		[VICTIMS_NO_SET] = "none"};

	if (v->answer == VICTIMS_NOT_ASKED) {
		writer_null(w, "whatFrees");
		return;
	}
	writer_map(w, "whatFrees");
	writer_string(w, "answer", NULL, words[v->answer]);
	writer_list(w, "pods");
	for (size_t i = 0; i < v->n_pods; i++) {
		writer_row(w);
		writer_string(w, "namespace", NULL, v->pods[i].namespace);
		writer_string(w, "name", NULL, v->pods[i].name);
		writer_string(w, "uid", NULL, v->pods[i].uid);
		writer_number(w, "cpus", NULL, true, (int64_t)v->pods[i].cpus);
		writer_end(w);
	}
	writer_end(w);
	writer_bool(w, "smallest", v->answer == VICTIMS_SET, !v->gave_up);
	writer_number(w, "belowPriority", NULL, priority->asked, priority->below);
	writer_number(w, "notBelow", NULL, priority->asked, (int64_t)priority->n_excluded);
	writer_number(w, "priorityUnknown", NULL, priority->asked, (int64_t)priority->n_unknown_priority);
	writer_end(w);
}

/* null if the verdict is unknown. */
static void write_time(struct writer *w, const struct node_report *n)
{
	bool known = n->answer != KUBELET_UNKNOWN;
	uint64_t permutations = n->time.permutations < INT64_MAX ? n->time.permutations : INT64_MAX;

	writer_number(w, "kubeletMilliseconds", NULL, known, (int64_t)(n->time.ns / 1000000));
	writer_number(w, "hintPermutations", NULL, known, (int64_t)permutations);
}

static void write_doc(struct writer *w, const struct pod_report *r, const struct node_report *n)
{
	CLEANUP(strbuf_release) struct strbuf caution = STRBUF_INIT(CAUTION_MAX);

	fit_add_caution(n, &caution);
	write_alignment(w, r);
	writer_bool(w, "admitted", n->answer != KUBELET_UNKNOWN, n->answer == KUBELET_ADMITS);
	writer_string(w, "reason", NULL, n->reason);
	writer_string(w, "rejection", NULL, n->rejection);
	writer_text(w, "caution", NULL, caution.text);
	write_containers(w, n);
	write_scheduler(w, &n->scheduler);
	writer_number(w, "copies", NULL, n->answer != KUBELET_UNKNOWN || n->rest_fits, (int64_t)n->copies.n);
	writer_bool(w, "copiesAtLeast", true, n->copies.at_least);
	write_time(w, n);
	write_pci_pair(w, n);
	write_nearest(w, r, n);
	write_victims(w, &n->victims, &n->priority);
	writer_list(w, "unchecked");
	for (size_t i = 0; i < n->unchecked.n_items; i++)
		writer_string(w, NULL, NULL, n->unchecked.items[i]);
	if (r->pod->has_claims)
		writer_string(w, NULL, NULL, "resourceClaims");
	writer_end(w);
	if (!n->name) /* not read from an object */
		return;
	writer_string(w, "basis", NULL, cluster_basis_names[n->basis]);
	writer_string(w, "why", NULL, n->why);
	writer_number(w, "reservations", NULL, true, (int64_t)n->n_reserved);
}

void fit_write_node(struct writer *w, const struct pod_report *r, const struct node_report *n)
{
	if (writer_is_doc(w))
		write_doc(w, r, n);
	else
		write_text(w, r, n);
	if (r->constraints)
		fit_write_not_evaluated(w, &r->constraints->not_evaluated);
}

/* ---- many nodes */

void fit_write_row(struct writer *w, const struct pod_report *r, const struct node_report *n)
{
	CLEANUP(strbuf_release) struct strbuf nearest = STRBUF_INIT(300);
	CLEANUP(strbuf_release) struct strbuf caution = STRBUF_INIT(CAUTION_MAX);
	CLEANUP(strbuf_release) struct strbuf reasons = STRBUF_INIT(4096);
	const struct admit_copies *copies = node_report_copies(n);
	bool known = n->answer != KUBELET_UNKNOWN;
	uint64_t numa = node_report_numa(n);
	char word[VERDICT_WORD_MAX], nodes[NODE_MASK_TEXT_MAX];

	fit_verdict_word(n, word);
	fit_add_nearest(r, n, &nearest);
	node_mask_print(numa, nodes);
	writer_row(w);
	writer_string(w, "name", "NODE", n->name);
	writer_string(w, NULL, "KUBELET", word);
	writer_bool(w, "admitted", known, n->answer == KUBELET_ADMITS);
	writer_string(w, "rejection", NULL, n->rejection);
	writer_string(w, "reason", NULL, n->reason);
	fit_add_caution(n, &caution);
	fit_add_reasons(n, &reasons);
	writer_text(w, "caution", NULL, caution.text);
	writer_string(w, NULL, "REASON", reasons.text);
	writer_string(w, "nearest", "WOULD FIT", nearest.text);
	writer_ids(w, "numaNodes", numa != 0, numa);
	writer_bool(w, "preferred", n->answer == KUBELET_ADMITS, !n->not_preferred);
	if (numa || n->answer == KUBELET_ADMITS)
		writer_cell(w, "NUMA NODES", "%s", numa ? nodes : "any");
	writer_number(w, "copies", NULL, true, (int64_t)copies->n);
	writer_bool(w, "copiesAtLeast", true, copies->at_least || !known);
	if (known)
		writer_cell(w, "COPIES", "%zu%s", copies->n, copies->at_least ? "+" : "");
	else
		writer_cell(w, "COPIES", "?");
	write_time(w, n);
	write_pci_pair(w, n);
	writer_number(w, "reservations", NULL, true, (int64_t)n->n_reserved);
	writer_number(w, "replicas", "REPLICAS", r->wanted_replicas > 0, (int64_t)n->replicas);
	writer_string(w, "basis", "BASIS", cluster_basis_names[n->basis]);
	writer_string(w, "why", NULL, n->why);
	writer_string(w, "exporter", "EXPORTER", n->exporter);
	writer_string(w, "policy", "POLICY", topology_manager_policy_names[n->topology.policy]);
	writer_string(w, "scope", "SCOPE", topology_manager_scope_names[n->topology.scope]);
}

void fit_fold_row(struct writer *w, const struct pod_report *r)
{
	if (w->format == WRITER_TEXT && w->width > 0 && w->headings && r->n_nodes > FOLDED_NODES)
		table_fold_row(&w->table);
}

/* "fits 40 of 50 nodes, 68 copies" */
static void add_totals(const struct pod_report *r, struct strbuf *out)
{
	size_t reserved = 0;

	for (size_t i = 0; i < r->n_nodes; i++)
		reserved += r->nodes[i].n_reserved > 0;
	strbuf_addf(out, "\nfits %zu of %zu node%s, %s%zu cop%s", r->n_admit, r->n_nodes,
		r->n_nodes == 1 ? "" : "s", r->at_least ? "at least " : "", r->copies,
		r->copies == 1 ? "y" : "ies");
	if (r->n_unknown > 0)
		strbuf_addf(out, "; unknown for %zu", r->n_unknown);
	if (r->n_estimated > 0)
		strbuf_addf(out, "; %zu estimated (~)", r->n_estimated);
	strbuf_addch(out, '\n');
	if (reserved > 0)
		strbuf_addf(out,
			"count as held: reservations for other pods on %zu node%s (" PLAN_APPLY ")\n",
			reserved, reserved == 1 ? "" : "s");
	if (r->pod->has_claims)
		strbuf_addstr(out, CLAIMS "\n");
	if (r->exclusive_cpus == 0)
		fit_add_alignment(r, "", out);
}

static void add_replicas(const struct pod_report *r, struct strbuf *out)
{
	if (r->wanted_replicas == 0)
		return;
	strbuf_addf(out, "%zu replica%s: ", r->wanted_replicas, r->wanted_replicas == 1 ? "" : "s");
	if (r->placed_replicas == r->wanted_replicas)
		strbuf_addstr(out, "all fit\n");
	else
		strbuf_addf(out, "only %s%zu fit\n", r->at_least ? "at least " : "", r->placed_replicas);
}

static void add_with_copies(const struct pod_report *r, struct strbuf *out)
{
	bool unknown;
	size_t n = pod_report_count_with_copies(r, &unknown);

	if (r->min_copies > 0)
		strbuf_addf(out, "%s%zu node%s with %zu copies or more\n", unknown ? "at least " : "", n,
			n == 1 ? "" : "s", r->min_copies);
}

static void write_table(struct writer *w, const struct pod_report *r)
{
	static const struct column columns[] = {COLUMN("NODE"), COLUMN("KUBELET"), COLUMN("COPIES"),
		COLUMN("REPLICAS"), COLUMN("NUMA NODES", .rank = 2), COLUMN("POLICY", .in = TABLE_WIDE),
		COLUMN("SCOPE", .in = TABLE_WIDE), COLUMN("BASIS", .in = TABLE_WIDE),
		COLUMN("EXPORTER", .in = TABLE_WIDE), COLUMN("WOULD FIT", .rank = 1), COLUMN("REASON")};

	writer_columns(w, columns, ARRAY_SIZE(columns));
	table_find(&w->table, "REPLICAS")->omitted = r->wanted_replicas == 0;
	for (size_t i = 0; i < r->n_nodes; i++) {
		if (!pod_report_has_copies(r, &r->nodes[i]))
			continue;
		fit_write_row(w, r, &r->nodes[i]);
		if (r->nodes[i].answer == KUBELET_REJECTS)
			fit_fold_row(w, r);
	}
	writer_table(w);
	writer_columns(w, NULL, 0);
	if (!w->headings)
		return;
	add_totals(r, w->out);
	writer_without_object(w, &r->without_object);
	if (r->constraints)
		fit_write_not_evaluated(w, &r->constraints->not_evaluated);
	add_replicas(r, w->out);
	add_with_copies(r, w->out);
}

static void write_all(struct writer *w, const struct pod_report *r)
{
	write_alignment(w, r);
	writer_number(w, "fits", NULL, true, (int64_t)r->n_admit);
	writer_number(w, "nodes", NULL, true, (int64_t)r->n_nodes);
	writer_number(w, "unknown", NULL, true, (int64_t)r->n_unknown);
	writer_number(w, "copies", NULL, true, (int64_t)r->copies);
	writer_bool(w, "copiesAtLeast", true, r->at_least);
	if (r->wanted_replicas > 0) {
		writer_map(w, "replicas");
		writer_number(w, "wanted", NULL, true, (int64_t)r->wanted_replicas);
		writer_number(w, "placed", NULL, true, (int64_t)r->placed_replicas);
		writer_end(w);
	} else {
		writer_null(w, "replicas");
	}
	writer_list(w, "unchecked");
	if (r->pod->has_claims)
		writer_string(w, NULL, NULL, "resourceClaims");
	writer_end(w);
	writer_without_object(w, &r->without_object);
	if (r->constraints)
		fit_write_not_evaluated(w, &r->constraints->not_evaluated);
	writer_list(w, "items");
	for (size_t i = 0; i < r->n_nodes; i++) {
		if (!pod_report_has_copies(r, &r->nodes[i]))
			continue;
		fit_write_row(w, r, &r->nodes[i]);
		writer_end(w);
	}
	writer_end(w);
}

void fit_write(struct writer *w, const struct pod_report *r)
{
	if (writer_is_doc(w))
		write_all(w, r);
	else if (w->format != WRITER_NAME)
		write_table(w, r);
	for (size_t i = 0; i < r->n_nodes; i++)
		if (pod_report_has_copies(r, &r->nodes[i]) &&
			(r->wanted_replicas > 0 ? r->nodes[i].replicas > 0
						: r->nodes[i].answer == KUBELET_ADMITS))
			writer_name(w, "node", r->nodes[i].name);
}
