#include "vm/code/live_registers.h"

#include "base/allocator.h"
#include "vm/code/liveness.h"

struct LiveRegisters {
    const Executable *executable;
    uint64_t *words;
    size_t word_capacity;
    uint32_t function, pc;
    bool is_top, found;
};

Error *live_registers_create(const Executable *executable, LiveRegisters **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LiveRegisters), &memory));
    LiveRegisters *live = memory;
    live->executable = executable;
    *out = live;
    return NULL;
}

void live_registers_release(LiveRegisters *live) {
    if (!live) return;
    memory_free(live->words);
    memory_free(live);
}

Error *live_registers_find(LiveRegisters *live, uint32_t function, uint32_t pc, bool is_top) {
    if (live->found && live->function == function && live->pc == pc && live->is_top == is_top)
        return NULL;
    live->found = false;
    size_t words = (live->executable->functions[function].register_count + 63) / 64;
    if (words > live->word_capacity) {
        void *memory = live->words;
        TRY(memory_resize(&memory, words, sizeof(uint64_t)));
        live->words = memory;
        live->word_capacity = words;
    }
    live->function = function;
    live->pc = pc;
    live->is_top = is_top;
    TRY(is_top ? liveness_before(live->executable, function, pc, live->words)
               : liveness_of_caller(live->executable, function, pc, live->words));
    live->found = true;
    return NULL;
}

uint32_t live_registers_next(const LiveRegisters *live, uint32_t from) {
    uint32_t count = live->executable->functions[live->function].register_count;
    if (from >= count) return count;
    uint64_t word = live->words[from / 64] >> (from % 64) << (from % 64);
    for (uint32_t at = from / 64; at < (count + 63) / 64;) {
        if (word) return at * 64 + (uint32_t)__builtin_ctzll(word);
        if (++at < (count + 63) / 64) word = live->words[at];
    }
    return count;
}
