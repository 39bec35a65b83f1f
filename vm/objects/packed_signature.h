#pragma once
/* Signatures of packed functions: what each argument must be, as a string. Checked before a call of
 * a function that has one. Pure: a constant table. */
#include "base/error.h"
#include "vm/objects/adt.h"
#include "vm/objects/value.h"

/* The sets of kinds that letters accept; 0: no such letter. */
extern const uint32_t packed_letter_sets[256];
/* What an argument with that letter must be; NULL: there is no such letter. */
const char *packed_letter_meaning(char letter);
/* The error of an argument that does not fit letter c of its signature. at: which one; count: one
 * is missing. */
MUST_CHECK Error *packed_signature_refuse(
    const char *c, const Value *arguments, uint32_t count, uint32_t at);

/* The bit of a value's kind in such a set: a scalar's is its tag, an object's is its kind behind
 * the tags, and the last one is that of an ADT that is no tuple. */
static inline uint32_t packed_kind_bit(const Value *value) {
    if (value_is(value, OBJECT_ADT) && value->adt->tag != 0) return UINT32_C(1) << 31;
    return UINT32_C(1) << (value->tag + value->kind);
}

/* Checks arguments against a signature: a letter of packed_letters.def each, in order; '[': the
 * arguments behind it may be missing; '*' repeats the letter before it to the end. Errors: INVALID,
 * naming the argument. */
MUST_CHECK static inline Error *packed_signature_check(
    const char *signature, const Value *arguments, uint32_t count) {
    const char *c = signature;
    for (uint32_t at = 0; at < count; at++, c++) {
        if (*c == '[') c++;
        if (*c == '*') c--;
        if (!(packed_letter_sets[(uint8_t)*c] & packed_kind_bit(&arguments[at])))
            return packed_signature_refuse(c, arguments, count, at);
    }
    if (*c == 0 || *c == '[' || *c == '*') return NULL;
    return packed_signature_refuse(c, arguments, count, count);
}
