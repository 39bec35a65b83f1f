#include "vm/code/liveness.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/code/liveness_internal.h"

/* Upper bound on (block, register) pairs that may be alive: code with more is refused. Linear in
 * the code's size, so that hostile code costs no more than its bytes justify; a real program of
 * 10,000 words has a few thousand pairs. */
enum { PAIRS_PER_WORD = 256, PAIRS_MIN = 1 << 16, PAIRS_MAX = 1 << 26 };

typedef struct LivenessCache {
    CodeFacts facts;
    uint32_t function_count;
    _Atomic(FunctionLiveness *) functions[];
} LivenessCache;

typedef struct Pair {
    uint32_t register_index;
    uint32_t block;
} Pair;

typedef struct PairList {
    Pair *pairs;
    size_t count, capacity;
} PairList;

static Error *pair_list_add(PairList *list, uint32_t register_index, uint32_t block) {
    void *array = list->pairs;
    TRY(memory_grow(&array, list->count, &list->capacity, sizeof(Pair)));
    list->pairs = array;
    list->pairs[list->count++] = (Pair){register_index, block};
    return NULL;
}

/* The memory for the analysis of one function. It handles one register at a time: from each block
 * that reads the register before writing it, backwards through the predecessors up to the
 * writers. */
typedef struct Analysis {
    const Executable *executable;
    const Function *function;
    FunctionLiveness *result;
    PairList reads;          /* blocks that read a register before they write it */
    PairList writes;         /* blocks that write a register */
    PairList live_out;       /* found so far, by ascending register */
    uint32_t *read_offsets;  /* register_count + 1: into reads once sorted */
    uint32_t *write_offsets; /* register_count + 1 */
    uint32_t *stamps;        /* 3 per block: last register + 1 that is written in it, alive at its
                                start, alive at its end */
    uint32_t *stack;
    uint32_t stack_count;
    uint64_t pairs_max;
} Analysis;

static void analysis_deinit(Analysis *analysis) {
    memory_free(analysis->reads.pairs);
    memory_free(analysis->writes.pairs);
    memory_free(analysis->live_out.pairs);
    memory_free(analysis->read_offsets);
    memory_free(analysis->write_offsets);
    memory_free(analysis->stamps);
    memory_free(analysis->stack);
}

static Error *alloc_words(size_t count, uint32_t **out) {
    void *memory;
    TRY(memory_alloc(count, sizeof(uint32_t), &memory));
    *out = memory;
    return NULL;
}

/* inout_seen: 2 per register: block + 1 of the last recorded read and of the last recorded
 * write. */
static Error *scan_instruction(
    Analysis *analysis, uint32_t block, const Instruction *instruction, uint32_t *inout_seen) {
    uint32_t read_count = instruction_first_written(instruction);
    for (uint32_t i = 0; i < read_count; i++) {
        if (operand_kind(instruction->operands[i]) != OPERAND_REGISTER) continue;
        uint32_t index = (uint32_t)operand_value(instruction->operands[i]);
        uint32_t *seen = inout_seen + 2 * (size_t)index;
        if (seen[0] == block + 1 || seen[1] == block + 1) continue;
        seen[0] = block + 1;
        TRY(pair_list_add(&analysis->reads, index, block));
    }
    for (uint32_t i = read_count; i <= instruction->operand_count; i++) {
        uint32_t index;
        if (i < instruction->operand_count)
            index = (uint32_t)operand_value(instruction->operands[i]);
        else if (instruction_has_destination(instruction))
            index = head_destination(instruction->head);
        else
            break;
        uint32_t *seen = inout_seen + 2 * (size_t)index;
        if (seen[1] == block + 1) continue;
        seen[1] = block + 1;
        TRY(pair_list_add(&analysis->writes, index, block));
    }
    return NULL;
}

static Error *scan_code(Analysis *analysis) {
    uint32_t *seen;
    TRY(alloc_words(2 * (size_t)analysis->function->register_count, &seen));
    const BasicBlocks *blocks = &analysis->result->blocks;
    Error *error = NULL;
    for (uint32_t block = 0; !error && block < blocks->count; block++) {
        for (uint32_t pc = blocks->starts[block]; !error && pc < blocks->starts[block + 1]; pc++) {
            Instruction instruction = instruction_read(
                function_instruction(analysis->executable, analysis->function, pc));
            error = scan_instruction(analysis, block, &instruction, seen);
        }
    }
    memory_free(seen);
    return error;
}

/* Stable counting sort; out_offsets[k] is where key k begins. */
static Error *sort_pairs(PairList *list, bool by_block, uint32_t key_count, uint32_t *out_offsets) {
    for (size_t i = 0; i < list->count; i++)
        out_offsets[(by_block ? list->pairs[i].block : list->pairs[i].register_index) + 1]++;
    for (uint32_t key = 0; key < key_count; key++) out_offsets[key + 1] += out_offsets[key];
    void *memory;
    TRY(memory_alloc(list->count, sizeof(Pair), &memory));
    Pair *sorted = memory;
    uint32_t *next;
    Error *error = alloc_words(key_count, &next);
    if (error) {
        memory_free(sorted);
        return error;
    }
    memcpy(next, out_offsets, key_count * sizeof *next);
    for (size_t i = 0; i < list->count; i++)
        sorted[next[by_block ? list->pairs[i].block : list->pairs[i].register_index]++] =
            list->pairs[i];
    memory_free(next);
    memory_free(list->pairs);
    list->pairs = sorted;
    list->capacity = list->count;
    return NULL;
}

