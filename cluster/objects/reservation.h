/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses and prints reservations: `kubectl numa plan --apply` reserves places on nodes for the pods that it moves and makes room
 * for.
 *
 * A reservation is an annotation of the Node, reservation.nrtd.dev/ID. Therefore every replica of nrtd-extender knows
 * the reservation, also after a restart, and writing a reservation requires the right to patch Nodes. A kubelet has
 * this right only for its own Node.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/request.h"
#include "common/strbuf.h"

#define RESERVATION_PREFIX    "reservation.nrtd.dev/"
#define RESERVATION_TEXT_MAX  ((size_t)32 << 10) /* the API server accepts 256 KiB of annotations per object */
#define RESERVATIONS_MAX      64u                /* per node; further reservations are ignored */
#define RESERVATIONS_READ_MAX 256u /* per node, valid or not; the node may write what it wants */
#define RESERVATION_MAX_S     3600 /* a reservation expires after this time at the latest */

/* Texts are "" if omitted. */
struct reservation {
	char *id;              /* of the key */
	char *namespace, *pod; /* of the pod that is moved or wanted */
	char *uid,
		*controller; /* only this pod, or pods of the controller with this UID, may use the reservation */
	bool closed;         /* no pod may use the reservation until it is written again */
	int64_t step; /* position in the plan: pods of earlier reservations start before the pods of later ones */
	int64_t created_s, expires_s;
	struct pod_request request;
};

void reservation_release(struct reservation *r);

/* The ID in the key of a reservation's annotation; NULL = another annotation. */
const char *reservation_id(const char *key);

/* Parses an annotation. 0; -EINVAL with one line that names the annotation. `ret` is untouched on failure. */
int reservation_parse(const char *key, const char *value, struct reservation *ret, struct err *err);

/* Called for each of the first invalid reservations, and once for all others. */
typedef void reservation_invalid_fn(const struct err *err, const void *data);

/*
 * Parses the reservations among a Node's annotations (NULL = none) that have not expired. Ignores invalid reservations, after a call of
 * `invalid` (NULL = none). Returns their number, RESERVATIONS_MAX at most; the caller releases each.
 */
size_t reservations_parse(const struct doc *annotations, reservation_invalid_fn *invalid, const void *data,
	struct reservation ret[RESERVATIONS_MAX]);

/*
 * Prints the value of an annotation. The requests are those of `object`, a Pod or an object with the spec of one. 0; -EFBIG for a
 * value of more than RESERVATION_TEXT_MAX bytes.
 */
int reservation_print(const struct reservation *r, const struct doc *object, struct strbuf *out);

/*
 * The bytes that reservation_print() needs for the pod of an API server, or some more: of a reservation with the texts of `r`. (Devices of DRA
 * claims are not counted: their pods have no reservations.)
 */
size_t reservation_size(const struct reservation *r, const struct pod_request *pod);

/* A pod that may use reservations. Texts are "" if they are not known. */
struct reservation_user {
	const char *namespace, *uid, *controller;
};

/* The user of this namespace with the UID and the controller of the object's metadata (NULL = none). Valid as long as both. */
struct reservation_user reservation_user_of(const char *namespace, const struct doc *object);

/* Whether the pod may use the reservation. A reservation for a UID or a controller is for that pod or the controller's pods. Any
 * other reservation is for pods with the same requests (`same_requests`) in the namespace. */
bool reservation_is_for(const struct reservation *r, const struct reservation_user *user, bool same_requests);

/* The UID of the controller in an object's owner references; "" = none. */
const char *controller_uid(const struct doc *metadata);

/* The controller of an object's owner references; NULL = none. */
const struct doc *controller_of(const struct doc *metadata);
