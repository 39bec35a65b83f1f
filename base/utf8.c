#include "base/utf8.h"

bool utf8_is_space(uint32_t point) {
    if (point <= 0x20) return point == 0x20 || (point >= 9 && point <= 13) || point >= 0x1C;
    return point == 0x85 || point == 0xA0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

/* The upper case letters first … last; the lower case letter is `distance` further. In a range of
 * step 2 upper and lower case alternate. */
typedef struct CaseRange {
    uint32_t first, last, distance, step;
} CaseRange;

static const CaseRange ranges[] = {
    {'A', 'Z', 32, 1},
    {0xC0, 0xD6, 32, 1},
    {0xD8, 0xDE, 32, 1},
    {0x100, 0x12E, 1, 2},
    {0x132, 0x136, 1, 2},
    {0x139, 0x147, 1, 2},
    {0x14A, 0x176, 1, 2},
    {0x179, 0x17D, 1, 2},
    {0x386, 0x386, 38, 1},
    {0x388, 0x38A, 37, 1},
    {0x38C, 0x38C, 64, 1},
    {0x38E, 0x38F, 63, 1},
    {0x391, 0x3A1, 32, 1},
    {0x3A3, 0x3AB, 32, 1},
    {0x400, 0x40F, 80, 1},
    {0x410, 0x42F, 32, 1},
    {0x460, 0x480, 1, 2},
    {0x48A, 0x4BE, 1, 2},
    {0x4C1, 0x4CD, 1, 2},
    {0x4D0, 0x52E, 1, 2},
    {0x531, 0x556, 48, 1},
    {0x1E00, 0x1E94, 1, 2},
    {0x1EA0, 0x1EFE, 1, 2},
};

uint32_t utf8_to_lower(uint32_t point) {
    if (point == 0x178) return 0xFF;
    if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
    if (point > 0x1EFE) return point;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const CaseRange *range = &ranges[i];
        if (point >= range->first && point <= range->last &&
            (point - range->first) % range->step == 0)
            return point + range->distance;
    }
    return point;
}

uint32_t utf8_to_upper(uint32_t point) {
    if (point == 0xFF) return 0x178;
    if (point == 0x3C2) return 0x3A3; /* a sigma that ends a word */
    if (point < 0x80) return point >= 'a' && point <= 'z' ? point - 32 : point;
    if (point > 0x1EFF) return point;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const CaseRange *range = &ranges[i];
        uint32_t first = range->first + range->distance, last = range->last + range->distance;
        if (point >= first && point <= last && (point - first) % range->step == 0)
            return point - range->distance;
    }
    return point;
}
