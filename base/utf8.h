#pragma once
/* Reads and writes code points of UTF-8. Callers: the string kernels and kernels/tensor's regular
 * expressions, with text that text_is_utf8 has checked. Pure: no state, any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the code point at *inout_at, and moves *inout_at behind it. */
static inline uint32_t utf8_next(const char *text, size_t *inout_at) {
    const uint8_t *at = (const uint8_t *)text + *inout_at;
    if (at[0] < 0x80) {
        *inout_at += 1;
        return at[0];
    }
    if (at[0] < 0xE0) {
        *inout_at += 2;
        return (at[0] & 0x1FU) << 6 | (at[1] & 0x3FU);
    }
    if (at[0] < 0xF0) {
        *inout_at += 3;
        return (at[0] & 0x0FU) << 12 | (at[1] & 0x3FU) << 6 | (at[2] & 0x3FU);
    }
    *inout_at += 4;
    return (at[0] & 0x07U) << 18 | (at[1] & 0x3FU) << 12 | (at[2] & 0x3FU) << 6 | (at[3] & 0x3FU);
}

/* Writes one to four bytes and returns their number. */
static inline size_t utf8_put(uint32_t point, char out[4]) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

/* Unicode's White_Space, and the separators 1C to 1F. */
bool utf8_is_space(uint32_t point);
/* Returns the single letter of the other case, for letters of the Latin, Greek, Cyrillic and
 * Armenian blocks. Other points stay unchanged, and so do letters with several or context-dependent
 * other cases. The result is the same in every locale. */
uint32_t utf8_to_lower(uint32_t point);
uint32_t utf8_to_upper(uint32_t point);
