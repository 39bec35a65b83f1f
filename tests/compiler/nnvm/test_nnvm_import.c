#include "compiler/nnvm/nnvm_import.h"

#include "base/bytes.h"
#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static Error *import(const char *nodes, const char *name, int64_t dim, IrModule **out) {
    TextBuilder OWN_TEXT(json) = {0};
    ByteWriter OWN_BYTES(params) = {0};
    nnvm_write(nodes, &json);
    nnvm_write_params(name, dim, &params);
    OWN(NnvmGraph, graph) = NULL;
    TRY(nnvm_graph_read((const uint8_t *)text_builder_get(&json), json.size, &graph));
    return nnvm_import(graph, params.data, params.size, out);
}

static void test_nnvm_import_makes_constants_of_params(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    assert_ok(import("null; null __shape__=(3,); elemwise_add 0 1", "n1", 3, &module));
    const IrFunction *main_function = ir_module_find_function(module, "main");
    assert_non_null(main_function);
    assert_int_equal(main_function->body->parameter_count, 1);
    assert_string_equal(main_function->body->parameters[0]->name, "n0");
}

static void test_nnvm_import_refuses_params_that_do_not_fit(void **state) {
    (void)state;
    IrModule *module = NULL;
    assert_fails_saying(INVALID, "node 1: n1: the shape is [2] in the params and [3] in the graph",
        import("null; null __shape__=(3,); elemwise_add 0 1", "n1", 2, &module));
    assert_fails_saying(INVALID, "the params have fc, which is no variable of the graph",
        import("null; relu 0", "fc", 2, &module));
    assert_fails_saying(INVALID, "the params have no n1, which node 2: n2 (prelu) reads",
        import("null; null; prelu 0 1", "n0", 2, &module));
    assert_null(module);
}

static void test_nnvm_import_refuses_graphs_of_libraries(void **state) {
    (void)state;
    nnvm_refused(UNSUPPORTED, "functions are in a library", "null; tvm_op 0 func_name=add");
}

int test_nnvm_import(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_import_makes_constants_of_params),
        cmocka_unit_test(test_nnvm_import_refuses_params_that_do_not_fit),
        cmocka_unit_test(test_nnvm_import_refuses_graphs_of_libraries),
    };
    return cmocka_run_group_tests_name("nnvm_import", tests, NULL, NULL);
}
