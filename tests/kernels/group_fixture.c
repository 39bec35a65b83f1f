#include "tests/kernels/group_fixture.h"

#include <stdio.h>

#include "kernels/cpu/elementwise/cpu_elementwise.h"
#include "kernels/cuda/planners/cuda_pointwise_source.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/infer_fixture.h"

/* ---- operators alone ---- */

static const struct {
    OperatorId id;
    DTypeSet dtypes;
} operators[] = {
#define POINTWISE_OPERATOR(id, dtypes) {OPERATOR_##id, dtypes},
#include "kernels/planning/pointwise_operators.def"
#undef POINTWISE_OPERATOR
};
enum { OPERATORS = sizeof operators / sizeof operators[0] };

/* The same operators by their attributes, and with operands of other types; "T": of the same. */
static const struct {
    const char *operator_name, *attributes, *second;
    DTypeSet dtypes;
} variants[] = {
    {"Mod", "{fmod=1}", "T", DTYPES_NUMBER},
    {"BitShift", "{direction=\"LEFT\"}", "T", DTYPES_INTEGER},
    {"BitShift", "{direction=\"RIGHT\"}", "T", DTYPES_INTEGER},
    {"Shrink", "{bias=0.5, lambd=1.5}", "", DTYPES_NUMBER},
    {"IsInf", "{detect_negative=0}", "", DTYPES_FLOAT | DTYPES_FLOAT8},
    {"Swish", "{alpha=0.3}", "", DTYPES_FLOAT},
    {"Gelu", "{approximate=\"tanh\"}", "", DTYPES_FLOAT},
    {"LeakyRelu", "{alpha=0.2}", "", DTYPES_FLOAT},
    {"Elu", "{alpha=0.3}", "", DTYPES_FLOAT},
    {"Pow", "{}", "float32", DTYPES_NUMBER},
    {"Pow", "{}", "float64", DTYPES_INTEGER},
    {"Pow", "{}", "int32", DTYPES_NUMBER},
    {"Pow", "{}", "uint8", DTYPES_NUMBER},
};

/* Rows of whole lanes, and rows that end within them. */
static const char *const wholes[] = {"[6,52]", "[7,51]"};
/* Contiguous, by rows, by columns, repeated. */
static const char *const seconds[][4] = {
    {"[6,52]", "[52]", "[6,1]", "[]"}, {"[7,51]", "[51]", "[7,1]", "[]"}};

typedef struct Maker {
    GroupCase *cases;
    uint32_t count;
} Maker;

/* Some element types of pointwise_operators.def are for devices alone: no call has them. */
static bool is_call(const GroupCase *group) {
    InferFixture infer;
    infer_fixture_init(&infer, group->operator_name, group->attributes, group->inputs, 1);
    Error *error = operator_infer(&infer.request);
    const bool accepted = !error;
    if (error) assert_int_equal(error_code(error), ERROR_INVALID);
    error_free(error);
    infer_fixture_deinit(&infer);
    return accepted;
}

static void add(Maker *maker, const char *operator_name, const char *attributes, const char *first,
    const char *second, const char *third) {
    const uint32_t at = maker->count, whole = at / 4 % 2;
    assert_true(at < GROUP_CASES_MAX);
    GroupCase *group = &maker->cases[at];
    /* Clip takes numbers alone, SwiGLU what needs no broadcasting */
    const char *shape = strcmp(operator_name, "Clip") == 0 ? "[]" : seconds[whole][at % 4];
    if (strcmp(operator_name, "SwiGLU") == 0) shape = wholes[whole];
    group->operator_name = operator_name;
    (void)snprintf(group->attributes, sizeof group->attributes, "%s", attributes);
    int size = snprintf(group->inputs, sizeof group->inputs, "%s%s", first, wholes[whole]);
    if (*second)
        size += snprintf(
            group->inputs + size, sizeof group->inputs - (size_t)size, " %s%s", second, shape);
    if (*third)
        size += snprintf(group->inputs + size, sizeof group->inputs - (size_t)size, " %s[]", third);
    assert_true((size_t)size < sizeof group->inputs);
    if (is_call(group)) maker->count++;
}

static void add_operator(Maker *maker, const OperatorInfo *info, const char *dtype) {
    if (info->id == OPERATOR_CAST || info->id == OPERATOR_BIT_SHIFT)
        return; /* among the variants */
    if (info->id == OPERATOR_WHERE)
        add(maker, info->name, "{}", "bool", dtype, dtype);
    else
        add(maker, info->name, "{}", dtype, info->inputs_max > 1 ? dtype : "",
            info->inputs_max > 2 ? dtype : "");
}

static void add_casts(Maker *maker, const char *dtype) {
    for (uint32_t to = 0; to < DTYPE_COUNT; to++) {
        char attributes[48];
        if (!(DTYPES_POINTWISE >> to & 1)) continue;
        (void)snprintf(attributes, sizeof attributes, "{to=%s,saturate=%u}", dtype_name((DType)to),
            maker->count % 2);
        add(maker, "Cast", attributes, dtype, "", "");
    }
}