static void reach(Analysis *analysis, uint32_t block, uint32_t mark) {
    uint32_t *stamps = analysis->stamps + 3 * (size_t)block;
    if (stamps[1] == mark) return;
    stamps[1] = mark;
    analysis->stack[analysis->stack_count++] = block;
}

static Error *explore_register(Analysis *analysis, uint32_t index) {
    const BasicBlocks *blocks = &analysis->result->blocks;
    uint32_t mark = index + 1;
    for (uint32_t i = analysis->write_offsets[index]; i < analysis->write_offsets[mark]; i++)
        analysis->stamps[3 * (size_t)analysis->writes.pairs[i].block] = mark;
    for (uint32_t i = analysis->read_offsets[index]; i < analysis->read_offsets[mark]; i++)
        reach(analysis, analysis->reads.pairs[i].block, mark);
    while (analysis->stack_count > 0) {
        uint32_t block = analysis->stack[--analysis->stack_count];
        uint32_t end = blocks->predecessor_offsets[block + 1];
        for (uint32_t i = blocks->predecessor_offsets[block]; i < end; i++) {
            uint32_t from = blocks->predecessors[i];
            uint32_t *stamps = analysis->stamps + 3 * (size_t)from;
            if (stamps[2] == mark) continue;
            stamps[2] = mark;
            if (analysis->live_out.count >= analysis->pairs_max)
                FAIL(UNSUPPORTED,
                    "function %s: more than %" PRIu64 " registers alive at block ends",
                    analysis->function->name, analysis->pairs_max);
            TRY(pair_list_add(&analysis->live_out, index, from));
            if (stamps[0] != mark) reach(analysis, from, mark);
        }
    }
    return NULL;
}

static Error *explore(Analysis *analysis) {
    FunctionLiveness *result = analysis->result;
    uint32_t register_count = analysis->function->register_count, entry_count = 0;
    size_t capacity = 0;
    for (uint32_t i = 0; i < register_count; i++) {
        TRY(explore_register(analysis, i));
        if (analysis->stamps[1] != i + 1) continue; /* not alive at the start of block 0 */
        void *entry = result->live_in_entry;
        TRY(memory_grow(&entry, entry_count, &capacity, sizeof(uint32_t)));
        result->live_in_entry = entry;
        result->live_in_entry[entry_count++] = i;
    }
    result->live_in_entry_count = entry_count;
    return NULL;
}

static Error *store_live_out(Analysis *analysis) {
    FunctionLiveness *result = analysis->result;
    uint32_t block_count = result->blocks.count;
    TRY(alloc_words((size_t)block_count + 1, &result->live_out_offsets));
    TRY(sort_pairs(&analysis->live_out, true, block_count, result->live_out_offsets));
    TRY(alloc_words(analysis->live_out.count, &result->live_out));
    for (size_t i = 0; i < analysis->live_out.count; i++)
        result->live_out[i] = analysis->live_out.pairs[i].register_index;
    return NULL;
}

static Error *analyse(Analysis *analysis, uint32_t function) {
    uint32_t register_count = analysis->function->register_count;
    TRY(basic_blocks_create(analysis->executable, function, &analysis->result->blocks));
    uint32_t block_count = analysis->result->blocks.count;
    TRY(scan_code(analysis));
    TRY(alloc_words((size_t)register_count + 1, &analysis->read_offsets));
    TRY(alloc_words((size_t)register_count + 1, &analysis->write_offsets));
    TRY(sort_pairs(&analysis->reads, false, register_count, analysis->read_offsets));
    TRY(sort_pairs(&analysis->writes, false, register_count, analysis->write_offsets));
    TRY(alloc_words(3 * (size_t)block_count, &analysis->stamps));
    TRY(alloc_words(block_count, &analysis->stack));
    TRY(explore(analysis));
    return store_live_out(analysis);
}

static void function_liveness_release(FunctionLiveness *liveness) {
    if (!liveness) return;
    basic_blocks_deinit(&liveness->blocks);
    memory_free(liveness->live_out_offsets);
    memory_free(liveness->live_out);
    memory_free(liveness->live_in_entry);
    memory_free(liveness);
}
DEFINE_OWN(FunctionLiveness, function_liveness_release);

