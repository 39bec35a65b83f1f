/* Images between convolutions are kept as [N, H, W, C], volumes as [N, D, H, W, C]. In that form a
 * convolution is products of matrices whose rows lie in the order of reading, a 1 x 1 convolution
 * is one product, and a pool or a scale of each channel works on whole vectors. Other readers of an
 * image get ONNX's [N, C, H, W]. The comments say images for both.
 *
 * First the pass decides, in program order, which operators read and write that form: convolutions
 * do, and operators behind them as long as all their images have it. Then each of these operators
 * is made anew behind itself, from its operands' other form. A value that is read in both forms is
 * transposed once, at its maker. */
#include <string.h>

#include "base/allocator.h"
#include "compiler/ir/ir_permutation.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/channels_last.h"
#include "kernels/arguments/channels_first.h"

enum { IMAGE_RANK = 4, VOLUME_RANK = 5 };

const int64_t *channels_last_order(uint32_t rank) {
    static const int64_t image[IMAGE_RANK] = {0, 2, 3, 1}, volume[VOLUME_RANK] = {0, 2, 3, 4, 1};
    return rank == IMAGE_RANK ? image : volume;
}

static const int64_t *first_order(uint32_t rank) {
    static const int64_t image[IMAGE_RANK] = {0, 3, 1, 2}, volume[VOLUME_RANK] = {0, 4, 1, 2, 3};
    return rank == IMAGE_RANK ? image : volume;
}

bool channels_last_makes_first(const IrBinding *transpose) {
    return ir_permutes(transpose, first_order(IMAGE_RANK), IMAGE_RANK) ||
           ir_permutes(transpose, first_order(VOLUME_RANK), VOLUME_RANK);
}

bool channels_last_is_image(const IrVariable *variable) {
    const IrType *type = &variable->type;
    return !variable->constant && type->kind == IR_TYPE_TENSOR &&
           dtype_in(DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8),
               type->dtype) &&
           type->rank_known && (type->rank == IMAGE_RANK || type->rank == VOLUME_RANK);
}

IrType channels_last_type(const IrType *first) {
    IrType last = *first;
    const int64_t *order = channels_last_order(first->rank);
    for (uint32_t i = 0; i < first->rank; i++) last.dims[i] = first->dims[order[i]];
    return last;
}

IrVariable *channels_last_find(const ChannelsLast *pass, const IrVariable *variable) {
    return variable && variable->id < pass->capacity ? pass->forms[variable->id].last : NULL;
}

bool channels_last_expects(const ChannelsLast *pass, const IrVariable *variable) {
    return variable && variable->id < pass->capacity && pass->forms[variable->id].expected;
}

bool channels_last_wants(const ChannelsLast *pass, const IrVariable *variable) {
    return variable && variable->id < pass->capacity && pass->forms[variable->id].wanted;
}

/* The first place at which a variable is visible to all its users. */
static IrCursor behind(IrVariable *variable) {
    if (variable->binding) return ir_behind(variable->binding);
    IrBlock *block = variable->block;
    return block->first ? ir_before(block->first) : ir_at_end(block);
}

static Error *transpose(
    IrVariable *variable, const int64_t *order, const IrType *type, IrVariable **out) {
    TRY(ir_build_transpose(behind(variable), variable, type->rank, order, out));
    (*out)->type = *type;
    if (variable->binding) (*out)->binding->name = variable->binding->name;
    return NULL;
}

/* A constant image in the other form. */
static Error *transpose_constant(IrModule *module, const IrVariable *constant, IrVariable **out) {
    const Tensor *first = ir_variable_tensor(constant);
    const int64_t *dims = first->shape.dims, channels = dims[1];
    const int64_t pixels = shape_product(&first->shape, 2, first->shape.rank);
    Shape shape;
    channels_last_shape(&first->shape, &shape);
    OWN(Tensor, last) = NULL;
    TRY(tensor_create_on_host(device_host(), first->dtype, &shape, &last));
    const int64_t size = dtype_bits(first->dtype) / 8;
    const char *from = tensor_data(first);
    char *to = tensor_data(last);
    for (int64_t n = 0; n < dims[0]; n++, from += channels * pixels * size)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t c = 0; c < channels; c++, to += size)
                memcpy(to, from + (c * pixels + i) * size, (size_t)size);
    return ir_constant_tensor(module, last, out);
}

