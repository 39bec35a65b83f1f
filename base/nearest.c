#include "base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

Nearest nearest_to(const char *wanted) {
    const size_t size = strlen(wanted);
    /* one letter in three may be another */
    return (Nearest){.wanted = wanted,
        .distance = size > NEAREST_NAME_MAX ? 0 : 1 + (uint32_t)(size > 1 ? (size + 1) / 3 : 0)};
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* How many letters are to be put in, left out, replaced or exchanged with their neighbour. */
static uint32_t distance(const char *a, size_t a_size, const char *b, size_t b_size) {
    uint32_t rows[3][NEAREST_NAME_MAX + 1];
    uint32_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_size; j++) before[j] = last[j] = (uint32_t)j;
    for (size_t i = 1; i <= a_size; i++) {
        now[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_size; j++) {
            now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        uint32_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[b_size];
}

/* Whether the name is the wanted one behind a prefix: nn.softmax for softmax. */
static bool is_prefixed(const char *name, size_t size, const char *wanted, size_t wanted_size) {
    return size > wanted_size && name[size - wanted_size - 1] == '.' &&
           strcmp(name + size - wanted_size, wanted) == 0;
}

void nearest_try(Nearest *nearest, const char *name) {
    const size_t size = strlen(name), wanted_size = strlen(nearest->wanted);
    if (size > NEAREST_NAME_MAX || wanted_size > NEAREST_NAME_MAX || wanted_size == 0) return;
    const uint32_t found = is_prefixed(name, size, nearest->wanted, wanted_size)
                               ? 0
                               : distance(nearest->wanted, wanted_size, name, size);
    if (found >= nearest->distance || found >= wanted_size) return;
    nearest->found = name;
    nearest->distance = found;
}
