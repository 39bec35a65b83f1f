#include "vm/residency/residency.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "vm/residency/decoded_code.h"
#include "vm/instruction/instruction.h"
#include "vm/native/native_functions.h"
#include "vm/objects/packed.h"
#include "vm/residency/residency_image.h"

/* The state of a residency while it is made. */
typedef struct Making {
    Residency *residency;
    const Executable *data; /* the executable that has the constants' bytes, or NULL */
    PackedWeight
        *candidates; /* constant inputs of primitives; at first unsorted and with duplicates */
    size_t candidate_count, candidate_capacity;
    uint8_t *needs_plain; /* per constant */
} Making;

static void making_deinit(Making *making) {
    memory_free(making->candidates);
    memory_free(making->needs_plain);
}

/* A constant may be packed where a kernel of the device reads it as data. */
static bool may_pack(
    const Executable *executable, const Instruction *instruction, uint32_t operand_index) {
    if (instruction->opcode != OPCODE_INVOKE_PACKED) return false;
    if (instruction->flags & INSTRUCTION_HOST) return false;
    uint32_t primitive = (uint32_t)operand_value(instruction->operands[0]);
    uint32_t input = operand_index - 2;
    return !operator_reads_value(executable->primitives[primitive].operator_info, input);
}

static Error *scan_instruction(Making *making, const Instruction *instruction) {
    const Executable *executable = making->residency->executable;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (operand_kind(instruction->operands[i]) != OPERAND_CONSTANT) continue;
        uint32_t constant = (uint32_t)operand_value(instruction->operands[i]);
        if (!value_is(&executable->constants[constant].value, OBJECT_TENSOR)) continue;
        if (!may_pack(executable, instruction, i) ||
            executable->constants[constant].slot != SLOT_DEVICE) {
            making->needs_plain[constant] = 1;
            continue;
        }
        void *array = making->candidates;
        TRY(memory_grow(
            &array, making->candidate_count, &making->candidate_capacity, sizeof(PackedWeight)));
        making->candidates = array;
        making->candidates[making->candidate_count++] = (PackedWeight){
            .primitive = (uint32_t)operand_value(instruction->operands[0]),
            .input = i - 2,
            .constant = constant,
        };
    }
    return NULL;
}

static Error *scan_code(Making *making) {
    const Executable *executable = making->residency->executable;
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        for (uint32_t pc = 0; pc < function->instruction_count; pc++) {
            Instruction instruction =
                instruction_read(function_instruction(executable, function, pc));
            TRY(scan_instruction(making, &instruction));
        }
    }
    return NULL;
}

/* Asks the device which candidates it packs. */
static Error *choose_packed(Making *making) {
    Residency *residency = making->residency;
    Device *device = residency->devices[SLOT_DEVICE];
    if (making->candidate_count > 1)
        qsort(making->candidates, making->candidate_count, sizeof(PackedWeight),
            residency_compare_keys);
    void *memory;
    TRY(memory_alloc(making->candidate_count, sizeof(PackedWeight), &memory));
    residency->packed = memory;
    for (size_t i = 0; i < making->candidate_count; i++) {
        PackedWeight weight = making->candidates[i];
        if (i > 0 && residency_compare_keys(&weight, &making->candidates[i - 1]) == 0) continue;
        PackRequest request = residency_pack_request(residency->executable, &weight);
        if (device->class_->pack_rule)
            TRY_WRAP(device->class_->pack_rule(device, &request, &weight.layout, &weight.bytes),
                "constant %u", weight.constant);
        if (weight.layout == 0 || weight.bytes == 0) {
            making->needs_plain[weight.constant] = 1;
            continue;
        }
        residency->packed[residency->packed_count++] = weight;
    }
    return NULL;
}

static Error *make_room(Residency *residency) {
    for (uint32_t i = 0; i < residency->packed_count; i++) {
        PackedWeight *weight = &residency->packed[i];
        TRY(residency_alloc_sealed(
            residency, SLOT_DEVICE, weight->bytes, weight->constant, &weight->storage));
    }
    return NULL;
}

static Error *pack_one(void *context, size_t index) {
    const Making *making = context;
    const Residency *residency = making->residency;
    const PackedWeight *weight = &residency->packed[index];
    Device *device = residency->devices[SLOT_DEVICE];
    PackRequest request = residency_pack_request(residency->executable, weight);
    const Tensor *plain = making->data->constants[weight->constant].value.tensor;
    TRY_WRAP(device->class_->pack(device, storage_stream(weight->storage), &request, weight->layout,
                 tensor_data(plain), weight->storage->address),
        "constant %u for %s", weight->constant, request.operator_info->name);
    return NULL;
}

static void release_owner_storage(void *owner) { storage_release(owner); }

/* A reference where the memory is the same. */
static Error *place_constant(const Making *making, uint32_t index) {
    Residency *residency = making->residency;
    const Constant *constant = &making->data->constants[index];
    Tensor *plain = constant->value.tensor;
    Device *device = residency->devices[constant->slot];
    uint64_t bytes = tensor_bytes(plain);
    OWN(Storage, storage) = NULL;
    if (device_shares_memory(plain->storage->device, device)) {
        Storage *owner = storage_retain(plain->storage);
        Error *error = storage_create_foreign(device, constant->slot, tensor_address(plain), bytes,
            owner, release_owner_storage, &storage);
        if (error) {
            storage_release(owner);
            return error;
        }
        storage->sealed = true;
        storage->constant_index = index;
    } else {
        TRY(residency_alloc_sealed(residency, constant->slot, bytes, index, &storage));
        if (bytes > 0)
            TRY(device->class_->copy_from_host(
                device, storage_stream(storage), storage->address, tensor_data(plain), bytes));
    }
    return residency_set_constant(residency, index, storage);
}