Error *channels_last_get(ChannelsLast *pass, IrVariable *variable, IrVariable **out) {
    ImageForms *forms = &pass->forms[variable->id];
    if (!forms->last) {
        IrType type = channels_last_type(&variable->type);
        if (variable->constant)
            TRY(transpose_constant(pass->module, variable, &forms->last));
        else if (channels_last_makes_first(variable->binding))
            forms->last = variable->binding->operands[0];
        else
            TRY(transpose(variable, channels_last_order(type.rank), &type, &forms->last));
    }
    *out = forms->last;
    return NULL;
}

void channels_last_set(ChannelsLast *pass, IrBinding *binding, uint32_t index, IrVariable *last) {
    const IrVariable *first = binding->results[index];
    last->name = first->name;
    last->binding->name = binding->name;
    last->type = channels_last_type(&first->type);
    pass->forms[first->id].last = last;
}

/* Transposes an image that exists only in the new form, for a reader of the old form. */
static Error *read_first(ChannelsLast *pass, IrVariable *variable) {
    if (!channels_last_expects(pass, variable) || variable->replacement) return NULL;
    IrVariable *first;
    TRY(transpose(
        pass->forms[variable->id].last, first_order(variable->type.rank), &variable->type, &first));
    first->name = variable->name;
    variable->replacement = first;
    return NULL;
}

/* Replaces an operator that reads an image and makes no image by one that reads this form: a
 * transpose to this form, rows of pixels, a mean of pixels. */
static Error *read_last(ChannelsLast *pass, IrBinding *binding, bool *out_read) {
    if ((ir_permutes(binding, channels_last_order(IMAGE_RANK), IMAGE_RANK) ||
            ir_permutes(binding, channels_last_order(VOLUME_RANK), VOLUME_RANK)) &&
        channels_last_expects(pass, binding->operands[0])) {
        binding->results[0]->replacement = channels_last_find(pass, binding->operands[0]);
        *out_read = true;
        return NULL;
    }
    TRY(channels_last_read_mean(pass, binding, out_read));
    return *out_read ? NULL : channels_last_read_tokens(pass, binding, out_read);
}

static Error *visit(ChannelsLast *pass, IrBinding *binding) {
    if (binding->result_count > 0 && channels_last_expects(pass, binding->results[0]))
        return error_wrap(channels_last_convert(pass, binding), "node %s",
            binding->name ? binding->name : "without a name");
    bool reads_last;
    TRY(read_last(pass, binding, &reads_last));
    if (reads_last) return NULL;
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (binding->operands[i]) TRY(read_first(pass, binding->operands[i]));
    return NULL;
}

/* Of operators with several results only Split is taken, which looks at all of them. */
static bool makes_images(const IrBinding *binding) {
    if (binding->kind != IR_OPERATOR || binding->result_count == 0) return false;
    return binding->results[0] && channels_last_is_image(binding->results[0]) &&
           (binding->result_count == 1 || binding->operator_info->id == OPERATOR_SPLIT);
}

static void decide(ChannelsLast *pass, const IrBlock *body) {
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding))
        for (uint32_t i = 0; channels_last_may_take(binding) && i < binding->operand_count; i++)
            if (binding->operands[i] && !binding->operands[i]->constant)
                pass->forms[binding->operands[i]->id].wanted = true;
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding))
        if (makes_images(binding) && channels_last_takes(pass, binding))
            for (uint32_t i = 0; i < binding->result_count; i++)
                pass->forms[binding->results[i]->id].expected = true;
}

/* Inserts the transposes for a block's results behind all its bindings. */
static Error *read_results(ChannelsLast *pass, const IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++) TRY(read_first(pass, block->results[i]));
    return NULL;
}

static Error *convert_body(ChannelsLast *pass, const IrBlock *body) {
    decide(pass, body);
    IrBinding *binding = ir_walk_first(body);
    while (binding) {
        IrBinding *next = ir_walk_next(binding);
        TRY(visit(pass, binding));
        binding = next;
    }
    TRY(read_results(pass, body));
    for (binding = ir_walk_first(body); binding; binding = ir_walk_next(binding))
        for (uint32_t i = 0; i < binding->block_count; i++)
            TRY(read_results(pass, binding->blocks[i]));
    return NULL;
}

Error *channels_last_pass(PassContext *context) {
    IrModule *module = context->module;
    ChannelsLast pass = {.module = module, .capacity = module->variable_count};
    void *forms;
    TRY(ir_side_table(module, sizeof(ImageForms), &forms));
    pass.forms = forms;
    Error *error = NULL;
    for (size_t i = 0; i < module->function_count && !error; i++)
        error = convert_body(&pass, module->functions[i]->body);
    memory_free(pass.forms);
    TRY(error);
    ir_replace_all(module);
    return drop_dead_pass(context); /* removes the new bindings that have no use */
}
