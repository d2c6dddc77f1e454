/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the kubelet's state files have in common: JSON written by Go's encoding/json, with a checksum, and in
 * the newest formats the content as a string within it (`data`). Depends on agent/ readers and common/ only.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/node/observe/checksum.h"
#include "common/allocation.h"
#include "common/cpuset.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/strv.h"

struct state_file {
	struct doc top;              /* the file */
	struct doc data;             /* what its `data` string holds; DOC_NULL in formats without one */
	uint64_t checksum;           /* as stored, over `data` or the whole; 0 = the writer left it out */
	const char *checksum_member; /* "checksum" or "dataChecksum", for messages */
};

#define STATE_FILE_INIT         \
	{                       \
		.top = DOC_INIT \
	}

/* The healthy devices of one resource. The file does not say on which NUMA nodes they are. */
struct device_registration {
	char *resource;
	struct strv ids; /* sorted */
};

/* What one of the files says, each in its own part; starts at {0}. */
struct kubelet_state {
	char *policy; /* policyName as written; NULL in the device manager's file, which has none */
	struct allocations allocations;
	struct device_registration *registered; /* sorted by resource */
	size_t n_registered;
	size_t registered_size;
};

void kubelet_state_release(struct kubelet_state *s);

/* One of the files: state_cpu, state_memory, state_devices. */
struct state_kind {
	size_t max; /* bytes */
	/* What the parsed file says, if it is consistent. As state_parse(); `ret` may be half filled on failure. */
	int (*read)(const struct state_file *file, const struct machine *machine, struct kubelet_state *ret,
		struct notes *notes, struct err *err);
};

/*
 * Parse the text of a file. What is checked against `machine` (NULL = nothing), and what is no more than a note,
 * is said with each kind. 0; -EINVAL or -ERANGE with what is wrong and where; -EFBIG. *ret is untouched
 * on failure.
 */
int state_parse(const struct state_kind *kind, const char *text, size_t len, const struct machine *machine,
	struct kubelet_state *ret, struct notes *notes, struct err *err);

/*
 * The same for the file at root + path, errors and notes beginning with the path. `last` (NULL = not kept) is what the
 * file said when it was last read, the caller's, NULL at first: it is replaced; a file that was there and is gone says
 * it again, with a note. 0; 1 when it is gone and says it again; -ENOENT, -EACCES, ... as fs_read().
 */
int state_read(const struct state_kind *kind, const char *root, const char *path,
	const struct machine *machine, char **last, struct kubelet_state *ret, struct notes *notes,
	struct err *err);

void state_file_release(struct state_file *f);

/*
 * Parse a state file's text. Refused: more than `max` bytes, an empty text, a byte order mark, what is not
 * exactly one JSON object, a key twice in one object (Go cannot write that, and which one counts would be a
 * guess). 0, -EFBIG, -EINVAL, -ERANGE (a number no double holds exactly); *ret is untouched on
 * failure.
 */
int state_file_parse(const char *text, size_t len, size_t max, struct state_file *ret, struct err *err);

/* The object that counts: what `data` holds where there is one, else the file itself. */
const struct doc *state_file_content(const struct state_file *f);

/*
 * The checksum of `content`, or of the `data` string where there is one, looked for as checksum_find() does.
 * The text it is taken over is put into `text` unless that is NULL. 0, -EINVAL (the content does not have one
 * of the shapes), -EFBIG. Call it after the content was found well formed.
 */
int state_file_checksum(const struct state_file *f, const struct doc *content,
	const struct checksum_shape *shapes, size_t n_shapes, struct strbuf *text,
	struct checksum_match *ret);

/* Whether the stored checksum is right, or 0 and so unchecked, as for the kubelet. A wrong one is put into
 * `notes` with both sums. */
bool state_file_verify(const struct state_file *f, const struct checksum_match *match, struct notes *notes);

/*
 * A member of an object, its name matched without regard to case as Go does. null counts as absent. *ret is
 * NULL when it is absent. 0; -EINVAL when it is of another kind than `kind`, or there in two spellings.
 */
int state_member(
	const struct doc *map, const char *name, enum doc_kind kind, const struct doc **ret, struct err *err);

/* A string member; "" when absent. The text belongs to `map`. 0 or -EINVAL. */
int state_string(const struct doc *map, const char *name, const char **ret, struct err *err);

/* A member that is an integer from 0 on; 0 when absent. 0 or -EINVAL. */
int state_uint64(const struct doc *map, const char *name, uint64_t *ret, struct err *err);

/* A list of NUMA node ids (0 to MACHINE_MAX_NODES - 1); the empty set when absent. *ret is the caller's. 0,
 * -EINVAL. */
int state_numa_nodes(const struct doc *map, const char *name, hwloc_bitmap_t *ret, struct err *err);
