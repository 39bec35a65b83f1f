#pragma once
/* Models in, executables out: front end, passes, emission.
 *
 * The same bytes give the same executable on every machine: nothing here looks at a device, an
 * instruction set, a thread count or a clock. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "compiler/frontend/onnx_folder.h"
#include "compiler/ir/ir.h"
#include "compiler/passes/precision.h"
#include "vm/code/executable.h"

typedef struct CompileOptions {
    /* NULL, or the pass behind which the module is printed ("import": before the first) to
     * dump. */
    const char *dump_after;
    TextBuilder *dump;
    const char *precision; /* as precision_find takes it */
    /* NULL, or what the precision came to: added to what is there. */
    PrecisionReport *report;
    /* NULL, or what the compiler has to say to a person, as lines: added to what is there. */
    TextBuilder *warnings;
    /* Where external data may be; NULL: a model must hold all of its data. */
    const OnnxFolder *folder;
} CompileOptions;

/* format: onnx, lva. Errors: UNSUPPORTED formats, precisions and operators, each named; CORRUPT,
 * INVALID for a source that is wrong; USAGE an unknown format or pass. */
MUST_CHECK Error *compile_source(const char *format, const uint8_t *data, size_t size,
    const CompileOptions *options, Executable **out);
/* The passes and emission alone. The module is changed. */
MUST_CHECK Error *compile_module(IrModule *module, const CompileOptions *options, Executable **out);

struct PassContext;
typedef struct CompilePass {
    const char *name;
    const char *text;
    bool lifted;
    Error *(*run)(struct PassContext *context);
} CompilePass;

/* In the order they run. */
const CompilePass *compile_passes(size_t *out_count);
