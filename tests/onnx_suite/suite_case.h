#pragma once
/* One case of the ONNX backend tests: a model, and data sets of inputs with the outputs that it
 * must give, as make_cases.py writes them. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vm/objects/value.h"

enum { SUITE_PORTS_MAX = 64, SUITE_SETS_MAX = 16 };

typedef struct SuiteSet {
    uint32_t input_count, output_count;
    Value inputs[SUITE_PORTS_MAX]; /* a tensor, a list of tensors, or nil */
    Value outputs[SUITE_PORTS_MAX];
} SuiteSet;

typedef struct SuiteCase {
    uint8_t *model;
    size_t model_size;
    int64_t opset; /* of the default domain; 0: not imported */
    double relative, absolute;
    uint32_t set_count;
    SuiteSet sets[SUITE_SETS_MAX];
} SuiteCase;

/* Errors: of files that are not there or not what they should be; UNSUPPORTED an element type of
 * its values. *out is to be released in any case, and holds what could be read. */
MUST_CHECK Error *suite_case_open(const char *folder, SuiteCase *out);
void suite_case_deinit(SuiteCase *suite_case);
