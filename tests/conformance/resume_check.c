#include "tests/conformance/resume_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/file.h"
#include "kernels/tensor/dtype_bits.h"
#include "serialize/arrays/array_values.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/executable_file.h"
#include "serialize/arrays/npz.h"

enum { PATH_SIZE = 4096, ARRAYS_SIZE_MAX = 1 << 30 };

/* As tests/models/feeds.py allows against onnxruntime. */
static const double RELATIVE = 1e-3, ABSOLUTE = 1e-4;

static Error *read_arrays(const char *path, ArrayList *out) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, ARRAYS_SIZE_MAX, &data, &size));
    Error *error = npz_read(data, size, ARRAYS_SIZE_MAX, out);
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

static Error *read_model(const char *folder, const char *name, ResumeModel *model) {
    char path[PATH_SIZE];
    ArrayList OWN_ARRAYS(inputs) = {0};
    TRY(memory_copy_text(name, &model->name));
    (void)snprintf(path, sizeof path, "%s/%.*s.lvx", folder, (int)strcspn(name, "."), name);
    TRY(executable_read_file(path, NULL, &model->executable));
    TRY(executable_find_function(model->executable, "main", &model->function));
    (void)snprintf(path, sizeof path, "%s/%s.expected.npz", folder, name);
    TRY(read_arrays(path, &model->expected));
    (void)snprintf(path, sizeof path, "%s/%s.npz", folder, name);
    TRY(read_arrays(path, &inputs));
    const Function *function = &model->executable->functions[model->function];
    TRY_WRAP(array_values_bind(&inputs, function, &model->inputs), "%s", path);
    model->input_count = function->parameter_count;
    return NULL;
}

Error *resume_model_open(const char *folder, const char *name, ResumeModel *out) {
    ResumeModel model = {0};
    Error *error = read_model(folder, name, &model);
    if (error)
        resume_model_deinit(&model);
    else
        *out = model;
    return error;
}

void resume_model_deinit(ResumeModel *model) {
    array_values_release(model->inputs, model->input_count);
    array_list_deinit(&model->expected);
    executable_release(model->executable);
    memory_free(model->name);
    *model = (ResumeModel){0};
}

static Error *compare_array(const NamedArray *made, const NamedArray *expected, bool exact) {
    if (made->dtype != expected->dtype || !shape_equal(&made->shape, &expected->shape))
        FAIL(INTERNAL, "%s is of another type or shape", made->name);
    if (made->size == 0 || memcmp(made->data, expected->data, made->size) == 0) return NULL;
    if (exact || !dtype_is_float(made->dtype))
        FAIL(INTERNAL, "%s has other %s", made->name, exact ? "bits" : "elements");
    const uint64_t count = (uint64_t)shape_count_unchecked(&made->shape);
    for (uint64_t i = 0; i < count; i++) {
        double value, wanted;
        if (!dtype_bits_read_element(made->dtype, made->data, i, &value) ||
            !dtype_bits_read_element(made->dtype, expected->data, i, &wanted))
            FAIL(UNSUPPORTED, "%s: %s is not compared", made->name, dtype_name(made->dtype));
        bool same = value == wanted || (isnan(value) && isnan(wanted));
        if (!same && !(fabs(value - wanted) <= ABSOLUTE + RELATIVE * fabs(wanted)))
            FAIL(INTERNAL, "%s: element %" PRIu64 " is %.9g, not %.9g", made->name, i, value,
                wanted);
    }
    return NULL;
}

Error *resume_compare(const ArrayList *made, const ArrayList *expected, bool exact) {
    if (made->count != expected->count)
        FAIL(INTERNAL, "%zu outputs, not %zu", made->count, expected->count);
    for (size_t i = 0; i < expected->count; i++) {
        const NamedArray *found = array_list_find(made, expected->items[i].name);
        if (!found) FAIL(INTERNAL, "no output %s", expected->items[i].name);
        TRY(compare_array(found, &expected->items[i], exact));
    }
    return NULL;
}

