/* liblayover: the functions of include/layover.h over the folders below. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/tensor_dlpack.h"
#include "serialize/checkpoint/checkpoint.h"
#include "tools/library/library_internal.h"
#include "tools/library/packed_bridge.h"
#include "vm/objects/adt.h"

const char *layover_version(void) { return LAYOVER_VERSION; }

const char *layover_error_message(const LayoverError *error) {
    return error_message((const Error *)error);
}

const char *layover_error_code(const LayoverError *error) {
    return error_info(error_code((const Error *)error))->name;
}

void layover_error_free(LayoverError *error) { error_free((Error *)error); }

LayoverModel *layover_model_retain(LayoverModel *model) {
    refcount_retain(&model->refcount);
    return model;
}

void layover_model_close(LayoverModel *model) {
    if (!model || !refcount_release(&model->refcount)) return;
    if (model->process != library_process_number())
        return; /* its threads are not in this process */
    residency_release(model->residency);
    packed_registry_release(model->packed);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) memory_pool_release(model->reserves[slot]);
    if (model->device != model->host) device_close(model->device);
    device_close(model->host);
    worker_pool_release(model->pool);
    memory_free(model->native_preload);
    memory_free(model);
}

static Error *make_resident(
    LayoverModel *model, const LayoverHome *home, const char *name, const char *device) {
    OWN(Executable, executable) = NULL;
    OWN(Device, opened) = NULL;
    TRY(library_read_model(home, name, model->pool, &executable));
    TRY(device_open("cpu", &model->host));
    TRY(device_open(device, &opened));
    if (opened->class_ == model->host->class_)
        model->device = model->host;
    else
        model->device = TAKE(opened);
    TRY(memory_pool_create(model->host, 0, &model->reserves[SLOT_HOST]));
    TRY(memory_pool_create(model->device, 0, &model->reserves[SLOT_DEVICE]));
    return residency_create(executable, model->host, model->device, model->pool, &model->residency);
}

Error *library_open_model(
    const LayoverHome *home, const char *name, const char *device, LayoverModel **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LayoverModel), &memory));
    OWN(LayoverModel, model) = memory;
    refcount_init(&model->refcount);
    model->process = library_process_number();
    model->threads = 1;
    TRY(worker_pool_create("layover", worker_pool_core_count(), &model->pool));
    TRY(packed_registry_create(&model->packed));
    TRY(make_resident(model, home, name, device));
    *out = TAKE(model);
    return NULL;
}

LayoverError *layover_model_open(const char *name, const char *device, LayoverModel **out_model) {
    return library_error(library_open_model(NULL, name, device, out_model));
}

void layover_model_set_threads(LayoverModel *model, uint32_t threads) {
    model->threads = threads ? threads : 1;
}

void layover_model_set_allocators(
    LayoverModel *model, LayoverAllocator host, LayoverAllocator device) {
    model->naive_memory[SLOT_HOST] = host == LAYOVER_NAIVE;
    model->naive_memory[SLOT_DEVICE] = device == LAYOVER_NAIVE;
}

/* Executions borrow the text, so it does not change. */
static Error *allow_native(LayoverModel *model, const char *preload) {
    const char *wanted = preload ? preload : "", *known = model->native_preload;
    if (model->native_allowed && strcmp(wanted, known ? known : "") != 0)
        FAIL(CONFLICT, "native code of the model is allowed with the libraries '%s'",
            known ? known : "");
    if (model->native_allowed) return NULL;
    if (*wanted) TRY(memory_copy_text(wanted, &model->native_preload));
    model->native_allowed = true;
    return NULL;
}

LayoverError *layover_model_allow_native(LayoverModel *model, const char *preload) {
    return library_error(allow_native(model, preload));
}

static const Function *find_function(const LayoverModel *model, const char *name) {
    uint32_t index;
    Error *error = executable_find_function(model->residency->executable, name, &index);
    if (!error) return &model->residency->executable->functions[index];
    error_free(error); /* the caller answers "" or the error of layover_model_function */
    return NULL;
}

