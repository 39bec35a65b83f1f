#include "compiler/nnvm/graph_translate.h"

#include <string.h>

#include "compiler/compile.h"
#include "tests/compiler/graph_run.h"
#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};

static Error *translate(const char *nodes, const char *param, int64_t dim, Executable **out) {
    TextBuilder OWN_TEXT(json) = {0};
    ByteWriter OWN_BYTES(params) = {0};
    OWN(NnvmGraph, graph) = NULL;
    graph_write(nodes, &json);
    nnvm_write_params(param, dim, &params);
    const GraphFiles files = {.params = params.data,
        .params_size = params.size,
        .library = elf,
        .library_size = sizeof elf};
    assert_ok(nnvm_graph_read((const uint8_t *)text_builder_get(&json), json.size, &graph));
    return graph_translate(graph, &files, out);
}

static void test_graph_translate_makes_ports_of_variables_and_heads(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    assert_ok(translate(
        "null 3@0; null 4@1; null 2,3@2; f 0 1 2 -> s@3 3@4; heads 3:1 2 3", "n1", 4, &executable));
    uint32_t index;
    assert_ok(executable_find_function(executable, "main", &index));
    const Function *main_function = &executable->functions[index];
    assert_int_equal(main_function->parameter_count, 2);
    assert_string_equal(main_function->parameters[1].name, "n2");
    assert_int_equal(main_function->parameters[1].shape.dims[1], 3);
    assert_int_equal(main_function->result_count, 3);
    assert_string_equal(main_function->results[0].name, "n3");
    assert_string_equal(main_function->results[2].name, "n3_");
    assert_int_equal(main_function->results[2].shape.rank, 0);
    assert_int_not_equal(executable->native_library, EXECUTABLE_NO_LIBRARY);
}

static void test_graph_translate_refuses_params_that_do_not_fit(void **state) {
    (void)state;
    static const char nodes[] = "null 3@0; null 4@1; f 0 1 -> 3@2";
    Executable *executable = NULL;
    assert_fails_saying(INVALID, "node 1: n1: float32[5] in the params and float32[4] in the graph",
        translate(nodes, "n1", 5, &executable));
    assert_fails_saying(INVALID, "the params have w, which is no variable of the graph",
        translate(nodes, "w", 4, &executable));
    assert_fails_saying(INVALID, "the params have n2, which is no variable of the graph",
        translate(nodes, "n2", 3, &executable));
    graph_changed(
        INVALID, "arg_nodes, item 1: two variables are called n0", nodes, "\"n1\"", "\"n0\"");
}

static void test_graph_translate_needs_a_library_and_a_graph_for_it(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(native) = {0};
    TextBuilder OWN_TEXT(symbol) = {0};
    Executable *executable = NULL;
    graph_write("null 3@0; f 0 -> 3@1", &native);
    nnvm_write("null; relu 0", &symbol);
    CompileOptions options = {0};
    assert_fails_saying(UNSUPPORTED, "name it with --library",
        compile_source("nnvm", (const uint8_t *)text_builder_get(&native), native.size, &options,
            &executable));
    options.library = (const uint8_t *)"text";
    options.library_size = 4;
    assert_fails_saying(CORRUPT, "the library: no shared library: its 4 bytes do not begin like",
        compile_source("nnvm", (const uint8_t *)text_builder_get(&native), native.size, &options,
            &executable));
    assert_fails_saying(INVALID, "no node of the graph is a tvm_op",
        compile_source("nnvm", (const uint8_t *)text_builder_get(&symbol), symbol.size, &options,
            &executable));
    options.precision = "bf16";
    assert_fails_saying(UNSUPPORTED, "the library's functions are compiled already",
        compile_source("nnvm", (const uint8_t *)text_builder_get(&native), native.size, &options,
            &executable));
}

int test_graph_translate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_translate_makes_ports_of_variables_and_heads),
        cmocka_unit_test(test_graph_translate_refuses_params_that_do_not_fit),
        cmocka_unit_test(test_graph_translate_needs_a_library_and_a_graph_for_it),
    };
    return cmocka_run_group_tests_name("graph_translate", tests, NULL, NULL);
}