static Error *keep_array(void *self, NamedArray *inout_array) {
    return array_list_add(self, inout_array);
}

static Error *run(Execution *execution, uint64_t instructions, RunKind wanted) {
    RunResult result;
    TRY(execution_run(execution, (Budget){instructions}, &result));
    if (result.kind == RUN_NEEDS_MEMORY)
        FAIL(EXHAUSTED, "%" PRIu64 " bytes are not free on the device", result.bytes);
    if (result.kind != wanted)
        FAIL(INTERNAL, "%s", wanted == RUN_FINISHED ? "it stops early" : "it does not stop");
    return NULL;
}

static Error *run_to_end(Execution *execution, ArrayList *out) {
    TRY(run(execution, 0, RUN_FINISHED));
    return array_values_export_result(execution, (ArraySink){.add = keep_array, .self = out});
}

static Error *start(const ResumeModel *model, const ResumePlace *place, Execution **out) {
    static const ExecutionOptions options = {0};
    return execution_create(
        place->residency, &options, model->function, model->inputs, model->input_count, out);
}

static Error *settle(const ResumeModel *model, Device *host, Device *device, ResumePlace *place) {
    OWN(Execution, execution) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    TRY(residency_create(model->executable, host, device, NULL, &place->residency));
    device->class_->determinism_class(device, &text);
    TRY(text_builder_check(&text));
    TRY(memory_copy_text(text_builder_get(&text), &place->determinism_class));
    TRY(start(model, place, &execution));
    TRY(run_to_end(execution, &place->straight));
    place->instructions = execution_get_counters(execution).instructions;
    return resume_compare(&place->straight, &model->expected, false);
}

Error *resume_place_open(const ResumeModel *model, Device *host, Device *device, ResumePlace *out) {
    ResumePlace place = {0};
    Error *error = settle(model, host, device, &place);
    if (error)
        resume_place_deinit(&place);
    else
        *out = place;
    return error_wrap(error, "run on %s", device->name);
}

void resume_place_deinit(ResumePlace *place) {
    array_list_deinit(&place->straight);
    memory_free(place->determinism_class);
    residency_release(place->residency);
    *place = (ResumePlace){0};
}

static Error *write_checkpoint(Execution *execution, ByteWriter *out) {
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(execution, &snapshot));
    return checkpoint_write_memory(snapshot, NULL, out);
}

/* Nothing of the first execution is left when the second begins. */
static Error *stop(
    const ResumeModel *model, const ResumePlace *from, uint64_t instructions, ByteWriter *out) {
    OWN(Execution, execution) = NULL;
    TRY(start(model, from, &execution));
    TRY(run(execution, instructions, RUN_SUSPENDED));
    return write_checkpoint(execution, out);
}

static Error *go_on(const ByteWriter *file, const ResumePlace *to, ArrayList *out) {
    static const ExecutionOptions options = {0};
    OWN(Container, container) = NULL;
    OWN(Execution, execution) = NULL;
    TRY(container_open_memory(CONTAINER_CHECKPOINT, file->data, file->size, &container));
    TRY(checkpoint_read(
        container, NULL, CHUNK_VERIFY_SHA256, to->residency, &options, NULL, &execution));
    TRY(run_to_end(execution, out));
    uint64_t instructions = execution_get_counters(execution).instructions;
    if (instructions != to->instructions)
        FAIL(INTERNAL, "%" PRIu64 " instructions, not %" PRIu64, instructions, to->instructions);
    return NULL;
}

Error *resume_check(
    const ResumeModel *model, const ResumePlace *from, const ResumePlace *to, uint64_t stop_after) {
    ByteWriter OWN_BYTES(file) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    bool exact = strcmp(from->determinism_class, to->determinism_class) == 0;
    TRY(stop(model, from, stop_after, &file));
    TRY(go_on(&file, to, &outputs));
    return resume_compare(&outputs, exact ? &to->straight : &model->expected, exact);
}
