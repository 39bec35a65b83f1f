#include "kernels/cpu/bytes/cpu_bytes_filters.h"

#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/bytes/cpu_bytes_depthwise.h"

uint32_t cpu_bytes_filters_input(OperatorId id) {
    if (id == OPERATOR_QLINEAR_CONV || id == OPERATOR_FUSED_QLINEAR_CONV) return 3;
    return id == OPERATOR_CONV_INTEGER ? 1 : 0;
}

CpuBytesFilters cpu_bytes_filters_of(
    CpuLowerForm form, const Attributes *attributes, const Shape *weights, DType dtype) {
    uint32_t count;
    const int64_t *dilations = attributes_ints(attributes, "dilations", &count);
    const bool is_apart = dilations && count > 0 && dilations[count - 1] != 1;
    const int64_t groups = attributes_int(attributes, "group"), width = weights->rank - 1;
    CpuBytesFilters filters = {
        .form = form,
        .is_signed = dtype == DTYPE_INT8,
        .by_rows = groups == 1 && !is_apart,
        .groups = groups,
        .filters = weights->dims[0] / groups,
        .channels = weights->dims[1],
        .height = weights->rank == 4 ? weights->dims[2] : 1,
        .width = weights->dims[width],
    };
    filters.is_depthwise = groups > 1 && filters.channels == 1 && filters.filters == 1;
    return filters;
}

int64_t cpu_bytes_panels(const CpuBytesFilters *filters) {
    if (filters->is_depthwise) return cpu_bytes_depthwise_blocks(filters->groups);
    return filters->groups * cpu_lower_panels(filters->filters);
}

int64_t cpu_bytes_panel_bytes(const CpuBytesFilters *filters) {
    if (filters->is_depthwise)
        return cpu_bytes_depthwise_block_bytes(filters->form, cpu_bytes_taps(filters));
    return cpu_lower_panel_bytes(filters->form, cpu_bytes_depth(filters));
}

Error *cpu_bytes_packed_bytes(const CpuBytesFilters *filters, uint64_t *out) {
    enum { TAPS_MAX = 1 << 28 };
    uint64_t bytes = (uint64_t)cpu_bytes_taps(filters);
    if (cpu_bytes_taps(filters) > TAPS_MAX ||
        !checked_mul_u64(bytes, (uint64_t)filters->channels + 4, &bytes) || bytes > INT32_MAX ||
        !checked_mul_u64(
            (uint64_t)cpu_bytes_panel_bytes(filters), (uint64_t)cpu_bytes_panels(filters), out))
        FAIL(INVALID, "filters of too many weights");
    return NULL;
}

/* A filter is a column of a panel. */
static void pack_filter(const CpuBytesFilters *filters, const uint8_t *from, int8_t *to,
    uint32_t *head, KernelStopMeter *meter) {
    const int64_t group = cpu_lower_forms[filters->form].group, width = filters->width;
    const int64_t piece = cpu_bytes_piece_groups(filters), taps = cpu_bytes_taps(filters);
    const uint8_t flip = filters->is_signed ? 0 : 0x80;
    uint32_t sum = 0;
    for (int64_t tap = 0; tap < taps; tap++) {
        if (kernel_stop_ends_after(meter, 4 * (uint64_t)filters->channels + 4)) return;
        const int64_t at = filters->by_rows ? tap / width : tap;
        const int64_t first = filters->by_rows ? tap % width * filters->channels : 0;
        int8_t *place = to + at * piece * group * CPU_LOWER_PANEL;
        for (int64_t c = 0; c < filters->channels; c++) {
            if (kernel_stop_ends_at(c)) return;
            const int64_t e = first + c;
            const int32_t weight = from ? (int8_t)(from[c * taps + tap] ^ flip) : 1;
            place[e / group * group * CPU_LOWER_PANEL + e % group] = (int8_t)weight;
            sum += (uint32_t)weight;
        }
    }
    if (head) *head = sum;
}

static void pack_panel(const CpuBytesFilters *filters, const uint8_t *weights, int64_t panel,
    char *to, KernelStopMeter *meter) {
    const CpuLowerFormInfo *info = &cpu_lower_forms[filters->form];
    const int64_t panels = cpu_lower_panels(filters->filters), group = panel / panels;
    const int64_t first = panel % panels * CPU_LOWER_PANEL, left = filters->filters - first;
    const int64_t size = filters->channels * cpu_bytes_taps(filters);
    uint32_t *heads = info->head > 0 ? (uint32_t *)(void *)to : NULL;
    memset(to, 0, (size_t)cpu_bytes_panel_bytes(filters));
    for (int64_t i = 0; i < left && i < CPU_LOWER_PANEL; i++) {
        const int64_t filter = group * filters->filters + first + i;
        pack_filter(filters, weights ? weights + filter * size : NULL,
            (int8_t *)to + info->head + i * info->group, heads ? &heads[i] : NULL, meter);
    }
}

void cpu_bytes_pack(
    const CpuBytesFilters *filters, const void *weights, int64_t begin, int64_t end, void *to) {
    KernelStopMeter meter = {0};
    for (int64_t panel = begin; panel < end; panel++) {
        if (kernel_stop_ends_after(&meter, 64)) return;
        char *place = (char *)to + panel * cpu_bytes_panel_bytes(filters);
        if (filters->is_depthwise)
            cpu_bytes_depthwise_pack(&(CpuBytesDepthwiseWeights){filters->form, filters->is_signed,
                                         filters->groups, cpu_bytes_taps(filters), weights},
                panel, place, &meter);
        else
            pack_panel(filters, weights, panel, place, &meter);
    }
}

typedef struct Packing {
    const CpuBytesFilters *filters;
    const void *weights;
    void *to;
} Packing;

static Error *pack_share(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Packing *packing = context;
    cpu_bytes_pack(packing->filters, packing->weights, (int64_t)begin, (int64_t)end, packing->to);
    return NULL;
}

Error *cpu_bytes_pack_panels(CpuDevice *device, uint32_t threads, const CpuBytesFilters *filters,
    const void *weights, void *to) {
    Packing packing = {filters, weights, to};
    return cpu_for_each(device, threads, (uint64_t)cpu_bytes_panels(filters),
        (uint64_t)(65536 / (cpu_bytes_panel_bytes(filters) + 1)) + 1, pack_share, &packing);
}
