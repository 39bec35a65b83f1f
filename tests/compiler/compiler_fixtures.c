#include "tests/compiler/compiler_fixtures.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/file.h"
#include "compiler/compile.h"
#include "compiler/ir/ir_parse.h"
#include "compiler/ir/ir_print.h"
#include "compiler/lower/emit.h"
#include "compiler/passes/pass.h"
#include "vm/assembly.h"

enum { FILES_MAX = 256, PATH_SIZE = 512 };
static const char separator[] = "\n====\n";

IrModule *module_parse(const char *text) {
    IrModule *module = NULL;
    assert_ok(ir_parse_module(text, &module));
    return module;
}

void module_run_pass(IrModule *module, const char *pass) {
    OWN(Device, portable) = NULL;
    assert_ok(device_open_portable(&portable));
    PassContext context = {.module = module, .portable = portable};
    size_t count;
    const CompilePass *passes = compile_passes(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(passes[i].name, pass) != 0) continue;
        assert_ok(passes[i].run(&context));
        assert_ok(ir_check(module, false));
        return;
    }
    fail_msg("no pass %s", pass);
}

Executable *module_compile(IrModule *module) {
    CompileOptions options = {.directory_descriptor = -1};
    Executable *executable = NULL;
    assert_ok(compile_module(module, &options, &executable));
    return executable;
}

/* Runs the passes that the first line names and prints what comes out. */
static void transform(char *text, TextBuilder *out) {
    static const char start[] = "; run:";
    assert_int_equal(strncmp(text, start, sizeof start - 1), 0);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    *end = '\0';
    OWN(IrModule, module) = module_parse(end + 1);
    char *rest = text + sizeof start - 1;
    for (char *pass; (pass = strtok_r(rest, " ", &rest));) {
        if (strcmp(pass, "emit") != 0) {
            module_run_pass(module, pass);
            continue;
        }
        OWN(Executable, executable) = NULL;
        assert_ok(emit_executable(module, &executable));
        assert_ok(assembly_print(executable, true, out));
        return;
    }
    assert_ok(ir_print_module(module, out));
}

static void check_file(const char *path) {
    uint8_t *data;
    size_t size;
    assert_ok(file_read(path, 1 << 20, &data, &size));
    TextBuilder OWN_TEXT(text) = {0}, OWN_TEXT(whole) = {0}, OWN_TEXT(actual) = {0};
    text_append_bytes(&whole, (const char *)data, size);
    memory_unmap(data, size);
    const char *expected = strstr(text_builder_get(&whole), separator);
    size_t input = expected ? (size_t)(expected + 1 - text_builder_get(&whole)) : whole.size;
    text_append_bytes(&text, text_builder_get(&whole), input);
    TextBuilder OWN_TEXT(copy) = {0};
    text_append(&copy, text_builder_get(&text));
    transform(copy.data, &actual);
    if (getenv("LAYOVER_GOLDEN_WRITE")) {
        text_appendf(&text, "%s%s", separator + 1, text_builder_get(&actual));
        assert_ok(file_write_atomic(path, text.data, text.size));
        return;
    }
    if (!expected) fail_msg("%s expects nothing", path);
    expected += sizeof separator - 1;
    if (strcmp(text_builder_get(&actual), expected) != 0)
        fail_msg("%s: got\n%s\nwanted\n%s", path, text_builder_get(&actual), expected);
}

void golden_check(const char *prefix) {
    struct dirent **entries;
    int count = scandir(GOLDEN_FOLDER, &entries, NULL, alphasort);
    assert_true(count > 0);
    int checked = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        const char *name = entries[i]->d_name;
        if (strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, ".ir")) {
            (void)snprintf(path, sizeof path, "%s/%s", GOLDEN_FOLDER, name);
            check_file(path);
            checked++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(checked > 0);
}