LayoverError *layover_model_function(const LayoverModel *model, const char *function,
    uint32_t *out_input_count, uint32_t *out_output_count) {
    uint32_t index;
    const Executable *executable = model->residency->executable;
    Error *error = executable_find_function(executable, function, &index);
    if (error) return library_error(error);
    *out_input_count = executable->functions[index].parameter_count;
    *out_output_count = executable->functions[index].result_count;
    return NULL;
}

const char *layover_model_input_name(
    const LayoverModel *model, const char *function, uint32_t index) {
    const Function *found = find_function(model, function);
    bool named = found && found->parameters && index < found->parameter_count;
    return named ? found->parameters[index].name : "";
}

const char *layover_model_output_name(
    const LayoverModel *model, const char *function, uint32_t index) {
    const Function *found = find_function(model, function);
    return found && found->results && index < found->result_count ? found->results[index].name : "";
}

static void print_line(void *context, const char *line) {
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

ExecutionOptions library_options(const LayoverModel *model) {
    return (ExecutionOptions){
        .threads = model->threads,
        .packed = model->packed,
        .naive_memory = {model->naive_memory[SLOT_HOST], model->naive_memory[SLOT_DEVICE]},
        .log = {print_line, NULL},
        .reserves = {model->reserves[SLOT_HOST], model->reserves[SLOT_DEVICE]},
        .native = {.allowed = model->native_allowed, .preload = model->native_preload},
    };
}

Error *library_make_execution(LayoverModel *model, LayoverExecution **out) {
    void *memory;
    TRY(library_process_check(model));
    TRY(memory_alloc(1, sizeof(LayoverExecution), &memory));
    LayoverExecution *execution = memory;
    execution->model = model;
    refcount_retain(&model->refcount);
    *out = execution;
    return NULL;
}

/* Consumes every tensor. values[i] stays nil for a tensor that cannot be imported, and for NULL. */
static Error *import_inputs(
    LayoverModel *model, DLManagedTensor **owned_inputs, uint32_t count, Value *values) {
    Error *error = NULL;
    for (uint32_t i = 0; i < count; i++) {
        Tensor *tensor = NULL;
        if (!owned_inputs[i]) continue;
        Error *failed = tensor_dlpack_import(model->host, owned_inputs[i], &tensor);
        if (!failed)
            values[i] = value_object(OBJECT_TENSOR, tensor);
        else if (!error)
            error = error_wrap(failed, "input %u", i);
        else
            error_free(failed); /* only the first error is returned */
    }
    return error;
}

static Error *start(LayoverModel *model, const char *function, DLManagedTensor **owned_inputs,
    uint32_t count, LayoverExecution **out_execution) {
    uint32_t index;
    void *memory;
    TRY(memory_alloc(count, sizeof(Value), &memory));
    Value *values = memory;
    OWN(LayoverExecution, execution) = NULL;
    ExecutionOptions options = library_options(model);
    Error *error = import_inputs(model, owned_inputs, count, values);
    if (!error) error = executable_find_function(model->residency->executable, function, &index);
    if (!error) error = library_make_execution(model, &execution);
    if (!error)
        error = execution_create(
            model->residency, &options, index, values, count, &execution->execution);
    for (uint32_t i = 0; i < count; i++) value_release(&values[i]);
    memory_free(memory);
    if (!error) *out_execution = TAKE(execution);
    return error;
}

LayoverError *layover_execution_start(LayoverModel *model, const char *function,
    DLManagedTensor **owned_inputs, uint32_t input_count, LayoverExecution **out_execution) {
    return library_error(start(model, function, owned_inputs, input_count, out_execution));
}

void layover_execution_free(LayoverExecution *execution) {
    if (!execution || library_process_number() != execution->model->process) return;
    execution_release(execution->execution);
    library_profile_free(execution->profile);
    layover_model_close(execution->model);
    memory_free(execution);
}

Error *library_run(LayoverExecution *execution, uint64_t instructions, LayoverState *out_state) {
    RunResult result = {.kind = RUN_SLICE_ENDED};
    TRY(library_check_outside_host());
    TRY(library_process_check(execution->model));
    TRY(execution_run(execution->execution, (Budget){instructions}, &result));
    if (result.kind == RUN_NEEDS_MEMORY)
        FAIL(EXHAUSTED, "%llu bytes are not free on the device", (unsigned long long)result.bytes);
    if (result.kind == RUN_BLOCKED)
        FAIL(EXHAUSTED, "%d yielded values were not taken", EXECUTION_YIELDS_DEFAULT);
    *out_state = result.kind == RUN_FINISHED    ? LAYOVER_FINISHED
                 : result.kind == RUN_SUSPENDED ? LAYOVER_SUSPENDED
                                                : LAYOVER_YIELDED;
    return NULL;
}

LayoverError *layover_execution_run(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state) {
    return library_error(library_run(execution, instructions, out_state));
}

const char *layover_execution_function(const LayoverExecution *execution) {
    const Executable *executable = execution->model->residency->executable;
    const uint32_t entry = execution_get_entry(execution->execution);
    return entry < executable->function_count ? executable->functions[entry].name : "";
}

void layover_execution_request_suspend(LayoverExecution *execution) {
    execution_request_suspend(execution->execution);
}

static Error *output(LayoverExecution *execution, uint32_t index, DLManagedTensor **out_tensor) {
    Value result = *execution_get_result(execution->execution);
    if (value_is(&result, OBJECT_ADT)) {
        if (index >= result.adt->count)
            FAIL(NOT_FOUND, "output %u of %u", index, result.adt->count);
        result = result.adt->fields[index];
    } else if (index > 0)
        FAIL(NOT_FOUND, "output %u of 1", index);
    if (!value_is(&result, OBJECT_TENSOR))
        FAIL(NOT_FOUND, "output %u is no tensor, or the execution is not finished", index);
    OWN(Tensor, copy) = NULL;
    TRY(tensor_create_on_host(device_host(), result.tensor->dtype, &result.tensor->shape, &copy));
    TRY(tensor_copy_to_host(result.tensor, tensor_data(copy)));
    return tensor_dlpack_export(copy, out_tensor);
}

LayoverError *layover_execution_output(
    LayoverExecution *execution, uint32_t index, DLManagedTensor **out_tensor) {
    return library_error(output(execution, index, out_tensor));
}

static Error *checkpoint(LayoverExecution *execution, const char *path) {
    OWN(Snapshot, snapshot) = NULL;
    uint64_t bytes;
    TRY(snapshot_take(execution->execution, &snapshot));
    return checkpoint_write_file(snapshot, execution->model->pool, path, &bytes);
}

LayoverError *layover_execution_checkpoint(LayoverExecution *execution, const char *path) {
    return library_error(checkpoint(execution, path));
}

Error *library_resume(LayoverModel *model, const Container *container, const char *what,
    LayoverExecution **out_execution) {
    OWN(LayoverExecution, execution) = NULL;
    ExecutionOptions options = library_options(model);
    TRY(library_make_execution(model, &execution));
    TRY_WRAP(checkpoint_read(container, model->pool, CHUNK_VERIFY_SHA256, model->residency,
                 &options, NULL, &execution->execution),
        "%s", what);
    *out_execution = TAKE(execution);
    return NULL;
}

static Error *resume(LayoverModel *model, const char *path, LayoverExecution **out_execution) {
    OWN(Container, container) = NULL;
    TRY(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    return library_resume(model, container, path, out_execution);
}

LayoverError *layover_execution_resume(
    LayoverModel *model, const char *path, LayoverExecution **out_execution) {
    return library_error(resume(model, path, out_execution));
}

LayoverError *layover_model_add_packed(LayoverModel *model, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context)) {
    return library_error(packed_bridge_add(model->packed, name, arity, function, context, release));
}
