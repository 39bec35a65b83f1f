#include "compiler/passes/fusion.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "tests/compiler/compiler_fixtures.h"
#include "tests/support/device_tensor.h"
#include "vm/objects/adt.h"
#include "vm/assembly/assembly.h"

static const char text[] = "function @main(%0 \"x\": float32[n, 4], %1: float32[4], %2: int) {\n"
                           "  %3: float32[n, 4] = Neg(%0)\n"
                           "  %4: float32[n, 4] = Abs(%3)\n"
                           "  %5: float32[n, 4] = Exp(%4)\n"
                           "  %6: float32[n, 4] = Add(%5, %4)\n"
                           "  -> %6\n"
                           "}\n";

/* Exp(Abs(Neg(x))) as a Relu: Exp goes, Abs stays for its other user. */
static Error *rule(Fusion *fusion, IrBinding *binding) {
    if (binding->operator_info->id != OPERATOR_EXP) return NULL;
    const IrBinding *abs = fusion_maker(binding, fusion_operand(binding, 0), OPERATOR_ABS);
    assert_non_null(abs);
    assert_null(fusion_sole_maker(fusion, binding, abs->results[0], OPERATOR_ABS));
    IrBinding *neg = fusion_sole_maker(fusion, abs, fusion_operand(abs, 0), OPERATOR_NEG);
    assert_non_null(neg);
    IrVariable *x = fusion_operand(neg, 0);
    return fusion_replace(fusion, binding, "Relu", NULL, 1, &x);
}

static void test_fusion_replaces_and_removes_what_nobody_uses(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    PassContext context = {.module = module};
    assert_ok(fusion_run(&context, rule));
    assert_ok(ir_check(module, true));
    IrBinding *add = module->functions[0]->body->last;
    assert_int_equal(add->operands[0]->binding->operator_info->id, OPERATOR_RELU);
    assert_int_equal(add->operands[1]->binding->operator_info->id, OPERATOR_ABS);
    assert_true(fusion_same_shape(&add->operands[0]->type, &add->operands[1]->type));
}

static uint32_t seen[8], seen_count;
static Error *see(Fusion *fusion, IrBinding *binding) {
    (void)fusion;
    seen[seen_count++] = (uint32_t)binding->operator_info->id;
    return NULL;
}

static void test_fusion_goes_both_ways(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    PassContext context = {.module = module};
    seen_count = 0;
    assert_ok(fusion_run(&context, see));
    assert_ok(fusion_run_backwards(&context, see));
    assert_int_equal(seen_count, 8);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(seen[i], seen[7 - i]);
}

static void test_fusion_knows_what_broadcasts(void **state) {
    (void)state;
    IrType matrix = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(0), 4});
    IrType row = ir_type_shaped(DTYPE_FLOAT32, 1, (int64_t[]){4});
    IrType column = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(0), 1});
    IrType other = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(1), 4});
    IrType unknown = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){IR_DIM_UNKNOWN, 4});
    assert_true(fusion_broadcasts(&row, &matrix));
    assert_true(fusion_broadcasts(&column, &matrix));
    assert_false(fusion_broadcasts(&other, &matrix));
    assert_false(fusion_broadcasts(&matrix, &row));
    assert_false(fusion_broadcasts(&unknown, &unknown));
    assert_false(fusion_same_shape(&unknown, &unknown));
}

/* What the passes fuse, of element type T; mask and factor as a float16 model has them. */
static const char network_text[] =
    "function @main(%0 \"x\": T[n, 3, 6, 6], %1 \"s\": T[n, 5, 8]) {\n"
    "  %2 = Conv(%0, T[4, 3, 3, 3]{#1}, T[4]{#2}) {pads=[1, 1, 1, 1]}\n"
    "  %3 = BatchNormalization(%2, T[4]{#3}, T[4]{#4}, T[4]{#5}, T[4]{1, 2, 0.5, 7})\n"
    "  %4 = Relu(%3)\n"
    "  %5 = Conv(%4, T[4, 4, 1, 1]{#6})\n"
    "  %6 = BatchNormalization(%5, T[4]{#7}, T[4]{#8}, T[4]{#9}, T[4]{1, 2, 0.5, 7})\n"
    "  %7 = Add(%6, %4)\n"
    "  %8 = Clip(%7, T[]{0}, T[]{6})\n"
    "  %10 = MatMul(%1, T[8, 8]{#10})\n"
    "  %11 = Add(%10, T[8]{#11})\n"
    "  %12 = Reshape(%11, int64[4]{0, 5, 2, 4})\n"
    "  %13 = Transpose(%12) {perm=[0, 2, 1, 3]}\n"
    "  %14 = Transpose(%12) {perm=[0, 2, 3, 1]}\n"
    "  %15 = MatMul(%13, %14)\n"
    "  %16 = Div(%15, T[]{5.6568542})\n"
    "  %17 = Where(bool[1, 5]{true, true, true, false, true}, %16, T[]{-1e9})\n"
    "  %18 = Softmax(%17) {axis=-1}\n"
    "  %19 = MatMul(%18, %13)\n"
    "  %20 = Transpose(%19) {perm=[0, 2, 1, 3]}\n"
    "  %21 = Reshape(%20, int64[3]{0, 5, 8})\n"
    "  %22 = MatMul(%21, T[8, 8]{#12})\n"
    "  %23 = Add(T[8]{#13}, %22)\n"
    "  %24 = Add(%23, %1)\n"
    "  %25 = ReduceMean(%24, int64[1]{-1})\n"
    "  %26 = Sub(%24, %25)\n"
    "  %27 = Mul(%26, %26)\n"
    "  %28 = ReduceMean(%27, int64[1]{-1})\n"
    "  %29 = Add(%28, T[]{1e-3})\n"
    "  %30 = Sqrt(%29)\n"
    "  %31 = Div(%26, %30)\n"
    "  %32 = Mul(%31, T[8]{#14})\n"
    "  %33 = Mul(%32, T[]{0.70710678})\n"
    "  %34 = Erf(%33)\n"
    "  %35 = Add(%34, T[]{1})\n"
    "  %36 = Mul(%32, %35)\n"
    "  %37 = Mul(%36, T[]{0.5})\n"
    "  -> %8, %37\n"
    "}\n";

