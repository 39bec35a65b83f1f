/* Profiles of layover.h: each call of an execution with its time. */
#include "base/allocator.h"
#include "base/clock.h"
#include "base/text.h"
#include "kernels/device/device_class.h"
#include "kernels/tensor/tensor.h"
#include "tools/library/library_internal.h"
#include "vm/execution/instrument.h"

enum { ROWS_MAX = 1 << 20, SHAPES_SHOWN_MAX = 16 };

/* While it is recorded, and then as the caller has it. */
typedef struct LibraryProfile {
    LayoverProfile shown; /* first: the caller has its address */
    LayoverProfileRow *rows;
    size_t capacity;
    uint64_t begin_ns, call_ns;
} LibraryProfile;

static void free_row(const LayoverProfileRow *row) {
    memory_free((void *)(uintptr_t)row->name);
    memory_free((void *)(uintptr_t)row->kernel);
    memory_free((void *)(uintptr_t)row->shapes);
}

void library_profile_free(LibraryProfile *profile) {
    if (!profile) return;
    for (uint32_t i = 0; i < profile->shown.row_count; i++) free_row(&profile->rows[i]);
    memory_free((void *)(uintptr_t)profile->shown.device);
    memory_free(profile->rows);
    memory_free(profile);
}

DEFINE_OWN(LibraryProfile, library_profile_free);

void layover_profile_free(LayoverProfile *profile) {
    library_profile_free((LibraryProfile *)profile);
}

/* ---- recording ---- */

static Error *print_shapes(const InstrumentCall *call, char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    uint32_t shown = 0;
    for (uint32_t i = 0; i < call->argument_count && shown < SHAPES_SHOWN_MAX; i++) {
        if (!value_is(&call->arguments[i], OBJECT_TENSOR)) continue;
        const Tensor *tensor = call->arguments[i].tensor;
        text_appendf(&text, "%s%s", shown++ ? ", " : "", dtype_name(tensor->dtype));
        shape_print(&tensor->shape, &text);
    }
    if (shown == 0) return memory_copy_text("", out);
    return text_builder_take(&text, out);
}

static Error *fill_row(const InstrumentCall *call, LayoverProfileRow *out) {
    char *name, *kernel, *shapes;
    TRY(memory_copy_text(call->name, &name));
    out->name = name;
    TRY(memory_copy_text(call->kernel ? call->kernel->name : "", &kernel));
    out->kernel = kernel;
    TRY(print_shapes(call, &shapes));
    out->shapes = shapes;
    return NULL;
}

static Error *add_row(LibraryProfile *profile, const InstrumentCall *call, uint64_t now_ns) {
    LayoverProfileRow row = {
        .start_ns = profile->call_ns - profile->begin_ns, .ns = now_ns - profile->call_ns};
    if (profile->shown.row_count == ROWS_MAX)
        FAIL(EXHAUSTED, "more than %d calls in a profile", ROWS_MAX);
    void *memory = profile->rows;
    TRY(memory_grow(&memory, profile->shown.row_count, &profile->capacity, sizeof row));
    profile->rows = memory;
    Error *error = fill_row(call, &row);
    if (error)
        free_row(&row);
    else
        profile->rows[profile->shown.row_count++] = row;
    return error;
}

static Error *wait_for_device(const Execution *execution) {
    const MemoryPool *pool = execution_get_pool(execution, SLOT_DEVICE);
    return device_stream_synchronize(memory_pool_get_device(pool), memory_pool_get_stream(pool));
}

static Error *on_call(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer) {
    LayoverExecution *execution = context;
    LibraryProfile *profile = execution->profile;
    *out_answer = INSTRUMENT_RUN;
    if (call->nested) return NULL; /* its calls have rows of their own */
    if (call->before) {
        profile->call_ns = clock_now_ns(clock_real());
        return NULL;
    }
    TRY(wait_for_device(execution->execution));
    return add_row(profile, call, clock_now_ns(clock_real()));
}

/* ---- the interface ---- */

static Error *start_profile(LayoverExecution *execution) {
    void *memory;
    char *device;
    if (execution->profile) FAIL(CONFLICT, "a profile of this execution is recorded");
    if (execution->instrument) FAIL(CONFLICT, "the execution has an instrument");
    TRY(library_process_check(execution->model));
    TRY(memory_alloc(1, sizeof(LibraryProfile), &memory));
    OWN(LibraryProfile, profile) = memory;
    TRY(memory_copy_text(execution->model->device->name, &device));
    profile->shown.device = device;
    profile->begin_ns = clock_now_ns(clock_real());
    execution->profile = TAKE(profile);
    execution_set_instrument(execution->execution, on_call, execution);
    return NULL;
}

LayoverError *layover_execution_start_profile(LayoverExecution *execution) {
    return library_error(start_profile(execution));
}

static Error *take_profile(LayoverExecution *execution, LayoverProfile **out_profile) {
    LibraryProfile *profile = execution->profile;
    if (!profile) FAIL(CONFLICT, "no profile of this execution is recorded");
    execution_set_instrument(execution->execution, NULL, NULL);
    execution->profile = NULL;
    profile->shown.rows = profile->rows;
    profile->shown.ns = clock_now_ns(clock_real()) - profile->begin_ns;
    *out_profile = &profile->shown;
    return NULL;
}

LayoverError *layover_execution_take_profile(
    LayoverExecution *execution, LayoverProfile **out_profile) {
    return library_error(take_profile(execution, out_profile));
}
