#include <inttypes.h>

#include "base/allocator.h"
#include "vm/relax/relax_paged.h"
#include "vm/relax/relax_registry.h"

static const RelaxSequences *const all_sequences[] = {&relax_rnn_sequences, &relax_paged_sequences};

Error *relax_opaque_state(const Value *value, const OpaqueKind *kind, void **out) {
    if (value->opaque->kind != kind)
        FAIL(INVALID, "argument 0 is a %s, not a %s", value->opaque->kind->name, kind->name);
    *out = value->opaque->state;
    return NULL;
}

static Error *get_sequences(const Value *value, const RelaxSequences **out, void **out_state) {
    for (size_t i = 0; i < sizeof all_sequences / sizeof all_sequences[0]; i++) {
        if (value->opaque->kind != all_sequences[i]->kind) continue;
        *out = all_sequences[i];
        *out_state = value->opaque->state;
        return NULL;
    }
    FAIL(INVALID, "argument 0 is a %s, which has no sequences", value->opaque->kind->name);
}

RELAX(kv_state_clear) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    sequences->clear(state);
    return NULL;
}

RELAX(kv_state_add_sequence) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    return sequences->add(state, relax_int(&arguments[1]));
}

RELAX(kv_state_remove_sequence) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    return sequences->remove(state, relax_int(&arguments[1]));
}

RELAX(kv_state_fork_sequence) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    return sequences->fork(call, state, relax_int(&arguments[1]), relax_int(&arguments[2]),
        count > 3 ? relax_int(&arguments[3]) : -1);
}

RELAX(kv_state_popn) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    return sequences->pop(call, state, relax_int(&arguments[1]), relax_int(&arguments[2]));
}

RELAX(kv_state_begin_forward) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    int64_t *seqs, *lengths, *parents = NULL;
    uint32_t seq_count, length_count, parent_count = 0;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    TRY(relax_ints(call, "the sequences", &arguments[1], &seqs, &seq_count));
    OWN_MEMORY(owned_seqs) = seqs;
    TRY(relax_ints(call, "the lengths", &arguments[2], &lengths, &length_count));
    OWN_MEMORY(owned_lengths) = lengths;
    bool tree = count > 3 && arguments[3].tag != VALUE_NIL;
    if (tree) TRY(relax_ints(call, "the parents", &arguments[3], &parents, &parent_count));
    OWN_MEMORY(owned_parents) = parents;
    if (seq_count != length_count)
        FAIL(INVALID, "%u sequences and %u lengths", seq_count, length_count);
    for (uint32_t i = 0; i < seq_count; i++) {
        if (lengths[i] < 0)
            FAIL(INVALID, "sequence %" PRIi64 " gets %" PRIi64 " positions", seqs[i], lengths[i]);
        for (uint32_t other = 0; other < i; other++)
            if (seqs[other] == seqs[i])
                FAIL(INVALID, "sequence %" PRIi64 " is in the round twice", seqs[i]);
    }
    return sequences->begin(state, seqs, lengths, seq_count, parents, parent_count);
}

RELAX(kv_state_end_forward) {
    RELAX_UNUSED();
    const RelaxSequences *sequences;
    void *state;
    TRY(get_sequences(&arguments[0], &sequences, &state));
    return sequences->end(state);
}
