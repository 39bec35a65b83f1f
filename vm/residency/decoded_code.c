#include "vm/residency/decoded_code.h"

#include <pthread.h>

#include "base/allocator.h"
#include "vm/instruction/instruction.h"
#include "vm/residency/interpreter_labels.h"

enum {
    KEPT_KEY_WORDS_MAX = 256, /* upper bound on a kept cache's key, which has shapes and short
                               * values */
    /* sets of caches for each function; so many executions at once find one */
    KEPT_SITES_MAX = 16,
};

/* One cache line each, since threads take and leave them all the time. */
typedef struct KeptSites {
    _Atomic(InlineCache *) caches; /* unused caches; NULL: none */
    uint8_t padding[64 - sizeof(void *)];
} KeptSites;

/* Made when a function is first called: an executable may have a million functions. */
typedef struct CodeEntry {
    DecodedFunction function;
    KeptSites sites[KEPT_SITES_MAX];
} CodeEntry;

struct DecodedCode {
    const Residency *residency;
    uint32_t function_count;
    _Atomic(CodeEntry *) entries[];
};

static void release_sites(InlineCache *sites, uint32_t count) {
    for (uint32_t i = 0; sites && i < count; i++) inline_cache_deinit(&sites[i]);
    memory_free(sites);
}

static void code_entry_release(CodeEntry *entry) {
    if (!entry) return;
    for (uint32_t i = 0; i < KEPT_SITES_MAX; i++)
        release_sites(atomic_load(&entry->sites[i].caches), entry->function.site_count);
    memory_free(entry->function.instructions);
    memory_free(entry->function.operands);
    memory_free(entry->function.immediates);
    memory_free(entry);
}
DEFINE_OWN(CodeEntry, code_entry_release);

Error *decoded_code_create(const Residency *residency, DecodedCode **out) {
    uint32_t count = residency->executable->function_count;
    void *memory;
    const size_t size = sizeof(DecodedCode) + count * sizeof(_Atomic(CodeEntry *));
    TRY(memory_alloc_lines(1, size, &memory));
    DecodedCode *code = memory;
    code->residency = residency;
    code->function_count = count;
    *out = code;
    return NULL;
}

void decoded_code_release(DecodedCode *code) {
    if (!code) return;
    for (uint32_t i = 0; i < code->function_count; i++)
        code_entry_release(atomic_load(&code->entries[i]));
    memory_free(code);
}

static const PackedWeight *find_weight(
    const Residency *residency, const Instruction *instruction, uint32_t index) {
    if (instruction->opcode != OPCODE_INVOKE_PACKED || index < 2) return NULL;
    if (instruction->flags & INSTRUCTION_HOST) return NULL;
    return residency_find_weight(residency, (uint32_t)operand_value(instruction->operands[0]),
        index - 2, (uint32_t)operand_value(instruction->operands[index]));
}

static DecodedOperand decode_operand(const Residency *residency, const Instruction *instruction,
    uint32_t pc, uint32_t index, Value **inout_immediates) {
    uint64_t word = instruction->operands[index];
    DecodedOperand operand = {.last_use = operand_is_last_use(word)};
    switch (operand_kind(word)) {
    case OPERAND_REGISTER:
    case OPERAND_FUNCTION:
        operand.index = (uint32_t)operand_value(word);
        break;
    case OPERAND_ABSENT:
        operand.absent = true;
        break;
    case OPERAND_CONSTANT:
        operand.index = (uint32_t)operand_value(word);
        operand.weight = find_weight(residency, instruction, index);
        operand.packed = operand.weight;
        if (!operand.packed) operand.constant = &residency->constant_values[operand.index];
        break;
    case OPERAND_IMMEDIATE:
        operand.index = (uint32_t)operand_value(word);
        if (opcode_operand_letter(instruction->head, index, instruction->output_count) == 'j')
            operand.index = (uint32_t)(pc + operand_value(word));
        operand.constant = *inout_immediates;
        *(*inout_immediates)++ = value_int(operand_value(word));
        break;
    }
    return operand;
}

static void decode_jumps(
    const Instruction *instruction, const DecodedOperand *operands, uint32_t pc, int32_t jumps[2]) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < instruction->operand_count && found < 2; i++)
        if (opcode_operand_letter(instruction->head, i, instruction->output_count) == 'j')
            jumps[found++] = (int32_t)(operands[i].index - pc);
}

static void decode_instruction(const Residency *residency, const uint64_t *words, uint32_t pc,
    DecodedFunction *function, DecodedOperand *operands, Value **inout_immediates) {
    const void *const *labels = interpreter_labels();
    Instruction instruction = instruction_read(words);
    for (uint32_t i = 0; i < instruction.operand_count; i++)
        operands[i] = decode_operand(residency, &instruction, pc, i, inout_immediates);
    function->instructions[pc] = (DecodedInstruction){
        .label = labels ? labels[instruction.opcode] : NULL,
        .operands = operands,
        .destination = head_destination(instruction.head),
        .operand_count = (uint16_t)instruction.operand_count,
        .output_count = (uint16_t)instruction.output_count,
        .opcode = (uint8_t)instruction.opcode,
        .flags = (uint8_t)instruction.flags,
    };
    DecodedInstruction *decoded = &function->instructions[pc];
    for (uint32_t i = 0; i < instruction.operand_count; i++)
        decoded->last_uses = decoded->last_uses || operands[i].last_use;
    if (instruction.opcode == OPCODE_INVOKE_PACKED) decoded->site = function->site_count++;
    if (opcode_infos[instruction.opcode].flags & OPCODE_FLAG_JUMP) {
        int32_t jumps[2] = {0};
        decode_jumps(&instruction, operands, pc, jumps);
        decoded->jump = jumps[0];
        decoded->jump_otherwise = jumps[1];
    }
}

