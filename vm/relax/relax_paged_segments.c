#include <string.h>

#include "base/allocator.h"
#include "vm/relax/relax_paged.h"

/* Where a row lies. */
typedef struct Cell {
    uint32_t segment; /* in all segments */
    uint64_t offset;
} Cell;

static Cell cell_of(const Paged *paged, int64_t layer, int32_t row) {
    const int64_t rows = paged->segment_pages * paged->config.page_size;
    return (Cell){.segment = (uint32_t)layer * paged->segment_count + (uint32_t)(row / rows),
        .offset = (uint64_t)(row % rows) * paged_row_bytes(paged, layer)};
}

Shape paged_segment_shape(const Paged *paged, int64_t layer) {
    const PagedConfig *config = &paged->config;
    const bool latent = paged->kinds[layer] == PAGED_MLA;
    return shape_make(5, (int64_t[]){paged->segment_pages, config->page_size, latent ? 1 : 2,
                             latent ? 1 : config->kv_heads, config->key_size});
}

static Error *fill_with_zeros(Tensor *tensor) {
    if (tensor->storage->device->class_->host_memory) {
        memset(tensor_data(tensor), 0, tensor_bytes(tensor));
        return NULL;
    }
    OWN_MEMORY(zeros) = NULL;
    TRY(memory_alloc(1, tensor_bytes(tensor), &zeros));
    return tensor_copy_from_host(tensor, zeros);
}

/* Makes a segment, or a copy of one that has other holders. */
static Error *open_segment(
    PackedCall *call, Paged *paged, int64_t layer, uint32_t index, bool *out_open) {
    Value *segment = &paged->segments[index];
    const PagedConfig *config = &paged->config;
    *out_open = true;
    if (value_is(segment, OBJECT_TENSOR) && tensor_is_sole(segment->tensor)) {
        storage_forget_annotation(segment->tensor->storage);
        return NULL;
    }
    const Shape shape = paged_segment_shape(paged, layer);
    OWN(Tensor, tensor) = NULL;
    TRY(relax_new_tensor(call, config->slot, config->dtype, &shape, &tensor));
    *out_open = tensor != NULL;
    if (!tensor) return NULL;
    if (value_is(segment, OBJECT_TENSOR))
        TRY(device_transfer(
            tensor_place(tensor), tensor_place(segment->tensor), tensor_bytes(tensor)));
    else
        TRY(fill_with_zeros(tensor));
    tensor->written = true;
    value_release(segment);
    *segment = value_object(OBJECT_TENSOR, TAKE(tensor));
    return NULL;
}

Error *paged_open_rows(PackedCall *call, Paged *paged, int64_t layer, const int32_t *rows,
    int64_t count, bool *out_open) {
    uint32_t last = UINT32_MAX;
    *out_open = true;
    for (int64_t i = 0; i < count && *out_open; i++) {
        if (rows[i] == PAGED_PINNED) continue;
        const uint32_t segment = cell_of(paged, layer, rows[i]).segment;
        if (segment != last) TRY(open_segment(call, paged, layer, segment, out_open));
        last = segment;
    }
    return NULL;
}

Error *paged_open_page(PackedCall *call, Paged *paged, int32_t page, bool *out_open) {
    const int32_t row = (int32_t)(page * paged->config.page_size);
    *out_open = true;
    for (int64_t layer = 0; layer < paged->config.layers && *out_open; layer++)
        TRY(paged_open_rows(call, paged, layer, &row, 1, out_open));
    return NULL;
}

/* How many of the rows lie behind each other in one segment. */
static int64_t run_of(const Paged *paged, const int32_t *rows, int64_t count) {
    const int64_t size = paged->segment_pages * paged->config.page_size;
    int64_t run = 1;
    while (run < count && rows[run] == rows[run - 1] + 1 && rows[run] % size != 0) run++;
    return run;
}

Error *paged_read_rows(
    const Paged *paged, int64_t layer, const int32_t *rows, int64_t count, void *to) {
    const uint64_t bytes = paged_row_bytes(paged, layer);
    for (int64_t i = 0, run; i < count; i += run) {
        run = run_of(paged, rows + i, count - i);
        const Cell cell = cell_of(paged, layer, rows[i]);
        const Value *segment = &paged->segments[cell.segment];
        uint8_t *at = (uint8_t *)to + (uint64_t)i * bytes;
        if (value_is(segment, OBJECT_TENSOR))
            TRY(tensor_copy_part_to_host(segment->tensor, cell.offset, (uint64_t)run * bytes, at));
        else
            memset(at, 0, (uint64_t)run * bytes);
    }
    return NULL;
}

Error *paged_write_rows(
    Paged *paged, int64_t layer, const int32_t *rows, int64_t count, const void *from) {
    const uint64_t bytes = paged_row_bytes(paged, layer);
    for (int64_t i = 0, run; i < count; i += run) {
        run = 1;
        if (rows[i] == PAGED_PINNED) continue;
        run = run_of(paged, rows + i, count - i);
        const Cell cell = cell_of(paged, layer, rows[i]);
        const Tensor *tensor = paged->segments[cell.segment].tensor;
        const DevicePlace place = tensor_place(tensor);
        TRY(place.device->class_->copy_from_host(place.device, place.stream,
            place.address + cell.offset, (const uint8_t *)from + (uint64_t)i * bytes,
            (uint64_t)run * bytes));
    }
    return NULL;
}

Error *paged_copy_page(Paged *paged, int32_t from, int32_t to) {
    const PagedConfig *config = &paged->config;
    for (int64_t layer = 0; layer < config->layers; layer++) {
        const uint64_t bytes = (uint64_t)config->page_size * paged_row_bytes(paged, layer);
        const Cell source = cell_of(paged, layer, (int32_t)(from * config->page_size));
        const Cell target = cell_of(paged, layer, (int32_t)(to * config->page_size));
        if (!value_is(&paged->segments[source.segment], OBJECT_TENSOR)) {
            OWN_MEMORY(zeros) = NULL;
            TRY(memory_alloc(1, bytes, &zeros));
            const DevicePlace place = tensor_place(paged->segments[target.segment].tensor);
            TRY(place.device->class_->copy_from_host(
                place.device, place.stream, place.address + target.offset, zeros, bytes));
            continue;
        }
        DevicePlace source_place = tensor_place(paged->segments[source.segment].tensor);
        DevicePlace target_place = tensor_place(paged->segments[target.segment].tensor);
        source_place.address += source.offset;
        target_place.address += target.offset;
        TRY(device_transfer(target_place, source_place, bytes));
    }
    return NULL;
}

void paged_drop_segments(Paged *paged) {
    const uint32_t size = paged->segment_pages;
    for (uint32_t segment = 0; segment < paged->segment_count; segment++) {
        const int64_t begin = (int64_t)segment * size, left = paged->config.pages - begin;
        paged->free_in_segment[segment] = left < size ? size - (uint32_t)left : 0;
    }
    for (uint32_t i = 0; i < paged->free_count; i++)
        paged->free_in_segment[(uint32_t)paged->free_pages[i] / size]++;
    for (uint32_t segment = 0; segment < paged->segment_count; segment++)
        for (int64_t layer = 0; layer < paged->config.layers; layer++)
            if (paged->free_in_segment[segment] == size)
                value_release(&paged->segments[layer * paged->segment_count + segment]);
}
