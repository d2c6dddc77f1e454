/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lists the kubelet's settings and the options of its policies, one row for each. The configuration file, the kubelet's and nrtd's
 * flags, `--set`, `--option`, `--like`, the node state, the object's attributes, and what `config`, `diff` and `changes` show read these
 * rows. doc/kubelets.md has the rows too; test_settings_table compares. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/settings.h"
#include "common/strbuf.h"

/* What a setting's value is, as the text of the kubelet's flag. */
enum setting_kind {
	SETTING_IS_CHOICE,  /* "static": an enum, of which 0 is unknown */
	SETTING_IS_OPTIONS, /* "full-pcpus-only=true": a text, and members for the options that nrtd knows */
	SETTING_IS_CPUS,    /* "0-1,32": a bitmap; NULL = not set */
	SETTING_IS_AMOUNTS, /* "cpu=500m,memory=1Gi": two qty_t */
	SETTING_IS_THRESHOLDS,   /* "memory.available<100Mi": the text of memory.available */
	SETTING_IS_RESERVATIONS, /* "0:memory=1Gi;1:memory=1Gi": struct memory_reservation */
	SETTING_IS_GATES,        /* "NAME=true,...": a text */
	SETTING_KIND_COUNT
};

/* The manager whose section of the node state contains the setting. */
enum kubelet_manager { MANAGER_NONE, MANAGER_CPU, MANAGER_MEMORY, MANAGER_TOPOLOGY };

/* What a running kubelet leaves that proves a setting whatever its configuration says; several may be set. */
enum setting_evidence {
	PROVEN_BY_CPU_STATE = 1 << 0,    /* cpu_manager_state */
	PROVEN_BY_MEMORY_STATE = 1 << 1, /* memory_manager_state */
	PROVEN_BY_POD_RESOURCES = 1 << 2 /* GetAllocatableResources of the pod-resources API */
};

struct setting_row {
	const char *name; /* the field of KubeletConfiguration */
	const char *flag; /* the kubelet's flag, without the dashes */
	const char *fact; /* the name in comparisons of nodes; NULL = another setting's fact contains it */
	enum setting_kind kind;
	enum kubelet_manager manager;
	size_t offset; /* of the value in struct settings */
	size_t second; /* OPTIONS: of the first enabled option that nrtd does not know; AMOUNTS: of the memory */
	const char *const *names; /* CHOICE: of the values */
	unsigned n_names;
	unsigned fallback; /* CHOICE: the kubelet's default */
	unsigned evidence; /* enum setting_evidence */
	const char *decides;
};

/* All fields exist in all releases of agent/observe/release_names.c. */
extern const struct setting_row settings_table[SETTING_COUNT];

#define EVICTION_HARD_DEFAULT "100Mi" /* the kubelet's default of evictionHard memory.available */

/* ---- options of policies */

enum policy_option_kind { OPTION_IS_BOOL, OPTION_IS_NUMBER, OPTION_IS_CHOICE };

struct policy_option {
	const char *name;    /* unique over both settings */
	size_t offset, size; /* of the member, in struct settings */
	const char *decides;
	const char *document_key; /* in the document of hints; NULL = not there */
	const char *const *names; /* CHOICE: of the values from 0 on */
	unsigned n_names;
	unsigned most;     /* NUMBER: all larger numbers mean the same */
	unsigned fallback; /* the kubelet's default; of a NUMBER also the least that the kubelet accepts */
	unsigned alpha, beta, stable; /* minor releases; 0 = never */
	enum setting
		setting; /* SETTING_CPU_MANAGER_POLICY_OPTIONS or SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS */
	enum policy_option_kind kind;
};

enum {
#define POLICY_OPTION_PLUS_ONE(...) +1
	POLICY_OPTION_COUNT =
		CPU_MANAGER_OPTIONS(POLICY_OPTION_PLUS_ONE) TOPOLOGY_MANAGER_OPTIONS(POLICY_OPTION_PLUS_ONE)
#undef POLICY_OPTION_PLUS_ONE
};

extern const struct policy_option policy_options[POLICY_OPTION_COUNT];

/* False for an option that is only proposed: simulations alone know it. */
static inline bool policy_option_is_released(const struct policy_option *o)
{
	return o->alpha > 0 || o->beta > 0 || o->stable > 0;
}

/* The option with this name, also a proposed one, or NULL. */
const struct policy_option *policy_option_find(const char *name);

/* The released option of a setting with this name, or NULL. */
const struct policy_option *policy_option_of(enum setting what, const char *name);

unsigned policy_option_value(const struct policy_option *o, const struct settings *s);
void policy_option_set(const struct policy_option *o, unsigned value, struct settings *s);

/* Sets the option from the text of its value. 0; -EINVAL with "NAME: what is wrong". Accepts numbers up to INT_MAX, also
 * those that the kubelet does not accept. */
int policy_option_parse(const struct policy_option *o, const char *text, struct settings *s, struct err *err);

/* Sets the options of a text "NAME=VALUE,..."; ignores what is not known or not valid. */
void policy_options_parse(enum setting what, const char *text, struct settings *s);

/* Appends the options that differ from the kubelet's defaults as "NAME=VALUE,...", sorted by name. */
void policy_options_print(enum setting what, const struct settings *s, struct strbuf *out);

/* ---- values of settings */

/* The setting with this name, or -1. */
int setting_find(const char *name);

/* The members at the offsets of the row: a choice's number, an options' text or unknown option, ... */
unsigned setting_choice(const struct settings *s, enum setting what);
void setting_set_choice(struct settings *s, enum setting what, unsigned value);
void *setting_value(struct settings *s, enum setting what);
void *setting_second(struct settings *s, enum setting what);

/* The setting becomes unknown. */
void setting_forget(struct settings *s, enum setting what);

/* The text of all options as configured, sorted by name; NULL = none set or unknown. */
const char *setting_options_text(const struct settings *s, enum setting what);

/* Sets a choice from its text. 0; -EINVAL with what is wrong. */
int setting_parse_choice(struct settings *s, enum setting what, const char *text, struct err *err);

/* Adds to reservedMemory. `type`: "memory", "hugepages-1Gi". 0; -EINVAL: no quantity, or too much. What is given twice is kept: the kubelet refuses it. */
int settings_add_reservation(
	struct settings *s, unsigned node, const char *type, const char *amount, struct err *err);

/* A quantity of a reservation or threshold: from 0 to Quantity.Value()'s limit. 0; -EINVAL with "NAME: what is wrong". */
int setting_parse_amount(const char *name, const char *text, qty_t *ret, struct err *err);

/* The value of a known setting as users write it ("static", "0-1", "cpu=500m,memory=1Gi"), "" for an empty value;
 * a new string that the caller owns. */
char *settings_text(const struct settings *s, enum setting what);
