/* Cast from and to strings: decimal numbers; each float is printed with the fewest digits that read
 * back as the same float. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernels/cpu/strings/cpu_strings.h"
#include "kernels/tensor/dtype_scalar.h"

/* Printing a float tries up to 17 lengths. */
enum { NUMBER_SIZE = 64, NUMBER_WORK = 8192 };

typedef struct State {
    int64_t count;
    DType from, to;
    uint32_t size; /* of a number */
} State;

/* ---- to strings ---- */

static bool reads_back(DType dtype, const char *text, double value) {
    uint64_t again = 0, bits = 0;
    return dtype_scalar_write(dtype, strtod(text, NULL), &again) &&
           dtype_scalar_write(dtype, value, &bits) && again == bits;
}

static int print_float(DType dtype, double value, char out[NUMBER_SIZE]) {
    if (isnan(value)) return snprintf(out, NUMBER_SIZE, "NaN");
    if (isinf(value)) return snprintf(out, NUMBER_SIZE, value < 0 ? "-INF" : "INF");
    int size = 0;
    for (int digits = 1; digits <= 17; digits++) {
        size = snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
        if (reads_back(dtype, out, value)) break;
    }
    return size;
}

static int print_number(const State *state, const void *from, int64_t at, char out[NUMBER_SIZE]) {
    const char *element = (const char *)from + at * state->size;
    int64_t integer;
    double real = 0;
    uint64_t word = 0;
    if (state->from == DTYPE_BOOL)
        return snprintf(out, NUMBER_SIZE, *(const uint8_t *)element ? "True" : "False");
    if (state->from == DTYPE_UINT64) {
        memcpy(&word, element, sizeof word);
        return snprintf(out, NUMBER_SIZE, "%" PRIu64, word);
    }
    if (dtype_scalar_read_int(state->from, element, &integer))
        return snprintf(out, NUMBER_SIZE, "%" PRId64, integer);
    (void)dtype_scalar_read(state->from, element, &real);
    return print_float(state->from, real, out);
}

static Error *measure_bytes(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    char text[NUMBER_SIZE];
    (void)shapes;
    out_bytes[0] = string_tensor_head_bytes(state->count);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, NUMBER_WORK));
        out_bytes[0] += (uint64_t)print_number(state, cpu_input(launch, 0), i, text);
    }
    return NULL;
}

static Error *launch_print(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    StringWriter writer = string_writer_open(cpu_output(launch, 0), state->count);
    char text[NUMBER_SIZE];
    KernelStopMeter meter = {0};
    (void)output_shapes;
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, NUMBER_WORK));
        int size = print_number(state, cpu_input(launch, 0), i, text);
        string_writer_add(&writer, (StringView){text, (uint64_t)size});
        string_writer_end(&writer);
    }
    return NULL;
}

/* ---- from strings ---- */

static bool read_float(const char *text, double *out) {
    char *end;
    /* only the forms of ONNX's standard: no hexadecimal digits, no spaces */
    if (text[strcspn(text, "xXpP \t\n\v\f\r")] != '\0' || text[0] == '\0') return false;
    *out = strtod(text, &end);
    return *end == '\0' && !strchr(text, '(');
}

/* Little-endian, as this machine is. False: the value is outside the type's range. */
static bool write_int(DType dtype, int64_t value, void *out) {
    uint32_t bits = dtype_bits(dtype);
    int64_t most = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - dtype_is_signed(dtype))) - 1;
    int64_t least = dtype_is_signed(dtype) ? -most - 1 : 0;
    if (value < least || value > most) return false;
    memcpy(out, &value, bits / 8);
    return true;
}

/* Reads whole numbers exactly; other numbers, such as "1e3", are cut towards zero. */
static bool read_int(DType dtype, const char *text, void *out) {
    char *end;
    double real;
    errno = 0;
    if (dtype == DTYPE_UINT64 && text[0] != '-') {
        uint64_t word = strtoull(text, &end, 10);
        memcpy(out, &word, sizeof word);
    } else {
        int64_t integer = strtoll(text, &end, 10);
        if (*end == '\0' && errno == 0) return write_int(dtype, integer, out);
    }
    if (*end == '\0' && errno == 0) return true;
    if (!read_float(text, &real) || !(fabs(real) < 0x1p53)) return false;
    return write_int(dtype, (int64_t)real, out);
}

/* "true" and "false" in any case, as bools are printed; otherwise a number, which is true if it is
 * not 0. */
static bool read_bool(const char *text, void *out) {
    double real;
    const bool yes = strcasecmp(text, "true") == 0, no = strcasecmp(text, "false") == 0;
    if (!yes && !no && !read_float(text, &real)) return false;
    *(uint8_t *)out = yes || (!no && real != 0);
    return true;
}

static bool read_number(const State *state, StringView view, void *out) {
    char text[NUMBER_SIZE * 8];
    double real;
    if (view.size == 0 || view.size >= sizeof text) return false;
    memcpy(text, view.text, (size_t)view.size);
    text[view.size] = '\0';
    if (strlen(text) != view.size || strchr(" \t\n\v\f\r", text[0])) return false;
    if (state->to == DTYPE_BOOL) return read_bool(text, out);
    if (dtype_is_integer(state->to)) return read_int(state->to, text, out);
    return read_float(text, &real) && dtype_scalar_write(state->to, real, out);
}

static Error *launch_read(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    char *to = cpu_output(launch, 0);
    KernelStopMeter meter = {0};
    (void)output_shapes;
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, NUMBER_WORK));
        StringView text = string_tensor_at(cpu_input(launch, 0), state->count, i);
        if (!read_number(state, text, to + i * state->size))
            FAIL(FAILED, "Cast: string %" PRId64 ", \"%.*s\", is no %s", i,
                (int)(text.size < NUMBER_SIZE ? text.size : NUMBER_SIZE), text.text,
                dtype_name(state->to));
    }
    return NULL;
}

static Error *plan_cast(Device *device, const PlanRequest *request, Plan **out) {
    DType from = request->inputs[0].dtype, to = request->outputs[0].dtype;
    const DTypeSet numbers = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    bool prints = to == DTYPE_STRING && numbers >> from & 1;
    bool reads = from == DTYPE_STRING && numbers >> to & 1;
    *out = NULL;
    if (!prints && !reads) return NULL;
    TRY(plan_create(device, request, "cpu.string_cast", sizeof(State), out));
    State *state = plan_state(*out);
    state->count = shape_count_unchecked(&request->inputs[0].shape);
    state->from = from;
    state->to = to;
    state->size = dtype_bits(prints ? from : to) / 8;
    if (prints) (*out)->measure_bytes = measure_bytes;
    (*out)->launch = prints ? launch_print : launch_read;
    return NULL;
}

const Kernel cpu_string_cast[] = {
    {OPERATOR_CAST, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL) | DTYPES_STRING, plan_cast,
        "cpu.string_cast", KERNEL_PORTABLE},
    {OPERATOR_CAST_LIKE, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL) | DTYPES_STRING, plan_cast,
        "cpu.string_cast", KERNEL_PORTABLE},
    KERNELS_END,
};
