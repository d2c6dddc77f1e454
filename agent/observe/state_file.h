/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the kubelet's state files: the CPU manager's, the memory manager's and the device manager's. Each
 * is JSON written by Go's encoding/json, with a checksum; the newest formats hold the content as a string
 * in the member `data`.
 */
#include <stdbool.h>

#include "agent/observe/checksum.h"
#include "common/allocation.h"
#include "common/cpuset.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/vec.h"

/* Where the files are below the kubelet's root directory. */
#define STATE_CPU_FILE     "cpu_manager_state"
#define STATE_MEMORY_FILE  "memory_manager_state"
#define STATE_DEVICES_FILE "device-plugins/kubelet_internal_checkpoint"

/* Bytes. The device manager's file holds a plugin's whole answer for every container with devices. */
#define STATE_CPU_FILE_MAX     (1024u * 1024u)
#define STATE_MEMORY_FILE_MAX  (1024u * 1024u)
#define STATE_DEVICES_FILE_MAX (8u * 1024u * 1024u)

/* The healthy devices of one resource. The file does not say on which NUMA nodes they are. */
struct device_registration {
	char *resource;
	struct strv ids; /* sorted */
};

/* The content of one of the files, each in its own part; starts at {0}. */
struct kubelet_state {
	char *policy; /* policyName as written; NULL in the device manager's file, which has none */
	struct allocations allocations;
	struct device_registration *registered; /* sorted by resource */
	size_t n_registered;
	size_t registered_size;
};

void kubelet_state_release(struct kubelet_state *s);

struct state_file {
	struct doc top;              /* the file */
	struct doc data;             /* the parsed `data` string; DOC_NULL in formats without one */
	uint64_t checksum;           /* as stored, over `data` or the whole; 0 = the writer omitted it */
	const char *checksum_member; /* "checksum" or "dataChecksum", for messages */
};

#define STATE_FILE_INIT         \
	{                       \
		.top = DOC_INIT \
	}

/* A kind of state file. */
struct state_kind {
	size_t max; /* bytes */
	/* Convert the parsed file, if it is consistent, and move what is large. As state_parse(); `ret` may be half
	 * filled on failure. */
	int (*read)(struct state_file *file, const struct machine *machine, struct kubelet_state *ret,
		struct notes *notes, struct err *err);
	/*
	 * The checksum of a parsed file that read() would accept. The text under the checksum is put into
	 * `text` unless that is NULL. 0; -EINVAL (the content is not what the kubelet writes), -EFBIG.
	 */
	int (*checksum)(const struct state_file *file, struct strbuf *text, struct checksum_match *ret);
	/* The version of the file's format, from 1 on, also of a file that read() rejects. */
	unsigned (*format)(const struct state_file *file);
};

/*
 * cpu_manager_state: the shared pool and the CPUs that containers hold exclusively. Formats v1 (kubelet
 * 1.10) to v4 (1.37). Source of the formats and the rules: pkg/kubelet/cm/cpumanager/state/checkpoint.go,
 * policy_static.go.
 *
 * policy is "none", "static", or what a foreign kubelet calls it. Fills `items` (sorted), `shared` and
 * `cpus_known` of the allocations. shared is NULL under a policy "none" that writes no default set. v1 has
 * container ids only: pod_uid is "" and container the id.
 *
 * A pod with an entry in podEntries holds those CPUs as a whole: it is one item with container "". Its
 * containers' entries are parts of that set which may overlap (the pod's own shared pool is the entry of
 * each container that runs in it): they make no items unless they exceed the set. A pod without containers
 * whose CPUs are all in the default set again has been released and makes no item either.
 *
 * CPUs that `machine` does not have, or that are offline, stay in their sets, with a note: the kubelet counts the
 * CPUs that it found at its start. CPUs in no set at all are legal: the kubelet writes the file twice per change,
 * and strictly reserved CPUs are in no set. CPUs of different pods, and of the default set, should be disjoint,
 * and a container's within its pod's. Where they are not, one note names the first CPUs and their holders; if the
 * checksum is not right, the CPUs are removed from the shared pool (if it is, the kubelet itself gives out the CPUs
 * of the pool: some kubelets hand out a CPU twice on hybrid machines). An entry whose CPUs cannot be read is an item
 * without CPUs, and all CPUs in no set are held by an item without UID. A wrong checksum is a note.
 */
extern const struct state_kind state_cpu;

/*
 * memory_manager_state: per NUMA node and memory type the reserved and free bytes, and the blocks that
 * containers hold. Formats v1 (kubelet 1.21) to v3 (1.37). Source of the formats:
 * pkg/kubelet/cm/memorymanager/state/{checkpoint,state}.go, policy_static.go.
 *
 * policy is "None" or "Static". Fills `items` (with memory blocks), `memory` and `memory_known` of the
 * allocations. memory_known is false under any policy but Static: only Static keeps a machine state. How a
 * block is split between several NUMA nodes is only in `memory`. A pod with memoryBlocks in podEntries is one
 * item with container "", and its containers' entries, which are parts of that item, make no items.
 *
 * NUMA nodes that `machine` does not have stay in the state, with a note. Per node and type, reserved + free =
 * allocatable, and systemReserved + allocatable do not exceed total (nor does an amount that wrapped around below 0:
 * a kubelet on a kernel without NUMA knows of no memory to reserve from, and there is a note). Amounts that
 * contradict each other are lowered until they are consistent; a node or a table that cannot be read has nothing
 * free. A wrong checksum is a note; if the blocks then exceed the reserved bytes, the difference is not free
 * (between the kubelet's two writes per change both differ too, with the right checksum).
 */
