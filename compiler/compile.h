#pragma once
/* Compiles models to executables: front end, passes, emission. Caller: model_file.c in
 * tools/client, in the command's process or in the child that a daemon starts for each model.
 * Threads: any; one at a time per module.
 *
 * The same bytes give the same executable on every machine: the compiler looks at no device,
 * instruction set, thread count or clock. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "compiler/frontend/base/onnx_folder.h"
#include "compiler/ir/ir.h"
#include "compiler/passes/precision.h"
#include "vm/code/executable.h"

typedef struct CompileOptions {
    /* NULL, or the pass behind which the module is printed to dump ("import": before the first). */
    const char *dump_after;
    TextBuilder *dump;
    const char *precision; /* a name for precision_find */
    /* NULL, or a report to which the effect of the precision is added. */
    PrecisionReport *report;
    /* NULL, or a text to which messages for a person are added, as lines. */
    TextBuilder *warnings;
    /* The place of external data; NULL: a model must hold all of its data. */
    const OnnxFolder *folder;
    /* The bytes of the weights' file beside a graph of NNVM; NULL: none. */
    const uint8_t *params;
    size_t params_size;
    /* The library whose functions a graph of TVM's graph executor calls; NULL: none. */
    const uint8_t *library;
    size_t library_size;
    /* As in GraphFiles (graph_translate.h). */
    size_t hole_begin, hole_size;
    bool inner_params;
} CompileOptions;

/* Compiles a source. format: onnx, relay, nnvm, lva. Errors: UNSUPPORTED formats, precisions and
 * operators, each named; CORRUPT, INVALID a wrong source; USAGE an unknown format or pass. */
MUST_CHECK Error *compile_source(const char *format, const uint8_t *data, size_t size,
    const CompileOptions *options, Executable **out);
/* Runs the passes and emission only. Changes the module. */
MUST_CHECK Error *compile_module(IrModule *module, const CompileOptions *options, Executable **out);

struct PassContext;
typedef struct CompilePass {
    const char *name;
    const char *text;
    bool lifted;
    Error *(*run)(struct PassContext *context);
} CompilePass;

/* Returns the passes in the order in which they run. */
const CompilePass *compile_passes(size_t *out_count);
