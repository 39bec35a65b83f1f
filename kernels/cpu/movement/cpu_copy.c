#include "kernels/cpu/movement/cpu_copy.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/movement/cpu_transpose.h"

enum {
    RUN_JOIN_MAX = 16,       /* shorter runs become elements of that size */
    CACHE_LINE = 64,         /* bytes: a tile's side */
    BYTES_PER_UNIT = 32768,  /* bytes of a unit, which is not cut further */
    BYTES_PER_PART = 131072, /* bytes for which a thread is worth its start */
    TILE_ROWS_MIN = 4,       /* fewer: no tiles */
};

/* Drops dimensions of 1, and joins dimensions that have one stride on both sides. */
static void collapse(CpuCopy *copy) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < copy->rank; i++) {
        if (copy->dims[i] == 1) continue;
        bool joins = rank > 0 && copy->from[rank - 1] == copy->from[i] * copy->dims[i] &&
                     copy->to[rank - 1] == copy->to[i] * copy->dims[i];
        uint32_t at = joins ? rank - 1 : rank++;
        copy->dims[at] = joins ? copy->dims[at] * copy->dims[i] : copy->dims[i];
        copy->from[at] = copy->from[i];
        copy->to[at] = copy->to[i];
    }
    copy->rank = rank;
}

/* Joins an innermost run of 2, 4, 8 or 16 bytes to one element. */
static void join_elements(CpuCopy *copy) {
    if (copy->rank == 0) return;
    uint32_t inner = copy->rank - 1;
    int64_t size = copy->size;
    if (copy->from[inner] != size || copy->to[inner] != size) return;
    int64_t run = copy->dims[inner] * size;
    bool power = (run & (run - 1)) == 0;
    if (run > RUN_JOIN_MAX || !power || copy->rank == 1) return;
    copy->size = (uint32_t)run;
    copy->rank--;
}

/* Finds the dimension along which `from` is contiguous, unless it is the innermost. */
static bool find_tile_axis(const CpuCopy *copy, uint32_t *out) {
    uint32_t inner = copy->rank - 1;
    if (copy->to[inner] != copy->size || copy->dims[inner] < 2) return false;
    if (copy->from[inner] == 0) return false;
    for (uint32_t i = 0; i < inner; i++)
        if (copy->from[i] == copy->size && copy->dims[i] >= TILE_ROWS_MIN) {
            *out = i;
            return true;
        }
    return false;
}

static void remove_axis(CpuCopy *copy, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < copy->rank; i++) {
        copy->dims[i] = copy->dims[i + 1];
        copy->from[i] = copy->from[i + 1];
        copy->to[i] = copy->to[i + 1];
    }
    copy->rank--;
}

static void choose_kind(CpuCopy *copy) {
    uint32_t inner = copy->rank - 1, tile_axis;
    bool runs = copy->from[inner] == copy->size && copy->to[inner] == copy->size;
    copy->count = copy->dims[inner];
    copy->from_step = copy->from[inner];
    copy->to_step = copy->to[inner];
    copy->rows = 1;
    copy->kind = CPU_COPY_STRIDED;
    if (runs) {
        copy->kind = CPU_COPY_RUNS;
        copy->count *= copy->size;
    } else if (find_tile_axis(copy, &tile_axis)) {
        copy->kind = CPU_COPY_TILES;
        copy->rows = copy->dims[tile_axis];
        copy->to_step = copy->to[tile_axis];
        remove_axis(copy, tile_axis);
    }
    copy->rank--; /* drops the innermost dimension */
}

/* Cuts the copy into units; the innermost part, too, if it alone is worth several units. */
static void choose_units(CpuCopy *copy) {
    uint64_t outer = 1;
    for (uint32_t i = 0; i < copy->rank; i++) outer *= (uint64_t)copy->dims[i];
    int64_t length = copy->kind == CPU_COPY_TILES ? copy->rows : copy->count;
    int64_t row_bytes = copy->kind == CPU_COPY_TILES  ? copy->count * copy->size
                        : copy->kind == CPU_COPY_RUNS ? 1
                                                      : copy->size;
    /* rows of tiles are elements of a line of `from` */
    int64_t step = copy->kind == CPU_COPY_TILES ? CACHE_LINE / copy->size : CACHE_LINE;
    int64_t unit = (BYTES_PER_UNIT / row_bytes + step - 1) / step * step;
    if (unit < step) unit = step;
    if (unit > length) unit = length;
    copy->unit_rows = unit;
    copy->units_per_outer = ((uint64_t)length + (uint64_t)unit - 1) / (uint64_t)unit;
    copy->units = outer * copy->units_per_outer;
    uint64_t unit_bytes = (uint64_t)(unit * row_bytes);
    copy->units_per_part_min = BYTES_PER_PART / (unit_bytes ? unit_bytes : 1) + 1;
}