uint32_t group_fixture_cases(GroupCase out[GROUP_CASES_MAX]) {
    Maker maker = {out, 0};
    for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        if (!(DTYPES_POINTWISE >> dtype & 1)) continue;
        const char *name = dtype_name((DType)dtype);
        for (uint32_t i = 0; i < OPERATORS; i++)
            if (operators[i].id == OPERATOR_WHERE || operators[i].dtypes >> dtype & 1)
                add_operator(&maker, operator_get(operators[i].id), name);
        for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
            if (variants[i].dtypes >> dtype & 1)
                add(&maker, variants[i].operator_name, variants[i].attributes, name,
                    strcmp(variants[i].second, "T") == 0 ? name : variants[i].second, "");
        add_casts(&maker, name);
    }
    return maker.count;
}

void group_fixture_params(const GroupCase *group, CudaPointwiseParams *out) {
    InferFixture infer;
    OWN(CpuPointwise, program) = NULL;
    infer_fixture_init(&infer, group->operator_name, group->attributes, group->inputs, 1);
    assert_ok(operator_infer(&infer.request));
    assert_ok(cpu_elementwise_lower(&infer.request, CPU_LEVEL_PORTABLE, &program));
    if (!cuda_pointwise_fill(&infer.request, program, out))
        fail_msg("%s %s %s is not taken", group->operator_name, group->attributes, group->inputs);
    infer_fixture_deinit(&infer);
}

void group_fixture_source(
    const GroupCase *cases, uint32_t count, uint32_t first, uint32_t step, TextBuilder *out) {
    text_append(out, "#include \"kernels/cuda/device/device_group.h\"\n");
    for (uint32_t i = first; i < count; i += step) {
        char name[24];
        CudaPointwiseParams params;
        (void)snprintf(name, sizeof name, "group_%u", i);
        group_fixture_params(&cases[i], &params);
        cuda_pointwise_source_write(name, &params, out);
    }
}

/* ---- random programs ---- */

enum { STEPS = 24 };
const char *const group_fixture_inputs = "T[64,820] T[820] T[64,1] T[]";

static const char *const float_unary[] = {"Neg", "Abs", "Relu", "Sqrt", "Exp", "Tanh", "Sigmoid",
    "Floor", "Sin", "Softplus", "Gelu", "HardSwish", "Sign", "LeakyRelu", "Erf", "Reciprocal"};
static const char *const integer_unary[] = {"Neg", "Abs", "Relu", "Sign"};
static const char *const binary[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
static const char *const compares[] = {"Greater", "LessOrEqual", "Equal"};
static const char *const others[] = {"int8", "uint16", "int32", "float16", "float32", "float64"};
#define PICK(table, seed) (table)[test_random(seed) % (sizeof(table) / sizeof((table)[0]))]

/* Some value of the element type under test, mostly a late one. */
static void write_value(
    const uint32_t *values, uint32_t count, uint64_t *seed, TextBuilder *program) {
    const uint64_t choice = test_random(seed);
    if (choice % 8 == 0)
        text_append(program, " c0");
    else if (choice % 2 || count == 0)
        text_appendf(program, " i%u", (uint32_t)(choice / 8 % 4));
    else
        text_appendf(program, " r%u", values[choice / 8 % count]);
}

/* Each step takes the last one's result, so that all of them are needed. */
void group_fixture_random(DType dtype, uint64_t seed, TextBuilder *out) {
    uint32_t values[STEPS + 4], count = 0, steps = 0;
    text_append(out, "{constants=[1.5],program=\"Add i0 i1; Mul r0 i2");
    values[count++] = steps++;
    values[count++] = steps++;
    while (steps < STEPS) {
        const uint32_t last = steps - 1;
        const uint64_t choice = test_random(&seed) % 6;
        if (choice < 2 && dtype_is_signed(dtype)) {
            text_appendf(out, "; %s r%u",
                dtype_is_float(dtype) ? PICK(float_unary, &seed) : PICK(integer_unary, &seed),
                last);
        } else if (choice < 4) {
            text_appendf(out, "; %s r%u", PICK(binary, &seed), last);
            write_value(values, count, &seed, out);
        } else if (choice == 4) {
            text_appendf(out, "; %s r%u", PICK(compares, &seed), last);
            write_value(values, count, &seed, out);
            text_appendf(
                out, "; Where r%u r%u i%u", steps++, last, (uint32_t)(test_random(&seed) % 4));
        } else {
            text_appendf(out, "; Cast r%u {to=%s}", last, PICK(others, &seed));
            text_appendf(out, "; Cast r%u {to=%s}", steps++, dtype_name(dtype));
        }
        values[count++] = steps++;
    }
    text_append(out, "\"}");
}
