#pragma once
/* The attributes of one operator call: typed, checked and defaulted by the declaration string in
 * operators.def. Built by the compiler and the readers; read by shape rules and kernels on any
 * thread after attributes_check.
 *
 * Declaration: "axis:i=0 perm:I? to:d mode:s=constant value:t? alpha:f=0.01": name:kind, then
 * =default, ? optional, or nothing: required. Kinds: i int64, f float (stored as double), s text, d
 * element type, I list of int64, F list of floats, S list of texts, t tensor. */
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "kernels/tensor/dtype.h"

struct Tensor;
struct OperatorInfo;

typedef struct Attributes Attributes; /* immutable once built; counted */

enum { ATTRIBUTES_COUNT_MAX = 64, ATTRIBUTE_LIST_MAX = 1 << 24 };

/* Building: start empty, set by name, then attributes_check against the operator, which fills
 * defaults and puts entries into the declaration's order (canonical). Setting twice replaces. */
MUST_CHECK Error *attributes_create(Attributes **out);
Attributes *attributes_retain(Attributes *attributes);
void attributes_release(Attributes *attributes);
DEFINE_OWN(Attributes, attributes_release);
MUST_CHECK Error *attributes_set_int(Attributes *attributes, const char *name, int64_t value);
MUST_CHECK Error *attributes_set_float(Attributes *attributes, const char *name, double value);
MUST_CHECK Error *attributes_set_text(Attributes *attributes, const char *name, const char *value);
MUST_CHECK Error *attributes_set_dtype(Attributes *attributes, const char *name, DType value);
MUST_CHECK Error *attributes_set_ints(
    Attributes *attributes, const char *name, const int64_t *values, uint32_t count);
MUST_CHECK Error *attributes_set_floats(
    Attributes *attributes, const char *name, const double *values, uint32_t count);
MUST_CHECK Error *attributes_set_texts(
    Attributes *attributes, const char *name, const char *const *values, uint32_t count);
MUST_CHECK Error *attributes_set_tensor(
    Attributes *attributes, const char *name, struct Tensor *value);
/* Copies those attributes of `from` that the operator declares. */
MUST_CHECK Error *attributes_copy_declared(
    const Attributes *from, const struct OperatorInfo *operator_info, Attributes *to);
/* Errors: INVALID unknown attribute, wrong kind, missing required one; each named. */
MUST_CHECK Error *attributes_check(
    Attributes *attributes, const struct OperatorInfo *operator_info);

/* Reading checked attributes: a name that the declaration lacks is a bug of the caller (assert).
 * Borrowed results. */
bool attributes_has(const Attributes *attributes, const char *name);
int64_t attributes_int(const Attributes *attributes, const char *name);
double attributes_float(const Attributes *attributes, const char *name);
/* The attribute that the declaration names in place `index`, where it and all before it are floats
 * with defaults. */
double attributes_float_at(const Attributes *attributes, uint32_t index);
const char *attributes_text(const Attributes *attributes, const char *name);
DType attributes_dtype(const Attributes *attributes, const char *name);
/* Absent optional lists: NULL and count 0. */
const int64_t *attributes_ints(const Attributes *attributes, const char *name, uint32_t *out_count);
const double *attributes_floats(
    const Attributes *attributes, const char *name, uint32_t *out_count);
uint32_t attributes_text_count(const Attributes *attributes, const char *name);
/* NULL from the count on. */
const char *attributes_string_at(const Attributes *attributes, const char *name, uint32_t index);
struct Tensor *attributes_tensor(const Attributes *attributes, const char *name);

bool attributes_equal(const Attributes *a, const Attributes *b);
uint64_t attributes_hash(const Attributes *attributes);
/* Canonical bytes (docs/formats.md#attributes) and back; attributes_read leaves the attributes
 * unchecked. */
void attributes_write(const Attributes *attributes, ByteWriter *writer);
MUST_CHECK Error *attributes_read(ByteReader *reader, Attributes **out);
/* {axis=1, perm=[0, 2, 1], mode="constant"} and back, as in .lva. parse starts at '{' and moves
 * *inout_text past '}'. */
void attributes_print(const Attributes *attributes, TextBuilder *out);
MUST_CHECK Error *attributes_parse(const char **inout_text, Attributes **out);