extern const struct state_kind state_memory;

/*
 * device-plugins/kubelet_internal_checkpoint: which container holds which devices, and which devices are
 * registered. Source of the format: pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go.
 *
 * Fills `items` (with devices) and `devices_known` of the allocations, and `registered`. A container's
 * devices of one resource are one block for each set of NUMA nodes, ids sorted; the file lists a device on
 * several nodes under each of them. DeviceIDs may be a map from NUMA node ("-1" = no affinity) to ids, or,
 * before kubelet 1.20, a plain list of ids without affinity. A device that two pods hold is a note. An entry that
 * does not show its devices holds all devices of its resource that no other entry holds (an item without UID). A
 * NUMA node that `machine` does not have is a note, and so is a wrong checksum.
 */
extern const struct state_kind state_devices;

/*
 * Parse the text of a file. What is checked against `machine` (NULL = nothing), and what is only a note, is
 * documented with each kind. 0; -EINVAL or -ERANGE with what is wrong and where; -EFBIG. *ret is untouched
 * on failure.
 */
int state_parse(const struct state_kind *kind, const char *text, size_t len, const struct machine *machine,
	struct kubelet_state *ret, struct notes *notes, struct err *err);

/*
 * Parse the file at root + path; errors and notes begin with the path. `last` (NULL = not kept) is the
 * content at the last read, owned by the caller, NULL at first: it is replaced. If a file that existed is
 * missing, its last content is used, with a note. 0; 1 when the last content was used; -ENOENT, -EACCES, ...
 * as fs_read().
 */
int state_read(const struct state_kind *kind, const char *root, const char *path,
	const struct machine *machine, char **last, struct kubelet_state *ret, struct notes *notes,
	struct err *err);

/* ---- entries in doubt: an entry that cannot be right does not make the file unreadable. What the entry may hold counts as
 * held, the entry is noted, and the other entries count as they are. */

/* Note that the file names these NUMA nodes, which the machine does not have; no note for the empty set. */
void state_note_absent_nodes(hwloc_const_bitmap_t nodes, struct notes *notes);

#define STATE_NO_CHECKSUM "the checksum of this content cannot be computed"

/* Notes the first entries and counts the rest, because a damaged file may have thousands. Starts with `notes` only. */
struct state_doubts {
	struct notes *notes;
	size_t n;
};

#define STATE_DOUBTS_NOTED 8

__attribute__((format(printf, 2, 3))) void state_doubt(struct state_doubts *d, const char *fmt, ...);

/* Note how many entries were counted and not noted. */
void state_doubts_end(const struct state_doubts *d);

/* ---- for the readers of the kinds, and of the kubelet's other files with a checksum */

void state_file_release(struct state_file *f);

/*
 * Parse a state file's text. Rejects more than `max` bytes, an empty text, a byte order mark, what is not
 * exactly one JSON object, and a key twice in one object (Go cannot write that, and choosing one would be a
 * guess). 0, -EFBIG, -EINVAL, -ERANGE (a number that no double holds exactly); *ret is untouched on
 * failure.
 */
int state_file_parse(const char *text, size_t len, size_t max, struct state_file *ret, struct err *err);

/* The parsed `data` string where there is one, else the file itself. */
const struct doc *state_file_content(const struct state_file *f);

/*
 * The checksum of `content`, or of the `data` string where there is one, searched as checksum_find() does.
 * The text under the checksum is put into `text` unless that is NULL. 0, -EINVAL (the content has none of
 * the shapes), -EFBIG. Call it after the content was found well formed.
 */
int state_file_checksum(const struct state_file *f, const struct doc *content,
	const struct checksum_shape *shapes, size_t n_shapes, struct strbuf *text,
	struct checksum_match *ret);

/* Whether the stored checksum is right, or 0 and so unchecked, as for the kubelet. A wrong checksum is a
 * note with both sums. */
bool state_file_verify(const struct state_file *f, const struct checksum_match *match, struct notes *notes);

/* Whether the map has a member of this name, without regard to case, that is not null. */
bool state_has_member(const struct doc *map, const char *name);

/* 0; -EINVAL when it is not an object. */
int state_check_object(const struct doc *d, struct err *err);

/*
 * Reads the members of one object, their names matched without regard to case as Go does. An absent member
 * and null give the default. After the first failure `r` is -EINVAL, `err` says why, and every further read
 * gives its default.
 */
struct state_members {
	const struct doc *map;
	struct err *err;
	int r;
};

/* A member of this kind, otherwise NULL. Sets m->r and m->err if the member is of another kind or appears in two spellings. */
const struct doc *state_member(struct state_members *m, const char *name, enum doc_kind kind);

/* A string, else "". The text belongs to the object. */
const char *state_string(struct state_members *m, const char *name);

/* An integer >= 0, else 0. */
uint64_t state_uint64(struct state_members *m, const char *name);

/* A list of NUMA node ids (0 to MACHINE_MAX_NODES - 1) as a set that the caller owns, else the empty set;
 * NULL on failure. */
hwloc_bitmap_t state_numa_nodes(struct state_members *m, const char *name);