void cpu_copy_make(uint32_t rank, const int64_t *dims, const int64_t *from_strides,
    int64_t from_offset, const int64_t *to_strides, int64_t to_offset, uint32_t size,
    CpuCopy *out) {
    CpuCopy copy = {.rank = rank, .size = size};
    copy.from_offset = from_offset * size;
    copy.to_offset = to_offset * size;
    bool empty = false;
    for (uint32_t i = 0; i < rank; i++) {
        copy.dims[i] = dims[i];
        copy.from[i] = from_strides[i] * size;
        copy.to[i] = to_strides[i] * size;
        empty = empty || dims[i] == 0;
    }
    if (!empty) {
        collapse(&copy);
        join_elements(&copy);
        if (copy.rank == 0) {
            copy.rank = 1;
            copy.dims[0] = 1;
            copy.from[0] = copy.to[0] = copy.size;
        }
        choose_kind(&copy);
        choose_units(&copy);
    }
    *out = copy;
}

/* Elements of any type, at any address. */
#define ELEMENT __attribute__((may_alias, aligned(1)))
typedef uint8_t ELEMENT Element8;
typedef uint16_t ELEMENT Element16;
typedef uint32_t ELEMENT Element32;
typedef uint64_t ELEMENT Element64;
typedef uint64_t __attribute__((vector_size(16))) ELEMENT Element128;

#define ELEMENT_LOOPS(bits)                                                                        \
    static void strided_##bits(                                                                    \
        const CpuCopy *copy, char *restrict to, const char *restrict from, int64_t count) {        \
        const int64_t from_step = copy->from_step, to_step = copy->to_step;                        \
        Element##bits *restrict compact = (Element##bits *)to;                                     \
        if (to_step != (int64_t)sizeof *compact) {                                                 \
            for (int64_t i = 0; i < count; i++)                                                    \
                *(Element##bits *)(to + i * to_step) =                                             \
                    *(const Element##bits *)(from + i * from_step);                                \
        } else if (from_step == 0) {                                                               \
            const Element##bits x = *(const Element##bits *)from;                                  \
            for (int64_t i = 0; i < count; i++) compact[i] = x;                                    \
        } else {                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                compact[i] = *(const Element##bits *)(from + i * from_step);                       \
        }                                                                                          \
    }
ELEMENT_LOOPS(8)
ELEMENT_LOOPS(16)
ELEMENT_LOOPS(32)
ELEMENT_LOOPS(64)
ELEMENT_LOOPS(128)

/* A square of n x n elements, one vector of 16 bytes a row: interleaving row i with row i + n/2,
 * log2(n) times, transposes it. */
typedef uint8_t Vector8 __attribute__((vector_size(16)));
typedef uint16_t Vector16 __attribute__((vector_size(16)));
typedef uint64_t Vector64 __attribute__((vector_size(16)));
#define LOW_8(a, b)                                                                                \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_8(a, b)                                                                               \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_64(a, b) __builtin_shufflevector(a, b, 1, 3)

#define SQUARE(bits, n)                                                                            \
    static inline void square_##bits(                                                              \
        char *restrict to, int64_t to_step, const char *restrict from, int64_t from_step) {        \
        Vector##bits rows[n], next[n];                                                             \
        for (int i = 0; i < n; i++) memcpy(&rows[i], from + i * from_step, 16);                    \
        for (int width = n; width > 1; width /= 2) {                                               \
            for (int i = 0; i < n / 2; i++) {                                                      \
                next[2 * i] = LOW_##bits(rows[i], rows[i + n / 2]);                                \
                next[2 * i + 1] = HIGH_##bits(rows[i], rows[i + n / 2]);                           \
            }                                                                                      \
            for (int i = 0; i < n; i++) rows[i] = next[i];                                         \
        }                                                                                          \
        for (int i = 0; i < n; i++) memcpy(to + i * to_step, &rows[i], 16);                        \
    }
SQUARE(8, 16)
SQUARE(16, 8)
SQUARE(64, 2)

/* to[j][i] = from[i][j] for j in [row, bottom), i in [column, right): in squares, and element by
 * element at the edges. */
#define TILE_LOOPS(bits, n)                                                                        \
    static inline void tile_##bits(const CpuCopy *copy, char *restrict to,                         \
        const char *restrict from, int64_t row, int64_t bottom, int64_t column, int64_t right) {   \
        const int64_t size = bits / 8, from_step = copy->from_step, to_step = copy->to_step;       \
        for (int64_t j = row, height; j < bottom; j += height) {                                   \
            int64_t i = column;                                                                    \
            height = bottom - j < n ? 1 : n;                                                       \
            for (; height == n && i + n <= right; i += n)                                          \
                square_##bits(to + j * to_step + i * size, to_step,                                \
                    from + i * from_step + j * size, from_step);                                   \
            for (; i < right; i++)                                                                 \
                for (int64_t k = j; k < j + height; k++)                                           \
                    *(Element##bits *)(to + k * to_step + i * size) =                              \
                        *(const Element##bits *)(from + i * from_step + k * size);                 \
        }                                                                                          \
    }                                                                                              \
    /* Goes cache line by cache line, so that each line is read and written once. */               \
    static void tiles_##bits(                                                                      \
        const CpuCopy *copy, char *restrict to, const char *restrict from, int64_t rows) {         \
        const int64_t side = CACHE_LINE * 8 / bits;                                                \
        for (int64_t row = 0; row < rows; row += side)                                             \
            for (int64_t column = 0; column < copy->count; column += side) {                       \
                int64_t bottom = rows - row < side ? rows : row + side;                            \
                int64_t right = copy->count - column < side ? copy->count : column + side;         \
                tile_##bits(copy, to, from, row, bottom, column, right);                           \
            }                                                                                      \
    }
TILE_LOOPS(8, 16)
TILE_LOOPS(16, 8)
TILE_LOOPS(64, 2)

static void tiles_128(
    const CpuCopy *copy, char *restrict to, const char *restrict from, int64_t rows) {
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < copy->count; column++)
            *(Element128 *)(to + row * copy->to_step + column * 16) =
                *(const Element128 *)(from + column * copy->from_step + row * 16);
}