static Executable *network(DType dtype, bool fused) {
    TextBuilder OWN_TEXT(text_of_type) = {0};
    for (const char *c = network_text; *c; c++) {
        bool type = *c == 'T' && c[1] == '[';
        text_appendf(&text_of_type, "%.*s", type ? INT_MAX : 1, type ? dtype_name(dtype) : c);
    }
    OWN(IrModule, module) = module_parse(text_builder_get(&text_of_type));
    return fused ? module_compile(module) : module_compile_plainly(module);
}

static Value run_network(DType dtype, bool fused, const char *device) {
    static const Shape shapes[] = {{4, {2, 3, 6, 6}}, {3, {2, 5, 8}}};
    OWN(Executable, executable) = network(dtype, fused);
    Value arguments[2], result;
    for (uint32_t i = 0; i < 2; i++)
        arguments[i] = value_object(
            OBJECT_TENSOR, device_tensor_random(dtype, &shapes[i], -2, 2, (uint64_t)i + 1));
    assert_ok(executable_run(executable, device, arguments, 2, &result));
    for (uint32_t i = 0; i < 2; i++) value_release(&arguments[i]);
    return result;
}

static void assert_near(const Value *got, const Value *expected, double tolerance) {
    for (uint32_t field = 0; field < 2; field++) {
        const Tensor *a = got->adt->fields[field].tensor, *b = expected->adt->fields[field].tensor;
        assert_true(shape_equal(&a->shape, &b->shape));
        for (int64_t i = 0; i < shape_count_unchecked(&a->shape); i++) {
            double x = device_tensor_get(a, i), y = device_tensor_get(b, i);
            if (!(fabs(x - y) <= tolerance * (1 + fabs(y))))
                fail_msg("result %u, element %lld: %g, not %g", field, (long long)i, x, y);
        }
    }
}

/* Fused, in plain operators, and fused but run as plain operators: near each other and near
 * float32, by the precision of the type. */
static void test_fusion_keeps_what_half_types_compute(void **state) {
    (void)state;
    static const struct {
        DType dtype;
        double tolerance;
    } types[] = {{DTYPE_FLOAT32, 1e-5}, {DTYPE_FLOAT16, 5e-3}, {DTYPE_BFLOAT16, 4e-2}};
    Value exact = run_network(DTYPE_FLOAT32, false, "cpu");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        Value plain = run_network(types[i].dtype, false, "cpu");
        Value fused = run_network(types[i].dtype, true, "cpu");
        Value expanded = run_network(types[i].dtype, true, "sim:0,lacks=*");
        assert_near(&fused, &plain, types[i].tolerance);
        assert_near(&expanded, &plain, types[i].tolerance);
        assert_near(&fused, &exact, types[i].tolerance);
        value_release(&plain);
        value_release(&fused);
        value_release(&expanded);
    }
    value_release(&exact);
}

static void test_fusion_leaves_half_types_what_it_leaves_float32(void **state) {
    (void)state;
    static const char *const gone[] = {
        "BatchNormalization", "Softmax", "Erf", "ReduceMean", "MatMul(", "Relu("};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        OWN(Executable, executable) = network(dtypes[i], true);
        TextBuilder OWN_TEXT(assembly) = {0};
        assert_ok(assembly_print(executable, true, &assembly));
        for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++)
            if (strstr(text_builder_get(&assembly), gone[k]))
                fail_msg("%s: %s", dtype_name(dtypes[i]), gone[k]);
        assert_non_null(strstr(text_builder_get(&assembly), "FusedAttention"));
        assert_non_null(strstr(text_builder_get(&assembly), "FusedConv"));
    }
}

int test_fusion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fusion_replaces_and_removes_what_nobody_uses),
        cmocka_unit_test(test_fusion_goes_both_ways),
        cmocka_unit_test(test_fusion_knows_what_broadcasts),
        cmocka_unit_test(test_fusion_keeps_what_half_types_compute),
        cmocka_unit_test(test_fusion_leaves_half_types_what_it_leaves_float32),
    };
    return cmocka_run_group_tests_name("fusion", tests, NULL, NULL);
}
