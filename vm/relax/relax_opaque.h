#pragma once
/* The kinds of opaque objects of Relax: caches and states. Their memory is host memory, charged to
 * the execution, which a snapshot copies; the pages of a paged cache are tensors, which snapshots
 * share. On the execution's thread. */
#include "vm/objects/opaque.h"
#include "vm/relax/relax_arguments.h"

extern const OpaqueKind relax_kv_array;  /* relax_kv_array.c: the older attention cache */
extern const OpaqueKind relax_rnn_state; /* relax_rnn_state.c */

/* The state of an opaque object of that kind. Errors: INVALID another kind. */
MUST_CHECK Error *relax_opaque_state(const Value *value, const OpaqueKind *kind, void **out);

/* What kv_state_* do to a kind of state. seq: the number of a sequence. */
typedef struct RelaxSequences {
    const OpaqueKind *kind;
    void (*clear)(void *state);
    Error *(*add)(void *state, int64_t seq);
    Error *(*remove)(void *state, int64_t seq);
    /* Where the two ask the call for memory, nothing has happened. */
    Error *(*fork)(PackedCall *call, void *state, int64_t parent, int64_t child, int64_t position);
    Error *(*pop)(PackedCall *call, void *state, int64_t seq, int64_t count);
    /* parents: of the positions in a token tree, position_count in all; NULL: chains. */
    Error *(*begin)(void *state, const int64_t *seqs, const int64_t *lengths, uint32_t count,
        const int64_t *parents, uint32_t parent_count);
    Error *(*end)(void *state);
} RelaxSequences;
extern const RelaxSequences relax_rnn_sequences;
