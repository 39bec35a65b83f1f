#pragma once
/* How a model's file is read. Callers: model_file.c, model_graph.c, and those who fill it in. */
#include <stdbool.h>

#include "base/text.h"
#include "compiler/passes/precision.h"

/* Largest model file that is read. */
#define MODEL_FILE_SIZE_MAX ((size_t)16 << 30)

typedef struct ModelFileOptions {
    const char *format;      /* NULL: found by model_file_format */
    const char *precision;   /* NULL: fp32 */
    PrecisionReport *report; /* NULL, or a report to which the effect of the precision is added */
    const char *dump_after;
    TextBuilder *dump;
    bool self_contained; /* refuses data in other files */
    bool follow_links;   /* external data may be wherever links lead to */
    /* NULL, or a text to which messages of the compiler are added, as lines */
    TextBuilder *warnings;
    const char *params;  /* NULL, or the file of the weights of a graph of NNVM */
    const char *library; /* NULL, or the library of a graph of TVM's graph executor */
} ModelFileOptions;
