/* Images that are cut into rows for products, [N, C, H, W] to [N, H × W, C], and back. These rows
 * lie in the order of [N, H, W, C] already, so both become a Reshape without a Transpose. */
#include "compiler/ir/ir_permutation.h"
#include "compiler/passes/channels_last.h"
#include "compiler/ir/constants.h"

enum { CHANNELS = 1, ROWS_RANK = 3 };

static const int64_t rows_swapped[ROWS_RANK] = {0, 2, 1};

static bool same(int64_t a, int64_t b) { return a == b && a != IR_DIM_UNKNOWN; }

static const IrBinding *reshape_of(const IrVariable *variable) {
    const IrBinding *binding = variable ? variable->binding : NULL;
    if (!binding || binding->kind != IR_OPERATOR) return NULL;
    return binding->operator_info->id == OPERATOR_RESHAPE ? binding : NULL;
}

/* True if `rows` is [N, C, H × W] of the image [N, C, H, W]. */
static bool has_rows(const IrType *rows, const IrType *image) {
    return rows->kind == IR_TYPE_TENSOR && rows->rank_known && rows->rank == ROWS_RANK &&
           same(rows->dims[0], image->dims[0]) &&
           same(rows->dims[CHANNELS], image->dims[CHANNELS]) && image->dims[CHANNELS] > 0;
}

/* The rows [N, H × W, C] behind a Reshape to an image of known size, before their Transpose. */
static IrVariable *rows_behind(const IrBinding *reshape) {
    const IrType *image = &reshape->results[0]->type;
    const IrVariable *swapped = reshape->operands[0];
    if (!swapped || !ir_permutes(swapped->binding, rows_swapped, ROWS_RANK)) return NULL;
    if (!has_rows(&swapped->type, image)) return NULL;
    for (uint32_t i = CHANNELS + 1; i < image->rank; i++)
        if (image->dims[i] <= 0) return NULL;
    return swapped->binding->operands[0];
}

bool channels_last_takes_tokens(const IrBinding *binding) {
    if (channels_last_makes_first(binding)) return true;
    return reshape_of(binding->results[0]) && rows_behind(binding);
}

Error *channels_last_convert_tokens(ChannelsLast *pass, IrBinding *binding) {
    if (channels_last_makes_first(binding)) {
        pass->forms[binding->results[0]->id].last = binding->operands[0];
        return NULL;
    }
    IrType to = channels_last_type(&binding->results[0]->type);
    IrVariable *shape, *last;
    to.dims[0] = 0;
    TRY(constants_ints(pass->module, 1, to.rank, to.dims, &shape));
    TRY(ir_build_simple(
        ir_behind(binding), "Reshape", NULL, rows_behind(binding), shape, NULL, &last));
    channels_last_set(pass, binding, 0, last);
    return NULL;
}

Error *channels_last_read_tokens(ChannelsLast *pass, IrBinding *binding, bool *out_read) {
    *out_read = false;
    if (!ir_permutes(binding, rows_swapped, ROWS_RANK)) return NULL;
    const IrVariable *rows = binding->operands[0];
    const IrBinding *reshape = reshape_of(rows);
    IrVariable *image = reshape ? reshape->operands[0] : NULL;
    if (!channels_last_expects(pass, image) || !has_rows(&rows->type, &image->type)) return NULL;
    if (rows->type.dims[2] <= 0) return NULL;
    const int64_t to[ROWS_RANK] = {0, rows->type.dims[2], rows->type.dims[CHANNELS]};
    IrVariable *shape, *made;
    TRY(constants_ints(pass->module, 1, ROWS_RANK, to, &shape));
    TRY(ir_build_simple(
        ir_behind(binding), "Reshape", NULL, channels_last_find(pass, image), shape, NULL, &made));
    made->type = binding->results[0]->type;
    made->name = binding->results[0]->name;
    made->binding->name = binding->name;
    binding->results[0]->replacement = made;
    *out_read = true;
    return NULL;
}
