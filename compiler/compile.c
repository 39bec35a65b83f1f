#include "compiler/compile.h"

#include <string.h>

#include "compiler/frontend/onnx_import.h"
#include "compiler/ir/ir_print.h"
#include "compiler/lower/emit.h"
#include "compiler/nnvm/graph_translate.h"
#include "compiler/nnvm/nnvm_import.h"
#include "compiler/passes/pass.h"
#include "compiler/relay/relay_import.h"
#include "kernels/registry/device_registry.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/value_equal.h"

static const char import_name[] = "import";

static const CompilePass passes[] = {
#define PASS(name, lifted, text) {#name, text, lifted, name##_pass},
#include "compiler/passes/passes.def"
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

/* ---- names of dimensions that inputs share ---- */

/* The result of one way to compile a model, with its warnings. */
typedef struct Attempt {
    Executable *executable;
    TextBuilder dump, warnings;
    PrecisionReport report;
} Attempt;

static void attempt_deinit(Attempt *attempt) {
    executable_release(attempt->executable);
    text_builder_deinit(&attempt->dump);
    text_builder_deinit(&attempt->warnings);
}
#define OWN_ATTEMPT(name) __attribute__((cleanup(attempt_deinit))) name

static Error *try_once(const uint8_t *data, size_t size, const CompileOptions *options,
    OnnxNames names, bool *inout_given, bool *out_shared, Attempt *inout_attempt) {
    OWN(IrModule, module) = NULL;
    CompileOptions own = *options;
    own.dump = options->dump ? &inout_attempt->dump : NULL;
    own.warnings = &inout_attempt->warnings;
    own.report = &inout_attempt->report;
    TRY(onnx_import_names(data, size, options->folder, names, inout_given, out_shared, &module));
    return compile_module(module, &own, &inout_attempt->executable);
}

/* A model that compiles only with its initializers as constants is compiled so. */
static Error *try_names(const uint8_t *data, size_t size, const CompileOptions *options,
    OnnxNames names, bool *out_shared, Attempt *inout_attempt) {
    bool given = true;
    Error *error = try_once(data, size, options, names, &given, out_shared, inout_attempt);
    if (!error || !given || error_code(error) == ERROR_OUT_OF_MEMORY) return error;
    given = false;
    attempt_deinit(inout_attempt);
    *inout_attempt = (Attempt){0};
    Error *other = try_once(data, size, options, names, &given, out_shared, inout_attempt);
    if (other) {
        error_free(error);
        return other;
    }
    text_appendf(&inout_attempt->warnings,
        "inputs that have a value in the file (initializers) are constants: %s\n",
        error_message(error));
    error_free(error);
    return NULL;
}

static bool is_same_function(const Function *a, const Function *b) {
    return a->first_word == b->first_word && a->word_count == b->word_count &&
           a->parameter_count == b->parameter_count && a->register_count == b->register_count;
}

static bool is_same_constant(const Constant *a, const Constant *b) {
    bool equal = false;
    if (a->slot != b->slot) return false;
    Error *error = value_equal(&a->value, &b->value, &equal);
    const bool compared = !error;
    error_free(error); /* constants that cannot be compared count as different */
    return compared && equal;
}

/* Compares everything but the names of the functions' ports. */
static bool is_same_code(const Executable *a, const Executable *b) {
    if (a->function_count != b->function_count || a->constant_count != b->constant_count ||
        a->primitive_count != b->primitive_count || a->code_word_count != b->code_word_count ||
        memcmp(a->code, b->code, a->code_word_count * sizeof *a->code) != 0)
        return false;
    for (uint32_t i = 0; i < a->function_count; i++)
        if (!is_same_function(&a->functions[i], &b->functions[i])) return false;
    for (uint32_t i = 0; i < a->primitive_count; i++)
        if (a->primitives[i].operator_info != b->primitives[i].operator_info ||
            !attributes_equal(a->primitives[i].attributes, b->primitives[i].attributes))
            return false;
    for (uint32_t i = 0; i < a->constant_count; i++)
        if (!is_same_constant(&a->constants[i], &b->constants[i])) return false;
    return true;
}

static Error *tell(Attempt *attempt, const CompileOptions *options, Executable **out) {
    if (options->dump) text_append(options->dump, text_builder_get(&attempt->dump));
    if (options->warnings) text_append(options->warnings, text_builder_get(&attempt->warnings));
    if (options->report) {
        options->report->lowered += attempt->report.lowered;
        for (int i = 0; i < PRECISION_LEFT_COUNT; i++)
            options->report->left[i] += attempt->report.left[i];
    }
    *out = TAKE(attempt->executable);
    return NULL;
}

/* Compiles a model whose inputs share names of dimensions. By the model's promise such dimensions
 * have equal sizes, but some models break the promise. If the code differs with and without it, the
 * compiler relied on the names, and each run checks the sizes. Otherwise the names mean nothing,
 * and an operator that cannot take different sizes reports them. */
static Error *compile_onnx(
    const uint8_t *data, size_t size, const CompileOptions *options, Executable **out) {
    Attempt OWN_ATTEMPT(bound) = {0};
    Attempt OWN_ATTEMPT(apart) = {0};
    bool shared = false;
    Error *error = try_names(data, size, options, ONNX_NAMES_BIND, &shared, &bound);
    if (!shared) return error ? error : tell(&bound, options, out);
    Error *other = try_names(data, size, options, ONNX_NAMES_APART, &shared, &apart);
    const bool part = !other && (error || is_same_code(apart.executable, bound.executable));
    error_free(other); /* the names bind, so only errors of the first attempt count */
    if (error && !part) return error;
    error_free(error); /* the names contradict the model */
    return tell(part ? &apart : &bound, options, out);
}

static Error *compile_relay(
    const uint8_t *data, size_t size, const CompileOptions *options, Executable **out) {
    OWN(IrModule, module) = NULL;
    TRY(relay_import(data, size, &module));
    return compile_module(module, options, out);
}

/* A graph whose nodes are functions of a library, which are compiled already. */
static Error *compile_graph(
    const NnvmGraph *graph, const CompileOptions *options, Executable **out) {
    const GraphFiles files = {.params = options->params,
        .params_size = options->params_size,
        .library = options->library,
        .library_size = options->library_size,
        .hole_begin = options->hole_begin,
        .hole_size = options->hole_size,
        .inner_params = options->inner_params};
    if (!nnvm_graph_is_native(graph))
        FAIL(INVALID, "a library is given, but no node of the graph is a tvm_op, which calls one");
    if (precision_is_lower(options->precision))
        FAIL(UNSUPPORTED, "precision %s: the library's functions are compiled already",
            options->precision);
    return graph_translate(graph, &files, out);
}

static Error *compile_nnvm(
    const uint8_t *data, size_t size, const CompileOptions *options, Executable **out) {
    OWN(NnvmGraph, graph) = NULL;
    OWN(IrModule, module) = NULL;
    TRY(nnvm_graph_read(data, size, &graph));
    if (options->library) return compile_graph(graph, options, out);
    TRY(nnvm_import(graph, options->params, options->params_size, &module));
    return compile_module(module, options, out);
}

Error *compile_source(const char *format, const uint8_t *data, size_t size,
    const CompileOptions *options, Executable **out) {
    TRY(check_options(options));
    if (strcmp(format, "lva") == 0 && precision_is_lower(options->precision))
        FAIL(UNSUPPORTED, "precision %s: assembly is compiled already", options->precision);
    if (strcmp(format, "lva") == 0) return assembly_parse((const char *)data, size, out);
    if (strcmp(format, "relay") == 0) return compile_relay(data, size, options, out);
    if (strcmp(format, "nnvm") == 0) return compile_nnvm(data, size, options, out);
    if (strcmp(format, "onnx") != 0)
        FAIL(USAGE, "unknown format %s; there is onnx, relay, nnvm, lva", format);
    return compile_onnx(data, size, options, out);
}