typedef void Inner(const CpuCopy *copy, char *to, const char *from, int64_t length);

/* NULL for runs and for tiles of 4 bytes, which have better. */
static Inner *find_inner(const CpuCopy *copy) {
    if (copy->kind == CPU_COPY_RUNS) return NULL;
    bool tiles = copy->kind == CPU_COPY_TILES;
    switch (copy->size) {
    case 1:
        return tiles ? tiles_8 : strided_8;
    case 2:
        return tiles ? tiles_16 : strided_16;
    case 4:
        return tiles ? NULL : strided_32;
    case 8:
        return tiles ? tiles_64 : strided_64;
    default:
        return tiles ? tiles_128 : strided_128;
    }
}

typedef struct Run {
    const CpuCopy *copy;
    char *to;
    const char *from;
    Inner *inner;
    CpuTranspose *transpose;
} Run;

static void move(const Run *run, char *to, const char *from, int64_t length) {
    const CpuCopy *copy = run->copy;
    if (copy->kind == CPU_COPY_RUNS)
        memcpy(to, from, (size_t)length);
    else if (run->inner)
        run->inner(copy, to, from, length);
    else
        run->transpose(to, copy->to_step, from, copy->from_step, length, copy->count);
}

/* Moves (from, to) to the next outer element. */
static void advance(const CpuCopy *copy, int64_t *index, const char **from, char **to) {
    for (uint32_t d = copy->rank; d-- > 0;) {
        *from += copy->from[d];
        *to += copy->to[d];
        if (++index[d] < copy->dims[d]) return;
        *from -= copy->from[d] * copy->dims[d];
        *to -= copy->to[d] * copy->dims[d];
        index[d] = 0;
    }
}

static void run_part(const Run *run, uint64_t begin, uint64_t end) {
    const CpuCopy *copy = run->copy;
    int64_t length = copy->kind == CPU_COPY_TILES ? copy->rows : copy->count;
    int64_t from_advance = copy->kind == CPU_COPY_STRIDED ? copy->from_step : (int64_t)copy->size;
    int64_t to_advance = copy->to_step;
    if (copy->kind == CPU_COPY_RUNS) from_advance = to_advance = 1;
    uint64_t outer = begin / copy->units_per_outer, part = begin % copy->units_per_outer;
    int64_t index[CPU_COPY_RANK_MAX];
    const char *from = run->from + copy->from_offset;
    char *to = run->to + copy->to_offset;
    uint64_t rest = outer;
    for (uint32_t d = copy->rank; d-- > 0;) {
        index[d] = (int64_t)(rest % (uint64_t)copy->dims[d]);
        rest /= (uint64_t)copy->dims[d];
        from += index[d] * copy->from[d];
        to += index[d] * copy->to[d];
    }
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t at = (int64_t)part * copy->unit_rows;
        int64_t n = length - at < copy->unit_rows ? length - at : copy->unit_rows;
        move(run, to + at * to_advance, from + at * from_advance, n);
        if (++part == copy->units_per_outer) {
            part = 0;
            advance(copy, index, &from, &to);
        }
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    run_part(context, begin, end);
    return NULL;
}

Error *cpu_copy_run(
    CpuDevice *device, uint32_t threads, const CpuCopy *copy, void *to, const void *from) {
    Run run = {copy, to, from, find_inner(copy), cpu_transpose_for(device->level)};
    if (copy->kind == CPU_COPY_NOTHING) return NULL;
    if (copy->units <= copy->units_per_part_min) {
        run_part(&run, 0, copy->units);
        return NULL;
    }
    return cpu_for_each(device, threads, copy->units, copy->units_per_part_min, run_units, &run);
}

Error *cpu_copy_bytes(
    CpuDevice *device, uint32_t threads, void *to, const void *from, uint64_t size) {
    if (size == 0 || to == from) return NULL;
    CpuCopy copy;
    int64_t dims[1] = {(int64_t)size}, step[1] = {1};
    cpu_copy_make(1, dims, step, 0, step, 0, 1, &copy);
    return cpu_copy_run(device, threads, &copy, to, from);
}
