/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes the checksums of the kubelet's state files: FNV-1a (32 bits) over the text that go-spew's "%#v"
 * makes of the Go struct (k8s.io/utils/dump.ForHash, pkg/kubelet/checkpointmanager/checksum). Tables
 * describe the structs, one renderer turns a parsed file into that text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/doc.h"
#include "common/strbuf.h"

#define CHECKSUM_FNV1A_START 0x811c9dc5u

/* FNV-1a, 32 bits, continued from `sum` (begin with CHECKSUM_FNV1A_START). */
uint32_t checksum_fnv1a(uint32_t sum, const void *data, size_t len);

/* How a Go type prints. JSON null and an absent member are the type's zero value. */
enum go_kind {
	GO_STRING,  /* raw, unquoted */
	GO_INTEGER, /* decimal */
	GO_ZERO,    /* an integer that prints as 0 whatever it is: the checksum itself */
	GO_BYTES,   /* base64 in JSON, "[10 31]" */
	GO_CPUSET,  /* a CPU list in JSON, the set's Go struct in the text */
	GO_LIST,
	GO_MAP,     /* keys are strings, in byte order */
	GO_INT_MAP, /* keys are integers, ascending */
	GO_STRUCT,
	GO_POINTER /* to a struct */
};

struct go_type {
	enum go_kind kind;
	const char *name;              /* as a struct's field shows it, "map[string]string" */
	const struct go_type *element; /* of lists, maps, pointers */
	const struct go_field *fields; /* of structs */
	size_t n_fields;
};

struct go_field {
	const char *name; /* in Go */
	const char *key;  /* in JSON; matched without regard to case, as encoding/json does */
	const struct go_type *type;
};

#define GO_STRUCT_OF(type_name, field_array)                                     \
	{                                                                        \
		.kind = GO_STRUCT, .name = (type_name), .fields = (field_array), \
		.n_fields = ARRAY_SIZE(field_array)                              \
	}

extern const struct go_type go_string, go_checksum;

/* A struct that may have been hashed, and the names that it has had ("*state.CPUManagerCheckpoint"). */
struct checksum_shape {
	const struct go_type *type;
	const char *const *names; /* ends with NULL */
};

struct checksum_match {
	bool matches;
	uint32_t computed; /* the sum that matches, else that of the first rendering */
};

/*
 * Search for a rendering of `content` whose checksum is `stored`: every shape under each of its names, and
 * every empty map of the outermost struct both as "map[]" and as "<nil>" (the writer decides which, and the
 * file does not show it). The text that matched, else the first text, is put into `text` unless that is
 * NULL. 0; -EINVAL when a value does not fit the shape (keys that are not integers, bad base64, bad CPU
 * list); -EFBIG (`text` too small). The content must have been checked for duplicate keys.
 */
int checksum_find(const struct doc *content, const struct checksum_shape *shapes, size_t n_shapes,
	uint64_t stored, struct strbuf *text, struct checksum_match *ret);

/* The checksum of a `data` member: over "(string)" and its bytes. */
uint32_t checksum_data(const char *data);

/* A map key that Go decodes into an integer type: "0", "-1". 0 or -EINVAL. */
int checksum_integer_key(const char *key, int64_t *ret);
