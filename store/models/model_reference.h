#pragma once
/* Parses references to models: NAME, NAME@3, NAME@alias. Used by store/models, scheduler/jobs and
 * tools/client. Pure: no state, any thread. */
#include <stdint.h>

#include "base/error.h"

enum {
    MODEL_NAME_SIZE = 65,       /* with the terminating NUL */
    MODEL_REFERENCE_SIZE = 130, /* NAME@alias with the terminating NUL */
};

typedef enum ModelReferenceKind {
    MODEL_REFERENCE_NEWEST,
    MODEL_REFERENCE_VERSION,
    MODEL_REFERENCE_ALIAS,
} ModelReferenceKind;

typedef struct ModelReference {
    ModelReferenceKind kind;
    char model[MODEL_NAME_SIZE];
    int64_t version;             /* of MODEL_REFERENCE_VERSION */
    char alias[MODEL_NAME_SIZE]; /* of MODEL_REFERENCE_ALIAS */
} ModelReference;

/* Errors: INVALID. */
MUST_CHECK Error *model_reference_parse(const char *text, ModelReference *out_reference);
/* Checks an alias: a name that is not a number. Errors: INVALID. */
MUST_CHECK Error *model_reference_check_alias(const char *alias);
