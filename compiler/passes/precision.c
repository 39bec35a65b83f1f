#include "compiler/passes/precision.h"

#include <string.h>

static const char *const names[] = {"fp32", "bf16", "int8"};

static const struct {
    const char *name, *text;
} lefts[] = {
#define LEFT(id, name, text) {name, text},
#include "compiler/passes/precision.def"
#undef LEFT
};

Error *precision_find(const char *name, Precision *out) {
    *out = PRECISION_FP32;
    if (!name) return NULL;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (Precision)i;
            return NULL;
        }
    FAIL(USAGE, "precision %s: fp32, bf16 or int8", name);
}

bool precision_is_lower(const char *name) { return name && strcmp(name, "fp32") != 0; }

const char *precision_left_name(PrecisionLeft left) { return lefts[left].name; }
const char *precision_left_text(PrecisionLeft left) { return lefts[left].text; }
