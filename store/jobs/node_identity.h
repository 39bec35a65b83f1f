#pragma once
/* The identity of a home as a node: a random number that job ids begin with. The number is bound to
 * one machine and folder, so that a copied home does not run the original's jobs a second time.
 * Caller: the daemon (scheduler/daemon) when it starts, in its main thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "store/database/store.h"

typedef struct NodeIdentity {
    uint64_t node;      /* the first part of the ids of jobs made here */
    bool is_copy;       /* the home was bound elsewhere and has got a new node number */
    uint64_t jobs_held; /* jobs that were held because the home is a copy */
} NodeIdentity;

/* Computes the binding from this machine's id and the folder's number in its file system.
 * Errors: IO. */
MUST_CHECK Error *node_identity_binding(const Store *store, Digest *out_binding);

/* Binds the home if it has no binding, and makes its node number then, unless a job's id already
 * contains the number. A home that is bound elsewhere gets another node number, and all queued and
 * suspended jobs are held until a person says which of the two homes owns them. */
MUST_CHECK Error *node_identity_claim(
    Store *store, const Digest *binding, NodeIdentity *out_identity);
