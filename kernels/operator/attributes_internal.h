#pragma once
/* The representation of attributes: an array of named, typed entries. Only the files attributes*.c
 * use it (device_layout.h lists its fields). Threads: as attributes.h. */
#include "base/refcount.h"
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor.h"

enum { ATTRIBUTE_NAME_MAX = 64, ATTRIBUTE_TEXT_MAX = 1 << 20 };

/* The letters of the declaration. */
typedef enum AttributeKind {
    ATTRIBUTE_INT = 'i',
    ATTRIBUTE_FLOAT = 'f',
    ATTRIBUTE_TEXT = 's',
    ATTRIBUTE_DTYPE = 'd',
    ATTRIBUTE_INTS = 'I',
    ATTRIBUTE_FLOATS = 'F',
    ATTRIBUTE_TEXTS = 'S',
    ATTRIBUTE_TENSOR = 't',
} AttributeKind;

typedef struct Attribute {
    char name[ATTRIBUTE_NAME_MAX];
    AttributeKind kind;
    uint32_t count; /* of lists */
    union {
        int64_t int_value;
        double float_value;
        DType dtype;
        char *text;
        int64_t *ints;
        double *floats;
        char **texts;
        Tensor *tensor; /* plain, on device_host or cpu */
    };
} Attribute;

struct Attributes {
    Refcount refcount;
    uint32_t count;
    const OperatorInfo *operator_info; /* set by attributes_check */
    Attribute *entries;
    size_t capacity;
};

void attribute_deinit(Attribute *attribute);
/* Adds or replaces an entry; consumes the memory that the attribute owns, even on failure. */
MUST_CHECK Error *attributes_put(
    Attributes *attributes, const char *name, Attribute owned_attribute);
/* Makes room for one more at entries[count]; pointers to entries become invalid. */
MUST_CHECK Error *attributes_grow(Attributes *attributes);
/* NULL when absent. */
const Attribute *attributes_get(const Attributes *attributes, const char *name);
MUST_CHECK Error *attributes_check_name(const char *name);

/* One declaration: "alpha:f=0.01". */
typedef struct AttributeDeclaration {
    char name[ATTRIBUTE_NAME_MAX];
    AttributeKind kind;
    bool optional;
    const char *default_text; /* NULL: none. Ends at the next space or NUL */
    size_t default_size;
} AttributeDeclaration;

/* Parses the next declaration of a row's string; false at its end. */
bool attribute_declaration_next(const char **inout_text, AttributeDeclaration *out);