static Error *compute(const Executable *executable, uint32_t function, FunctionLiveness **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(FunctionLiveness), &memory));
    OWN(FunctionLiveness, liveness) = memory;
    Analysis analysis = {
        .executable = executable,
        .function = &executable->functions[function],
        .result = liveness,
    };
    analysis.pairs_max = (uint64_t)PAIRS_PER_WORD * analysis.function->word_count + PAIRS_MIN;
    if (analysis.pairs_max > PAIRS_MAX) analysis.pairs_max = PAIRS_MAX;
    Error *error = analyse(&analysis, function);
    analysis_deinit(&analysis);
    if (!error) *out = TAKE(liveness);
    return error;
}

static void release_cache(CodeFacts *facts) {
    LivenessCache *cache = (LivenessCache *)facts;
    for (uint32_t i = 0; i < cache->function_count; i++)
        function_liveness_release(atomic_load(&cache->functions[i]));
    memory_free(cache);
}

/* The first caller makes the cache. If two callers race, the loser drops its own. */
static Error *get_cache(const Executable *executable, LivenessCache **out) {
    CodeFacts **place = (CodeFacts **)(uintptr_t)&executable->liveness;
    CodeFacts *facts = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (!facts) {
        void *memory;
        LivenessCache *made;
        TRY(memory_alloc(
            1, sizeof *made + executable->function_count * sizeof made->functions[0], &memory));
        made = memory;
        made->facts.release = release_cache;
        made->function_count = executable->function_count;
        if (__atomic_compare_exchange_n(
                place, &facts, &made->facts, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            facts = &made->facts;
        else
            memory_free(made);
    }
    *out = (LivenessCache *)facts;
    return NULL;
}

Error *liveness_of_function(
    const Executable *executable, uint32_t function, const FunctionLiveness **out) {
    LivenessCache *cache;
    TRY(get_cache(executable, &cache));
    FunctionLiveness *known =
        atomic_load_explicit(&cache->functions[function], memory_order_acquire);
    if (!known) {
        FunctionLiveness *made;
        TRY(compute(executable, function, &made));
        if (atomic_compare_exchange_strong(&cache->functions[function], &known, made))
            known = made;
        else
            function_liveness_release(made);
    }
    *out = known;
    return NULL;
}

/* The registers alive after instruction pc; the end of its block is at most 64 instructions
 * away. */
static Error *alive_behind(
    const Executable *executable, uint32_t function, uint32_t pc, uint64_t *out_words) {
    const Function *in = &executable->functions[function];
    const FunctionLiveness *liveness;
    TRY(liveness_of_function(executable, function, &liveness));
    memset(out_words, 0, (in->register_count + 63) / 64 * sizeof *out_words);
    uint32_t block = basic_blocks_find(&liveness->blocks, pc);
    live_load_block_end(liveness, block, out_words);
    for (uint32_t at = liveness->blocks.starts[block + 1] - 1; at > pc; at--) {
        Instruction instruction = instruction_read(function_instruction(executable, in, at));
        live_step_back(&instruction, out_words);
    }
    return NULL;
}

Error *liveness_before(
    const Executable *executable, uint32_t function, uint32_t pc, uint64_t *out_words) {
    TRY(alive_behind(executable, function, pc, out_words));
    const Function *in = &executable->functions[function];
    Instruction instruction = instruction_read(function_instruction(executable, in, pc));
    live_step_back(&instruction, out_words);
    return NULL;
}

Error *liveness_of_caller(
    const Executable *executable, uint32_t function, uint32_t pc, uint64_t *out_words) {
    TRY(alive_behind(executable, function, pc, out_words));
    const Function *in = &executable->functions[function];
    Instruction instruction = instruction_read(function_instruction(executable, in, pc));
    live_remove_written(&instruction, out_words);
    return NULL;
}

/* Steps backwards over one instruction and marks the reads of registers that are dead after it. */
static void mark_instruction(uint64_t *words, uint64_t *inout_live) {
    Instruction instruction = instruction_read(words);
    live_remove_written(&instruction, inout_live);
    for (uint32_t i = instruction_first_written(&instruction); i-- > 0;) {
        uint64_t *operand = &words[1 + i];
        if (operand_kind(*operand) != OPERAND_REGISTER) continue;
        uint32_t index = (uint32_t)operand_value(*operand);
        *operand &= ~OPERAND_LAST_USE;
        if (!live_has(inout_live, index)) *operand |= OPERAND_LAST_USE;
        live_add(inout_live, index);
    }
}

Error *liveness_mark_last_uses(
    const Executable *executable, uint32_t function, uint64_t *inout_words) {
    const Function *in = &executable->functions[function];
    const FunctionLiveness *liveness;
    TRY(liveness_of_function(executable, function, &liveness));
    void *memory;
    TRY(memory_alloc((in->register_count + 63) / 64, sizeof(uint64_t), &memory));
    uint64_t *live = memory;
    const BasicBlocks *blocks = &liveness->blocks;
    for (uint32_t block = 0; block < blocks->count; block++) {
        live_load_block_end(liveness, block, live);
        for (uint32_t pc = blocks->starts[block + 1]; pc-- > blocks->starts[block];)
            mark_instruction(inout_words + in->instruction_words[pc], live);
        live_clear_block(liveness, executable, function, block, live);
    }
    memory_free(live);
    return NULL;
}
