#pragma once
/* Which node a home is: a random number that job ids begin with, bound to one machine and folder,
 * so that a copied home does not run its original's jobs a second time. */
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "store/database/store.h"

typedef struct NodeIdentity {
    uint64_t node;      /* of job ids made here */
    bool is_copy;       /* the home was bound elsewhere: the node is a new one */
    uint64_t jobs_held; /* because of that */
} NodeIdentity;

/* What the home is bound to: this machine's id and the folder's own number in its file system.
 * Errors: IO. */
MUST_CHECK Error *node_identity_binding(const Store *store, Digest *out_binding);

/* Binds the home when nobody has yet. Its node number is made then, unless a job has it in its name
 * already. When it is bound elsewhere, it gets another node number, and
 * all queued and suspended jobs are held until somebody says which of the two homes owns them. */
MUST_CHECK Error *node_identity_claim(
    Store *store, const Digest *binding, NodeIdentity *out_identity);
