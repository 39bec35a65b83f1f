#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "tests/conformance/conformance.h"
#include "tests/support/test_support.h"

/* Calls made of mutated rows of cases.def: other element types, shapes, values, attributes, inputs
 * missing. Each must end with a result or an Error, the same on cpu and sim; sanitizers and sim's
 * bounds watch the rest. */

enum { CALLS_PER_CASE = 40, BYTES_MAX = 1 << 18 };

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
        while (!(DTYPES_NUMBER >> dtype & 1) && dtype != DTYPE_BOOL);
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

static ErrorCode run_on(DeviceCall *call, Device *device, uint64_t *out_hash) {
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {NULL};
    call->device = device;
    Error *error = device_call_run(call, outputs, NULL);
    ErrorCode code = error_code(error);
    error_free(error);
    *out_hash = code == ERROR_NONE ? device_tensor_hash(outputs[0]) : 0;
    for (uint32_t i = 0; i < DEVICE_CALL_OUTPUTS_MAX; i++) tensor_release(outputs[i]);
    return code;
}

typedef struct Ends {
    uint32_t done, refused;
} Ends;

static void run_one(
    Device *cpu, Device *sim, const ConformanceCase *row, uint64_t *seed, Ends *ends) {
    DTypeSet dtypes = case_table_dtypes(row);
    uint32_t dtype;
    do dtype = (uint32_t)(test_random(seed) % DTYPE_COUNT);
    while (!(dtypes >> dtype & 1));
    ConformanceRun run;
    char *text = NULL;
    conformance_prepare(cpu, row, (DType)dtype, &run);
    DeviceCall *call = &run.call;
    call->bytes_max = BYTES_MAX;
    call->threads = 1 + (uint32_t)(test_random(seed) % 3);
    call->pack = chance(seed, 2);
    uint64_t mutations = 1 + test_random(seed) % 2;
    for (uint64_t i = 0; i < mutations && call->input_count > 0; i++)
        mutate_tensor(&call->inputs[test_random(seed) % call->input_count], seed);
    if (chance(seed, 4)) {
        assert_ok(mutate_attributes(call, seed, &text));
        call->attributes = text;
    }
    uint64_t here, there;
    uint32_t count = call->input_count;
    if (chance(seed, 16)) call->input_count = (uint32_t)(test_random(seed) % (count + 1));
    if (getenv("TRACE_CALLS")) print_message("%s %s\n", call->operator_name, call->attributes);
    ErrorCode code = run_on(call, cpu, &here);
    assert_int_equal(run_on(call, sim, &there), code);
    assert_true(here == there);
    assert_true(code != ERROR_INTERNAL);
    if (code == ERROR_NONE)
        ends->done++;
    else
        ends->refused++;
    call->input_count = count;
    conformance_run_deinit(&run);
    memory_free(text);
}

static void test_any_call_gives_a_result_or_an_error(void **state) {
    (void)state;
    Device *cpu = NULL, *sim = NULL;
    uint64_t seed = 20240229;
    Ends ends = {0};
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    for (uint32_t i = 0; i < case_table_count; i++)
        for (uint32_t j = 0; case_table[i].reference && j < CALLS_PER_CASE; j++)
            run_one(cpu, sim, &case_table[i], &seed, &ends);
    device_close(sim);
    device_close(cpu);
    print_message("%u calls ran, %u were refused\n", ends.done, ends.refused);
    assert_true(ends.done > 1000 && ends.refused > 1000);
}

int test_random_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_call_gives_a_result_or_an_error),
    };
    return cmocka_run_group_tests_name("random_calls", tests, NULL, NULL);
}
