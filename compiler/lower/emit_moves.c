#include "compiler/lower/emit_moves.h"

#include "base/allocator.h"

/* Parallel moves between registers form chains and cycles. A chain ends in a register that no move
 * reads: chains go first, from that end. A cycle is opened by saving one register. */
typedef struct Moves {
    uint64_t *source_of; /* by target register; valid where pending */
    uint32_t *readers;   /* by register: pending moves that read it */
    uint8_t *pending;    /* by target register */
    uint32_t *ready;     /* targets that no pending move reads */
    uint32_t ready_count;
} Moves;

static Error *moves_drain(Emitter *emitter, Moves *moves) {
    while (moves->ready_count > 0) {
        uint32_t target = moves->ready[--moves->ready_count];
        uint64_t source = moves->source_of[target];
        TRY(emit_move(emitter, source, target));
        moves->pending[target] = 0;
        if (operand_kind(source) != OPERAND_REGISTER) continue;
        uint32_t from = (uint32_t)operand_value(source);
        if (--moves->readers[from] == 0 && moves->pending[from])
            moves->ready[moves->ready_count++] = from;
    }
    return NULL;
}

static Error *moves_run(Emitter *emitter, Moves *moves, const uint64_t *sources,
    const uint32_t *targets, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t self = operand_make(OPERAND_REGISTER, targets[i]);
        if (sources[i] == self) continue;
        moves->source_of[targets[i]] = sources[i];
        moves->pending[targets[i]] = 1;
        if (operand_kind(sources[i]) == OPERAND_REGISTER)
            moves->readers[operand_value(sources[i])]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (moves->pending[targets[i]] && moves->readers[targets[i]] == 0)
            moves->ready[moves->ready_count++] = targets[i];
    }
    TRY(moves_drain(emitter, moves));
    uint32_t scratch = emitter->registers.scratch;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t target = targets[i];
        if (!moves->pending[target]) continue;
        /* all that is left are cycles, each register read once */
        TRY(emit_move(emitter, operand_make(OPERAND_REGISTER, target), scratch));
        uint32_t at = target;
        for (;;) {
            uint32_t from = (uint32_t)operand_value(moves->source_of[at]);
            moves->pending[at] = 0;
            uint32_t read = from == target ? scratch : from;
            TRY(emit_move(emitter, operand_make(OPERAND_REGISTER, read), at));
            if (from == target) break;
            at = from;
        }
    }
    return NULL;
}

Error *emit_parallel_moves(
    Emitter *emitter, const uint64_t *sources, const uint32_t *targets, uint32_t count) {
    uint32_t registers = emitter->registers.count;
    void *block;
    /* one block for the four arrays: each element is at most 8 bytes */
    TRY(memory_alloc(registers + 1, sizeof(uint64_t) + 2 * sizeof(uint32_t) + 1, &block));
    Moves moves = {.source_of = block};
    moves.readers = (uint32_t *)(moves.source_of + registers);
    moves.ready = moves.readers + registers;
    moves.pending = (uint8_t *)(moves.ready + registers);
    Error *error = moves_run(emitter, &moves, sources, targets, count);
    memory_free(block);
    return error;
}
