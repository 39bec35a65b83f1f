#include "compiler/compile.h"

#include <string.h>

#include "compiler/frontend/onnx_import.h"
#include "compiler/ir/ir_print.h"
#include "compiler/lower/emit.h"
#include "compiler/passes/pass.h"
#include "vm/assembly.h"

static const char import_name[] = "import";

static const CompilePass passes[] = {
#define PASS(name, lifted, text) {#name, text, lifted, name##_pass},
#include "compiler/passes.def"
#undef PASS
};

const CompilePass *compile_passes(size_t *out_count) {
    *out_count = sizeof passes / sizeof passes[0];
    return passes;
}

/* "fold-constants" is fold_constants. */
static bool pass_is(const char *pass, const char *wanted) {
    for (; *pass && *wanted; pass++, wanted++)
        if (*pass != *wanted && !(*pass == '_' && *wanted == '-')) return false;
    return *pass == *wanted;
}

static Error *check_options(const CompileOptions *options) {
    Precision precision;
    TRY(precision_find(options->precision, &precision));
    if (!options->dump_after || pass_is(import_name, options->dump_after)) return NULL;
    TextBuilder OWN_TEXT(known) = {0};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (pass_is(passes[i].name, options->dump_after)) return NULL;
        text_appendf(&known, ", %s", passes[i].name);
    }
    FAIL(USAGE, "no pass %s; there is %s%s", options->dump_after, import_name,
        text_builder_get(&known));
}

static Error *dump(const IrModule *module, const char *pass, const CompileOptions *options) {
    if (!options->dump_after || !options->dump || !pass_is(pass, options->dump_after)) return NULL;
    return ir_print_module(module, options->dump);
}

static Error *run_passes(PassContext *context, const CompileOptions *options) {
    TRY_WRAP(ir_check(context->module, false), "after import");
    TRY(dump(context->module, import_name, options));
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        TRY(passes[i].run(context));
        TRY_WRAP(ir_check(context->module, passes[i].lifted), "after pass %s", passes[i].name);
        TRY(dump(context->module, passes[i].name, options));
    }
    return NULL;
}

Error *compile_module(IrModule *module, const CompileOptions *options, Executable **out) {
    TRY(check_options(options));
    OWN(Device, portable) = NULL;
    TRY(device_open_portable(&portable));
    PrecisionReport ignored = {0};
    PassContext context = {.module = module,
        .portable = portable,
        .report = options->report ? options->report : &ignored};
    TRY(precision_find(options->precision, &context.precision));
    TRY(run_passes(&context, options));
    TRY(emit_executable(module, out));
    if (options->warnings) text_append(options->warnings, text_builder_get(&module->warnings));
    return NULL;
}

Error *compile_source(const char *format, const uint8_t *data, size_t size,
    const CompileOptions *options, Executable **out) {
    TRY(check_options(options));
    if (strcmp(format, "lva") == 0 && precision_is_lower(options->precision))
        FAIL(UNSUPPORTED, "precision %s: assembly is compiled already", options->precision);
    if (strcmp(format, "lva") == 0) return assembly_parse((const char *)data, size, out);
    if (strcmp(format, "relax") == 0 || strcmp(format, "relay") == 0 || strcmp(format, "nnvm") == 0)
        FAIL(UNSUPPORTED, "format %s is not read by this version; onnx and lva are", format);
    if (strcmp(format, "onnx") != 0) FAIL(USAGE, "unknown format %s; there is onnx, lva", format);
    OWN(IrModule, module) = NULL;
    TRY(onnx_import(data, size, options->folder, &module));
    return compile_module(module, options, out);
}
