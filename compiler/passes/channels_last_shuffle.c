/* Reshape, Transpose, Reshape that exchange groups of channels with the channels inside them become
 * the same exchange on [N, H, W, C]. */
#include "compiler/ir/ir_permutation.h"
#include "compiler/passes/channels_last.h"
#include "compiler/ir/constants.h"

enum { CHANNELS = 1, IMAGE_RANK = 4, RANK = 5 };

static IrBinding *made_by(const IrVariable *variable, OperatorId id) {
    IrBinding *binding = variable ? variable->binding : NULL;
    if (!binding || binding->kind != IR_OPERATOR || binding->operator_info->id != id) return NULL;
    return binding;
}

static const int64_t groups_swapped[RANK] = {0, 2, 1, 3, 4};

static bool same(int64_t a, int64_t b) { return a == b && a != IR_DIM_UNKNOWN; }

/* [N, groups, C / groups, H, W] of an image [N, C, H, W]. */
static bool has_groups(const IrType *cut, const IrType *image) {
    const int64_t *dims = cut->dims;
    return cut->kind == IR_TYPE_TENSOR && cut->rank_known && cut->rank == RANK && dims[1] > 0 &&
           dims[2] > 0 && image->dims[CHANNELS] % dims[1] == 0 &&
           image->dims[CHANNELS] / dims[1] == dims[2] && same(dims[0], image->dims[0]) &&
           same(dims[3], image->dims[2]) && same(dims[4], image->dims[3]);
}

static const IrVariable *cut_of(const IrBinding *binding) {
    const IrBinding *transpose = made_by(binding->operands[0], OPERATOR_TRANSPOSE);
    if (!ir_permutes(transpose, groups_swapped, RANK)) return NULL;
    const IrVariable *cut = transpose->operands[0];
    return made_by(cut, OPERATOR_RESHAPE) ? cut : NULL;
}

bool channels_last_takes_shuffle(const ChannelsLast *pass, const IrBinding *binding) {
    const IrVariable *cut = cut_of(binding);
    if (!cut) return false;
    const IrVariable *image = cut->binding->operands[0];
    if (!channels_last_expects(pass, image) || image->type.rank != IMAGE_RANK ||
        binding->results[0]->type.rank != IMAGE_RANK || !has_groups(&cut->type, &image->type))
        return false;
    for (uint32_t i = 0; i < IMAGE_RANK; i++)
        if (!same(binding->results[0]->type.dims[i], image->type.dims[i])) return false;
    return true;
}

/* dims: 0 keeps the dimension. */
static Error *reshape(ChannelsLast *pass, IrBinding *binding, IrVariable *from, uint32_t rank,
    const int64_t *dims, IrVariable **out) {
    IrVariable *shape;
    TRY(constants_ints(pass->module, 1, rank, dims, &shape));
    return ir_build_simple(ir_behind(binding), "Reshape", NULL, from, shape, NULL, out);
}

Error *channels_last_convert_shuffle(ChannelsLast *pass, IrBinding *binding) {
    static const int64_t swapped[RANK] = {0, 1, 2, 4, 3};
    const IrVariable *cut = cut_of(binding);
    const int64_t groups = cut->type.dims[1], size = cut->type.dims[2];
    const int64_t apart[RANK] = {0, 0, 0, groups, size};
    const int64_t together[IMAGE_RANK] = {0, 0, 0, groups * size};
    IrVariable *image, *halves, *turned, *last;
    TRY(channels_last_get(pass, cut->binding->operands[0], &image));
    TRY(reshape(pass, binding, image, RANK, apart, &halves));
    halves->type = cut->type;
    halves->type.dims[1] = image->type.dims[1];
    halves->type.dims[2] = image->type.dims[2];
    halves->type.dims[3] = groups;
    halves->type.dims[4] = size;
    TRY(ir_build_transpose(ir_behind(halves->binding), halves, RANK, swapped, &turned));
    turned->type = halves->type;
    turned->type.dims[3] = size;
    turned->type.dims[4] = groups;
    TRY(reshape(pass, turned->binding, turned, IMAGE_RANK, together, &last));
    channels_last_set(pass, binding, 0, last);
    return NULL;
}
