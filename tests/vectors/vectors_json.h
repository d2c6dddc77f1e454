/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Recorded cases as JSON, behind strict getters. A recorded file is input that the test stands on, so a
 * member of another kind than asked for ends the program with one line that shows the place (status 2).
 * The only file that includes cJSON is vectors_json.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/err.h"
#include "common/resource.h"

typedef struct cJSON vj; /* one JSON value */

/* A file: one JSON text, or one on each line. */
struct vj_file {
	vj **docs;
	size_t n_docs;
	size_t docs_size;
};

/* 0, -EINVAL (not JSON), or what reading the file gave. The caller releases *ret. */
int vj_load(const char *path, struct vj_file *ret, struct err *err);
void vj_release(struct vj_file *f);

/* The first case of a file of any of the usual forms: a list of cases, an object with a list "cases", or one
 * case on each line. NULL when there is none. */
const vj *vj_first_case(const struct vj_file *f);

/* Every case of such a file, in order. */
#define VJ_FOREACH_CASE(c, file) for (const vj *c = vj_first_case(file); c; c = vj_next_case(file, c))
const vj *vj_next_case(const struct vj_file *f, const vj *c);

/* Members of a map or items of a list, in document order. A NULL or null parent has none. */
#define VJ_FOREACH(item, parent) for (const vj *item = vj_first(parent); item; item = vj_next(item))
const vj *vj_first(const vj *parent);
const vj *vj_next(const vj *item);
const char *vj_key(const vj *member); /* its name in the map */
size_t vj_count(const vj *parent);

/* The member, or NULL when it is absent or null. */
const vj *vj_get(const vj *map, const char *key);

/* The member; absent ends the program. A null is returned as it is. */
const vj *vj_need(const vj *map, const char *key);

bool vj_is_null(const vj *v); /* absent counts as null */
bool vj_is_map(const vj *v);
bool vj_is_list(const vj *v);
bool vj_is_string(const vj *v);
bool vj_is_number(const vj *v);

/* The value of a scalar; another kind ends the program. */
const char *vj_string(const vj *v);
int64_t vj_int(const vj *v); /* a whole number within int64 */
unsigned vj_unsigned(const vj *v);
double vj_double(const vj *v);
bool vj_bool(const vj *v);
struct quantity vj_quantity(const vj *v);     /* a string or a whole number */
hwloc_bitmap_t vj_cpuset(const vj *v);        /* "0-3,8"; the caller frees it */
hwloc_bitmap_t vj_ids(const vj *list_of_ids); /* [0,2]; the caller frees it */

/* The value as JSON on one line, for messages; the caller frees it. */
char *vj_text(const vj *v);

/* End the program: "vectors: TEXT: the value's JSON". */
__attribute__((noreturn, format(printf, 2, 3))) void vj_die(const vj *v, const char *fmt, ...);
