#include "tests/compiler/graph_run.h"

#include <string.h>

#include "tests/support/test_support.h"
#include "vm/assembly/assembly.h"

enum { WORD_MAX = 128 };

/* What is written so far. */
typedef struct Writer {
    TextBuilder nodes, arguments, rows, shapes, types, storages, heads;
    uint32_t node_count, result_count;
} Writer;

static void writer_deinit(Writer *writer) {
    text_builder_deinit(&writer->nodes);
    text_builder_deinit(&writer->arguments);
    text_builder_deinit(&writer->rows);
    text_builder_deinit(&writer->shapes);
    text_builder_deinit(&writer->types);
    text_builder_deinit(&writer->storages);
    text_builder_deinit(&writer->heads);
}

static bool next_word(const char **inout_at, char out[WORD_MAX]) {
    *inout_at += strspn(*inout_at, " ");
    const size_t length = strcspn(*inout_at, " ;");
    if (length == 0) return false;
    assert_true(length < WORD_MAX);
    memcpy(out, *inout_at, length);
    out[length] = '\0';
    *inout_at += length;
    return true;
}

static void write_entry(const char *word, TextBuilder *out) {
    const char *colon = strchr(word, ':');
    text_appendf(out, "%s[%.*s, %s, 0]", out->size ? ", " : "", (int)strcspn(word, ":"), word,
        colon ? colon + 1 : "0");
}

static void write_result(Writer *writer, const char *word) {
    const char *at = strchr(word, '@'), *comma = writer->result_count ? ", " : "";
    assert_non_null(at);
    const int length = word[0] == 's' ? 0 : (int)(at - word);
    text_appendf(&writer->shapes, "%s[%.*s]", comma, length, word);
    text_appendf(&writer->types, "%s\"float32\"", comma);
    text_appendf(&writer->storages, "%s%s", comma, at + 1);
    writer->result_count++;
}

static void write_variable(Writer *writer, const char **inout_at) {
    char word[WORD_MAX];
    text_appendf(
        &writer->arguments, "%s%u", writer->arguments.size ? ", " : "", writer->node_count);
    text_append(&writer->nodes, "\"inputs\": []}");
    assert_true(next_word(inout_at, word));
    write_result(writer, word);
}

static void write_call(Writer *writer, const char *function, bool flat, const char **inout_at) {
    TextBuilder OWN_TEXT(inputs) = {0};
    char word[WORD_MAX];
    uint32_t count = 0;
    const uint32_t before = writer->result_count;
    for (; next_word(inout_at, word) && strcmp(word, "->") != 0; count++)
        write_entry(word, &inputs);
    while (next_word(inout_at, word)) write_result(writer, word);
    text_appendf(&writer->nodes,
        "\"inputs\": [%s], \"attrs\": {\"func_name\": \"%s\", \"num_inputs\": \"%u\", "
        "\"num_outputs\": \"%u\", \"flatten_data\": \"%d\"}}",
        text_builder_get(&inputs), function, count, writer->result_count - before, flat);
}

static void write_node(Writer *writer, char *word, const char **inout_at) {
    const bool variable = strcmp(word, "null") == 0, flat = strcmp(word, "flat") == 0;
    text_appendf(&writer->rows, "%u, ", writer->result_count);
    text_appendf(&writer->nodes, "%s{\"op\": \"%s\", \"name\": \"n%u\", ",
        writer->node_count ? ", " : "", variable ? "null" : "tvm_op", writer->node_count);
    if (flat) assert_true(next_word(inout_at, word));
    if (variable)
        write_variable(writer, inout_at);
    else
        write_call(writer, word, flat, inout_at);
    writer->node_count++;
}

void graph_write(const char *nodes, TextBuilder *out) {
    Writer writer __attribute__((cleanup(writer_deinit))) = {0};
    char word[WORD_MAX];
    for (const char *at = nodes; next_word(&at, word); at += *at == ';') {
        if (strcmp(word, "heads") == 0) {
            while (next_word(&at, word)) write_entry(word, &writer.heads);
            break;
        }
        write_node(&writer, word, &at);
    }
    if (writer.heads.size == 0) text_appendf(&writer.heads, "[%u, 0, 0]", writer.node_count - 1);
    text_appendf(out,
        "{\"nodes\": [%s], \"arg_nodes\": [%s], \"heads\": [%s], \"attrs\": {\"dltype\": "
        "[\"list_str\", [%s]], \"storage_id\": [\"list_int\", [%s]], \"shape\": [\"list_shape\", "
        "[%s]]}, \"node_row_ptr\": [%s%u]}",
        text_builder_get(&writer.nodes), text_builder_get(&writer.arguments),
        text_builder_get(&writer.heads), text_builder_get(&writer.types),
        text_builder_get(&writer.storages), text_builder_get(&writer.shapes),
        text_builder_get(&writer.rows), writer.result_count);
    assert_ok(text_builder_check(out));
}

Error *graph_make(const char *json, Executable **out) {
    static const uint8_t library[] = {0x7f, 'E', 'L', 'F'};
    OWN(NnvmGraph, graph) = NULL;
    const GraphFiles files = {.library = library, .library_size = sizeof library};
    TRY(nnvm_graph_read((const uint8_t *)json, strlen(json), &graph));
    return graph_translate(graph, &files, out);
}

void graph_expect_code(const char *nodes, const char *code, const char *file, int line) {
    TextBuilder OWN_TEXT(json) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    OWN(Executable, executable) = NULL;
    graph_write(nodes, &json);
    test_assert_ok(graph_make(text_builder_get(&json), &executable), nodes, file, line);
    assert_ok(assembly_print(executable, true, &text));
    const char *begin = strstr(text_builder_get(&text), "{\n    ");
    assert_non_null(begin);
    begin += 2;
    const char *end = strstr(begin, "\n}");
    assert_non_null(end);
    TextBuilder OWN_TEXT(body) = {0};
    text_append_bytes(&body, begin, (size_t)(end - begin) + 1);
    if (strcmp(text_builder_get(&body), code) != 0)
        fail_msg("%s:%d: %s: the code is\n%s", file, line, nodes, text_builder_get(&body));
}

void graph_check_refused(const char *nodes, const char *from, const char *to, ErrorCode code,
    const char *message, const char *file, int line) {
    TextBuilder OWN_TEXT(json) = {0};
    TextBuilder OWN_TEXT(changed) = {0};
    Executable *executable = NULL;
    graph_write(nodes, &json);
    const char *all = text_builder_get(&json), *found = from ? strstr(all, from) : NULL;
    if (from) {
        if (!found) fail_msg("%s:%d: no %s in %s", file, line, from, all);
        text_append_bytes(&changed, all, (size_t)(found - all));
        text_append(&changed, to);
        text_append(&changed, found + strlen(from));
        all = text_builder_get(&changed);
    }
    test_assert_fails(graph_make(all, &executable), code, message, all, file, line);
    assert_null(executable);
}
