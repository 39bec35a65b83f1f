#include "tests/conformance/conformance_random.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "tests/support/test_random.h"

/* A tensor beyond BYTES_MAX is refused rather than allocated. */
enum { CALLS_PER_CASE = 10, BYTES_MAX = 1 << 18 };

static const int64_t wild_ints[] = {0, 1, 2, 3, -1, -2, 7, 8, 255, INT32_MAX, INT32_MIN,
    INT64_C(1) << 32, INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX, INT64_MIN};
enum { WILD_COUNT = sizeof wild_ints / sizeof wild_ints[0] };

static int64_t wild_int(uint64_t *seed) { return wild_ints[test_random(seed) % WILD_COUNT]; }

static bool chance(uint64_t *seed, uint32_t of) { return test_random(seed) % of == 0; }

/* Replaces a tensor by one of another shape, element type or contents. */
static void mutate_tensor(Tensor **inout, uint64_t *seed) {
    if (!*inout) return;
    DType dtype = (*inout)->dtype;
    Shape shape = (*inout)->shape;
    uint64_t kind = test_random(seed) % 5;
    if (kind == 0) do
            dtype = (DType)(1 + test_random(seed) % (DTYPE_COUNT - 1));
        while (!dtype_in(DTYPES_SIZED, dtype));
    if (kind == 1 && shape.rank > 0)
        shape.dims[test_random(seed) % shape.rank] = (int64_t)(test_random(seed) % 5);
    if (kind == 2 && shape.rank > 0) shape.rank--;
    if (kind == 3 && shape.rank < SHAPE_RANK_MAX)
        shape.dims[shape.rank++] = (int64_t)(test_random(seed) % 3);
    if (shape_count_unchecked(&shape) > 4096) return;
    Tensor *made = device_tensor_random(dtype, &shape, -5, 9, test_random(seed));
    int64_t *ints = tensor_data(made);
    if (kind == 4 && dtype == DTYPE_INT64)
        for (int64_t i = 0; i < shape_count_unchecked(&shape); i++)
            ints[i] = chance(seed, 2) ? wild_int(seed) : ints[i];
    tensor_release(*inout);
    *inout = made;
}

/* Sets one declared attribute to something else. */
static Error *mutate_attributes(const DeviceCall *call, uint64_t *seed, char **out) {
    OWN(Attributes, attributes) = NULL;
    const char *text = call->attributes;
    char name[32], kind;
    TRY(attributes_parse(&text, &attributes));
    const char *at = operator_find(call->operator_name)->attributes;
    while (chance(seed, 2) && strchr(at, ' ')) at = strchr(at, ' ') + 1;
    if (sscanf(at, "%31[a-zA-Z_]:%c", name, &kind) != 2) return memory_copy_text("{}", out);
    int64_t ints[8];
    uint32_t count = (uint32_t)(test_random(seed) % 8);
    for (uint32_t i = 0; i < 8; i++) ints[i] = wild_int(seed);
    if (kind == 'i') TRY(attributes_set_int(attributes, name, ints[0]));
    if (kind == 'f') TRY(attributes_set_float(attributes, name, (double)ints[0]));
    if (kind == 's') TRY(attributes_set_text(attributes, name, chance(seed, 2) ? "" : "tanh"));
    if (kind == 'd') TRY(attributes_set_dtype(attributes, name, (DType)(1 + count)));
    if (kind == 'I') TRY(attributes_set_ints(attributes, name, ints, count));
    TextBuilder OWN_TEXT(made) = {0};
    attributes_print(attributes, &made);
    return text_builder_take(&made, out);
}

/* How a call ended. */
typedef struct End {
    ErrorCode code;
    Tensor *outputs[CONFORMANCE_OUTPUTS_MAX];
    char message[256];
} End;

