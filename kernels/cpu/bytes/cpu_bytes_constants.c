#include "kernels/cpu/bytes/cpu_bytes_constants.h"

#include "kernels/cpu/bytes/cpu_bytes_winograd.h"
#include "kernels/cpu/core/cpu_layouts.h"

static bool filters_of(const CpuDevice *device, const PackRequest *request, CpuBytesFilters *out) {
    const uint32_t input = cpu_bytes_filters_input(request->operator_info->id);
    const TensorSpec *constant = &request->constant;
    if (input == 0 || request->input_index != input) return false;
    if (constant->shape.rank != 3 && constant->shape.rank != 4) return false;
    if (constant->dtype != DTYPE_INT8 && constant->dtype != DTYPE_UINT8) return false;
    /* an executable may hold a constant of any shape and attributes here */
    const int64_t groups = attributes_int(request->attributes, "group");
    if (groups < 1 || shape_count_unchecked(&constant->shape) == 0 ||
        constant->shape.dims[0] % groups != 0)
        return false;
    *out = cpu_bytes_filters_of(
        cpu_lower_form(device, true), request->attributes, &constant->shape, constant->dtype);
    return true;
}

static uint32_t layout_of(const CpuBytesFilters *filters) {
    const bool quads = filters->form == CPU_LOWER_INT8_DOT;
    if (filters->is_depthwise)
        return quads ? CPU_LAYOUT_BYTES_DEPTHWISE_QUADS : CPU_LAYOUT_BYTES_DEPTHWISE;
    return quads ? CPU_LAYOUT_BYTES_QUADS : CPU_LAYOUT_BYTES_PAIRS;
}

bool cpu_bytes_pack_rule(const CpuDevice *device, const PackRequest *request, uint32_t *out_layout,
    uint64_t *out_bytes) {
    CpuBytesFilters filters;
    if (device->portable_only || !filters_of(device, request, &filters)) return false;
    const bool is_winograd = cpu_bytes_winograd_takes(device, request->attributes, &filters);
    uint64_t bytes = 0;
    Error *error = is_winograd ? cpu_bytes_winograd_bytes(&filters, &bytes)
                               : cpu_bytes_packed_bytes(&filters, &bytes);
    if (error) {
        error_free(error); /* the weights stay unpacked, and a plan refuses them */
        return false;
    }
    *out_layout = is_winograd ? CPU_LAYOUT_BYTES_WINOGRAD : layout_of(&filters);
    *out_bytes = bytes;
    return true;
}

bool cpu_bytes_pack_weights(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const void *plain, void *to) {
    CpuBytesFilters filters;
    if (!filters_of(device, request, &filters)) return false;
    if (layout == CPU_LAYOUT_BYTES_WINOGRAD) {
        cpu_bytes_winograd_pack(&filters, plain, to);
        return true;
    }
    if (layout != layout_of(&filters)) return false;
    cpu_bytes_pack(&filters, plain, 0, cpu_bytes_panels(&filters), to);
    return true;
}