/* Constants that are not tensors need no memory. */
static void place_others(Residency *residency) {
    const Executable *executable = residency->executable;
    for (uint32_t i = 0; i < executable->constant_count; i++)
        if (!value_is(&executable->constants[i].value, OBJECT_TENSOR))
            residency->constant_values[i] = value_copy(executable->constants[i].value);
}

static Error *place_constants(const Making *making) {
    const Executable *executable = making->data;
    for (uint32_t i = 0; i < executable->constant_count; i++)
        if (making->needs_plain[i] && value_is(&executable->constants[i].value, OBJECT_TENSOR))
            TRY_WRAP(place_constant(making, i), "constant %u", i);
    return NULL;
}

/* Decides which constants are packed and which are needed as they are. */
static Error *choose_forms(Making *making) {
    void *memory;
    TRY(memory_alloc(making->residency->executable->constant_count, 1, &memory));
    making->needs_plain = memory;
    TRY(scan_code(making));
    const Executable *executable = making->residency->executable;
    if (executable->native_library != EXECUTABLE_NO_LIBRARY)
        making->needs_plain[executable->native_library] = 1;
    return choose_packed(making);
}

static Error *fill(
    Making *making, WorkerPool *pool, const ResidencySource *source, bool *out_filled) {
    Residency *residency = making->residency;
    *out_filled = false;
    TRY(choose_forms(making));
    if (source->images)
        TRY(residency_image_load(residency, making->needs_plain, source->images, pool, out_filled));
    if (!*out_filled && making->data) {
        TRY(make_room(residency));
        TRY(place_constants(making));
        TRY(worker_pool_for_each(pool, residency->packed_count, pack_one, making));
        *out_filled = true;
    }
    place_others(residency);
    return device_stream_synchronize(
        residency->devices[SLOT_DEVICE], memory_pool_get_stream(residency->pools[SLOT_DEVICE]));
}

static Error *alloc_tables(Residency *residency) {
    uint32_t count = residency->executable->constant_count;
    void *memory;
    TRY(memory_alloc_lines(count, sizeof(Value), &memory));
    residency->constant_values = memory;
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
        TRY(memory_alloc_lines(count, sizeof(Tensor *), &memory));
        residency->constants[slot] = memory;
        TRY(memory_pool_create(residency->devices[slot], 0, &residency->pools[slot]));
        TRY(plan_table_create(residency->devices[slot], &residency->plans[slot]));
    }
    return decoded_code_create(residency, &residency->decoded);
}

static Error *create_empty(Executable *executable, Device *host, Device *device, Residency **out) {
    if (!host->class_->host_memory)
        FAIL(INVALID, "slot 0 must be a cpu device, not %s", host->name);
    TRY(executable_check_device(executable, device));
    void *memory;
    TRY(memory_alloc_lines(1, sizeof(Residency), &memory));
    OWN(Residency, residency) = memory;
    refcount_init(&residency->refcount);
    residency->executable = executable_retain(executable);
    residency->devices[SLOT_HOST] = host;
    residency->devices[SLOT_DEVICE] = device;
    TRY(packed_registry_create(&residency->builtins));
    TRY(alloc_tables(residency));
    *out = TAKE(residency);
    return NULL;
}

Error *residency_create_from(Executable *executable, Device *host, Device *device, WorkerPool *pool,
    const ResidencySource *source, Residency **out) {
    OWN(Residency, residency) = NULL;
    TRY(create_empty(executable, host, device, &residency));
    Making making = {.residency = residency,
        .data = source->data          ? source->data
                : executable->outline ? NULL
                                      : executable};
    bool filled;
    Error *error = fill(&making, pool, source, &filled);
    making_deinit(&making);
    TRY(error);
    *out = filled ? TAKE(residency) : NULL;
    return NULL;
}

Error *residency_create(
    Executable *executable, Device *host, Device *device, WorkerPool *pool, Residency **out) {
    static const ResidencySource itself = {0};
    if (executable->outline) FAIL(INVALID, "an outline cannot be made resident");
    return residency_create_from(executable, host, device, pool, &itself, out);
}

Error *residency_prepare(
    Executable *executable, Device *host, const WeightImages *images, WorkerPool *pool) {
    OWN(Residency, residency) = NULL;
    if (executable->outline) FAIL(INVALID, "an outline has no weights to prepare");
    TRY(create_empty(executable, host, host, &residency));
    Making making = {.residency = residency, .data = executable};
    Error *error = choose_forms(&making);
    if (!error) error = residency_image_prepare(residency, making.needs_plain, images, pool);
    making_deinit(&making);
    return error;
}

Error *residency_check(const Residency *residency) {
    if (residency->image && weight_image_is_damaged(residency->image))
        FAIL(DEVICE_LOST,
            "%s: weights could not be read: their file became shorter, or its disk fails",
            residency->devices[SLOT_DEVICE]->name);
    return NULL;
}

Residency *residency_retain(Residency *residency) {
    refcount_retain(&residency->refcount);
    return residency;
}

void residency_release(Residency *residency) {
    if (!residency || !refcount_release(&residency->refcount)) return;
    native_functions_release(atomic_load(&residency->native));
    decoded_code_release(residency->decoded);
    residency_forget(residency);
    memory_free(residency->constant_values);
    memory_free(residency->packed);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
        memory_free(residency->constants[slot]);
        plan_table_release(residency->plans[slot]);
        memory_pool_release(residency->pools[slot]);
    }
    packed_registry_release(residency->builtins);
    executable_release(residency->executable);
    memory_free(residency);
}
