#include "kernels/tensor/reduce_groups.h"

typedef struct Group {
    bool reduced;
    int64_t dim, stride;
} Group;

/* Joins adjacent dimensions that are all reduced or all kept. */
static uint32_t make_groups(const Shape *shape, const bool *reduced, Group *groups) {
    int64_t strides[SHAPE_RANK_MAX];
    uint32_t count = 0;
    shape_strides(shape, strides);
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 1) continue;
        if (count > 0 && groups[count - 1].reduced == reduced[i]) {
            groups[count - 1].dim *= shape->dims[i];
            groups[count - 1].stride = strides[i];
        } else {
            groups[count++] = (Group){reduced[i], shape->dims[i], strides[i]};
        }
    }
    return count;
}

int64_t reduce_groups_walk(uint32_t rank, const int64_t *dims, const int64_t *strides, int64_t at) {
    int64_t offset = 0;
    for (uint32_t d = rank; d-- > 0;) {
        offset += at % dims[d] * strides[d];
        at /= dims[d];
    }
    return offset;
}

void reduce_groups_make(const Shape *shape, const bool reduced[SHAPE_RANK_MAX], ReduceGroups *out) {
    Group groups[SHAPE_RANK_MAX];
    const uint32_t count = make_groups(shape, reduced, groups);
    ReduceGroups made = {.repeats = 1, .length = 1, .width = 1, .stride = 1, .outer = 1};
    made.columns = count > 0 && !groups[count - 1].reduced;
    if (count > 0 && made.columns)
        made.width = groups[count - 1].dim;
    else if (count > 0)
        made.length = groups[count - 1].dim;
    if (count > 1) {
        *(made.columns ? &made.length : &made.width) = groups[count - 2].dim;
        made.stride = groups[count - 2].stride;
    }
    for (uint32_t i = 0; i + 2 < count; i++) {
        if (groups[i].reduced) {
            made.reduced_dims[made.reduced_rank] = groups[i].dim;
            made.reduced_strides[made.reduced_rank++] = groups[i].stride;
            made.repeats *= groups[i].dim;
        } else {
            made.kept_dims[made.kept_rank] = groups[i].dim;
            made.kept_strides[made.kept_rank++] = groups[i].stride;
            made.outer *= groups[i].dim;
        }
    }
    made.outputs = made.outer * made.width;
    *out = made;
}