static Error *decode(const Residency *residency, uint32_t index, CodeEntry **out) {
    const Executable *executable = residency->executable;
    const Function *from = &executable->functions[index];
    uint32_t operand_count = from->word_count - from->instruction_count, immediate_count = 0;
    for (uint32_t pc = 0; pc < from->instruction_count; pc++) {
        Instruction instruction = instruction_read(function_instruction(executable, from, pc));
        for (uint32_t i = 0; i < instruction.operand_count; i++)
            immediate_count += operand_kind(instruction.operands[i]) == OPERAND_IMMEDIATE;
    }
    void *memory;
    TRY(memory_alloc_lines(1, sizeof(CodeEntry), &memory));
    OWN(CodeEntry, entry) = memory;
    DecodedFunction *function = &entry->function;
    TRY(memory_alloc_lines(from->instruction_count, sizeof(DecodedInstruction), &memory));
    function->instructions = memory;
    TRY(memory_alloc_lines(operand_count, sizeof(DecodedOperand), &memory));
    function->operands = memory;
    TRY(memory_alloc_lines(immediate_count, sizeof(Value), &memory));
    function->immediates = memory;
    function->instruction_count = from->instruction_count;
    function->register_count = from->register_count;
    Value *immediates = function->immediates;
    DecodedOperand *operands = function->operands;
    for (uint32_t pc = 0; pc < from->instruction_count; pc++) {
        const uint64_t *words = function_instruction(executable, from, pc);
        decode_instruction(residency, words, pc, function, operands, &immediates);
        operands += head_operand_count(words[0]);
    }
    *out = TAKE(entry);
    return NULL;
}

static Error *get_entry(DecodedCode *code, uint32_t function, CodeEntry **out) {
    CodeEntry *known = atomic_load_explicit(&code->entries[function], memory_order_acquire);
    if (!known) {
        CodeEntry *made;
        TRY(decode(code->residency, function, &made));
        if (atomic_compare_exchange_strong(&code->entries[function], &known, made))
            known = made;
        else
            code_entry_release(made);
    }
    *out = known;
    return NULL;
}

Error *decoded_code_get(DecodedCode *code, uint32_t function, const DecodedFunction **out) {
    CodeEntry *entry;
    TRY(get_entry(code, function, &entry));
    *out = &entry->function;
    return NULL;
}

/* ---- inline caches ---- */

/* The i-th place where the calling thread looks for inline caches. The first place is the thread's
 * own, since those caches are still in the processor's cache. */
static _Atomic(InlineCache *) *place_of(CodeEntry *entry, uint32_t i) {
    const uint64_t thread = (uint64_t)(uintptr_t)pthread_self();
    const uint32_t own = (uint32_t)(thread * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return &entry->sites[(own + i) % KEPT_SITES_MAX].caches;
}

static InlineCache *take_kept(CodeEntry *entry) {
    for (uint32_t i = 0; i < KEPT_SITES_MAX; i++) {
        _Atomic(InlineCache *) *place = place_of(entry, i);
        if (!atomic_load_explicit(place, memory_order_relaxed)) continue;
        InlineCache *sites = atomic_exchange_explicit(place, NULL, memory_order_acq_rel);
        if (sites) return sites;
    }
    return NULL;
}

/* False: the function has enough of them. */
static bool keep(CodeEntry *entry, InlineCache *sites) {
    for (uint32_t i = 0; i < KEPT_SITES_MAX; i++) {
        _Atomic(InlineCache *) *place = place_of(entry, i);
        InlineCache *none = NULL;
        if (!atomic_load_explicit(place, memory_order_relaxed) &&
            atomic_compare_exchange_strong(place, &none, sites))
            return true;
    }
    return false;
}

Error *decoded_code_take_sites(DecodedCode *code, uint32_t function, InlineCache **out) {
    CodeEntry *entry;
    TRY(get_entry(code, function, &entry));
    void *sites = take_kept(entry);
    if (!sites) TRY(memory_alloc(entry->function.site_count, sizeof(InlineCache), &sites));
    *out = sites;
    return NULL;
}

void decoded_code_leave_sites(DecodedCode *code, uint32_t function, InlineCache *owned_sites) {
    if (!owned_sites) return;
    CodeEntry *entry = atomic_load_explicit(&code->entries[function], memory_order_acquire);
    const uint32_t count = entry->function.site_count;
    for (uint32_t i = 0; i < count; i++)
        if (owned_sites[i].key_capacity > KEPT_KEY_WORDS_MAX) inline_cache_deinit(&owned_sites[i]);
    if (!keep(entry, owned_sites)) release_sites(owned_sites, count);
}
