/* StringHash: the 32 bits of MurmurHash3 of each text. */
#include <string.h>

#include "kernels/cpu/strings/cpu_strings.h"

typedef struct State {
    int64_t count;
    uint32_t seed;
} State;

static uint32_t turn(uint32_t x, uint32_t left) { return x << left | x >> (32 - left); }

/* Up to four bytes, the first one lowest. */
static uint32_t load_word(const char *from, uint64_t size) {
    uint8_t bytes[4] = {0};
    memcpy(bytes, from, size < 4 ? size : 4);
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t mix_word(uint32_t word) { return turn(word * 0xcc9e2d51U, 15) * 0x1b873593U; }

static uint32_t mix_end(uint32_t hash) {
    hash = (hash ^ hash >> 16) * 0x85ebca6bU;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35U;
    return hash ^ hash >> 16;
}

static Error *hash_text(
    StringView text, uint32_t seed, KernelStopMeter *meter, uint32_t *out_hash) {
    uint32_t hash = seed;
    const uint64_t whole = text.size & ~UINT64_C(3);
    for (uint64_t at = 0, end; at < whole; at = end) {
        end = whole - at < CPU_STRING_PIECE ? whole : at + CPU_STRING_PIECE;
        TRY(kernel_stop_count(meter, 16 + (end - at) / 4));
        for (uint64_t i = at; i < end; i += 4)
            hash = turn(hash ^ mix_word(load_word(text.text + i, 4)), 13) * 5 + 0xe6546b64U;
    }
    if (whole < text.size) hash ^= mix_word(load_word(text.text + whole, text.size - whole));
    *out_hash = mix_end(hash ^ (uint32_t)text.size);
    return kernel_stop_count(meter, 16);
}

static Error *launch_hash(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const void *from = cpu_input(launch, 0);
    uint32_t *to = cpu_output(launch, 0);
    KernelStopMeter meter = {0};
    (void)output_shapes;
    for (int64_t i = 0; i < state->count; i++)
        TRY(hash_text(string_tensor_at(from, state->count, i), state->seed, &meter, &to[i]));
    return NULL;
}

static Error *plan_hash(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_create(device, request, "cpu.string_hash", sizeof(State), out));
    State *state = plan_state(*out);
    state->count = shape_count_unchecked(&request->inputs[0].shape);
    state->seed = (uint32_t)attributes_int(request->attributes, "seed");
    (*out)->launch = launch_hash;
    return NULL;
}

const Kernel cpu_string_hash[] = {
    {OPERATOR_STRING_HASH, DTYPES_STRING, plan_hash, "cpu.string_hash", KERNEL_PORTABLE},
    KERNELS_END,
};
