#include "kernels/cuda/planners/cuda_pointwise_source.h"

static const char *const ops[] = {
#define CPU_LOOP(name, operands) #name,
#include "kernels/cpu/loops/cpu_loops.def"
#undef CPU_LOOP
};

static const char *const families[] = {[CUDA_POINTWISE_BITS] = "bits",
    [CUDA_POINTWISE_F32] = "f32",
    [CUDA_POINTWISE_F64] = "f64",
    [CUDA_POINTWISE_INT64] = "int64",
    [CUDA_POINTWISE_UINT64] = "uint64"};

static bool is_read(const CudaPointwiseParams *params, uint32_t input) {
    for (uint32_t i = 0; i < params->step_count; i++) {
        const CudaPointwiseStep *step = &params->steps[i];
        for (uint32_t j = 0; j < step->operand_count; j++)
            if (step->kinds[j] == CUDA_POINTWISE_INPUT && step->indices[j] == input) return true;
    }
    return false;
}

static void write_input(const CudaPointwiseOperands *operands, uint32_t index, TextBuilder *out) {
    const CudaPointwiseInput *input = &operands->inputs[index];
    text_appendf(out, "            const StepLanes i%u = ", index);
    if (input->layout == CUDA_POINTWISE_REPEATED)
        text_appendf(out, "group_repeated(&p, %u, %u);\n", index, input->size);
    else if (input->layout == CUDA_POINTWISE_CONTIGUOUS)
        text_appendf(out, "group_contiguous(&p, %u, %u, at);\n", index, input->size);
    else
        text_appendf(
            out, "group_strided(&p, %u, %u, %u, at);\n", index, input->size, operands->rank);
}

static void write_operand(const CudaPointwiseStep *step, uint32_t operand, TextBuilder *out) {
    const uint32_t index = step->indices[operand];
    if (operand >= step->operand_count)
        text_append(out, "load_same(0)");
    else if (step->kinds[operand] == CUDA_POINTWISE_INPUT)
        text_appendf(out, "i%u", index);
    else if (step->kinds[operand] == CUDA_POINTWISE_SLOT)
        text_appendf(out, "s%u", index);
    else
        text_appendf(out, "load_same(p.constants[%u])", index);
}

static void write_step(const CudaPointwiseStep *step, TextBuilder *out) {
    text_appendf(out, "            s%u = ", step->slot);
    if (step->family == CUDA_POINTWISE_CASTS) {
        text_appendf(out, "group_cast(%u, %u, %u, ", step->dtype, step->result, step->saturate);
        write_operand(step, 0, out);
    } else {
        text_appendf(out, "group_%s_%s(%u, %u, p.parameters[%u], p.parameters[%u]",
            families[step->family], ops[step->op], step->dtype, step->result, step->parameters,
            step->parameters + 1u);
        for (uint32_t i = 0; i < 3; i++) {
            text_append(out, ", ");
            write_operand(step, i, out);
        }
    }
    text_append(out, ");\n");
}

/* The slots that the steps write, each once. */
static void write_slots(const CudaPointwiseParams *params, TextBuilder *out) {
    bool seen[CUDA_POINTWISE_SLOTS_MAX] = {false};
    for (uint32_t i = 0; i < params->step_count; i++) {
        const uint32_t slot = params->steps[i].slot;
        if (seen[slot]) continue;
        seen[slot] = true;
        text_appendf(out, "            StepLanes s%u;\n", slot);
    }
}

void cuda_pointwise_source_write(
    const char *name, const CudaPointwiseParams *params, TextBuilder *out) {
    const CudaPointwiseOperands *operands = &params->operands;
    text_appendf(out,
        "KERNEL(%s, CudaPointwiseOperands) {\n"
        "    THREADS(t) {\n"
        "        EACH_UNIT(unit, t, (p.count + LANES - 1) / LANES) {\n"
        "            const uint64_t at = unit * LANES;\n",
        name);
    for (uint32_t i = 0; i < operands->input_count; i++)
        if (is_read(params, i)) write_input(operands, i, out);
    write_slots(params, out);
    for (uint32_t i = 0; i < params->step_count; i++) write_step(&params->steps[i], out);
    text_appendf(out,
        "            store_lanes(&p, %u, at, &s%u);\n"
        "        }\n"
        "    }\n"
        "}\n",
        operands->out_size, params->steps[params->step_count - 1].slot);
}