static void run_on(DeviceCall *call, Device *device, End *out) {
    *out = (End){0};
    call->device = device;
    Error *error = device_call_run(call, out->outputs, NULL);
    out->code = error_code(error);
    if (error) (void)snprintf(out->message, sizeof out->message, "%s", error_message(error));
    error_free(error);
}

/* How much workspace a call takes is a device's own matter, and so is whether the test allows it.
 */
static bool is_too_large(const End *end) { return end->code == ERROR_EXHAUSTED; }

static Error *compare_ends(const ConformanceDevice *on, const End *here, const End *there) {
    if (is_too_large(here) != is_too_large(there)) return NULL;
    if (here->code != there->code)
        FAIL(INTERNAL, "%s (%s), but on cpu %s (%s)", error_info(here->code)->name, here->message,
            error_info(there->code)->name, there->message);
    if (here->code == ERROR_INTERNAL) FAIL(INTERNAL, "ends as a bug does: %s", here->message);
    if (here->code != ERROR_NONE) return NULL;
    const Tensor *made = here->outputs[0], *expected = there->outputs[0];
    if (made->dtype != expected->dtype || !shape_equal(&made->shape, &expected->shape))
        FAIL(INTERNAL, "another element type or shape than on cpu");
    if (on->same_class && device_tensor_hash(made) != device_tensor_hash(expected))
        FAIL(INTERNAL, "other bits than on cpu, which is of the same determinism class");
    return NULL;
}

static Error *run_both(const ConformanceDevice *on, DeviceCall *call, bool *out_done) {
    End here, there;
    run_on(call, on->device, &here);
    run_on(call, on->cpu, &there);
    Error *error = compare_ends(on, &here, &there);
    conformance_release_outputs(here.outputs);
    conformance_release_outputs(there.outputs);
    *out_done = here.code == ERROR_NONE;
    return error;
}

Error *conformance_random_call(const ConformanceDevice *on, const ConformanceCase *row, DType dtype,
    uint64_t *inout_seed, bool *out_done) {
    ConformanceRun run;
    char *text = NULL;
    conformance_prepare(on->device, row, dtype, &run);
    DeviceCall *call = &run.call;
    uint32_t count = call->input_count;
    call->bytes_max = BYTES_MAX;
    call->threads = 1 + (uint32_t)(test_random(inout_seed) % 3);
    call->pack = chance(inout_seed, 2);
    uint64_t mutations = 1 + test_random(inout_seed) % 2;
    for (uint64_t i = 0; i < mutations && count > 0; i++)
        mutate_tensor(&call->inputs[test_random(inout_seed) % count], inout_seed);
    Error *error = NULL;
    if (chance(inout_seed, 4)) error = mutate_attributes(call, inout_seed, &text);
    if (text) call->attributes = text;
    if (chance(inout_seed, 16))
        call->input_count = (uint32_t)(test_random(inout_seed) % (count + 1));
    if (!error) error = run_both(on, call, out_done);
    if (error) error = error_wrap(error, "%u inputs, %s", call->input_count, call->attributes);
    call->input_count = count;
    conformance_run_deinit(&run);
    memory_free(text);
    return error;
}

bool conformance_random_applies(const ConformanceDevice *on, const ConformanceCase *row) {
    (void)on;
    return row->reference != NULL;
}

/* What the device may lack as it stands in the table, it may lack. */
static Error *check_plan(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    OWN(Plan, plan) = NULL;
    conformance_prepare(on->device, row, dtype, &run);
    Error *error = device_call_plan(&run.call, &plan);
    conformance_run_deinit(&run);
    return error;
}

/* A refusal is as good as a result. */
Error *conformance_random(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    uint64_t seed = case_table_seed(row) + (uint64_t)dtype;
    bool done;
    TRY(check_plan(on, row, dtype));
    for (uint32_t i = 0; i < CALLS_PER_CASE; i++)
        TRY_WRAP(conformance_random_call(on, row, dtype, &seed, &done), "mutation %u", i);
    return NULL;
}
