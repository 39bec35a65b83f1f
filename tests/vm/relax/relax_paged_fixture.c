#include "tests/vm/relax/relax_paged_fixture.h"

#include "kernels/registry/device_registry.h"

PagedConfig paged_config(void) {
    return (PagedConfig){.layers = 1,
        .query_heads = 2,
        .kv_heads = 1,
        .key_size = 2,
        .value_size = 2,
        .reserved = 3,
        .pages = 8,
        .chunk = 16,
        .page_size = 2,
        .layer_window = 3,
        .rope_scale = 1,
        .rope_theta = 10000,
        .dtype = DTYPE_FLOAT32};
}

Paged *paged_fixture(const PagedConfig *config, PagedKind kind) {
    uint8_t kinds[PAGED_LAYERS_MAX];
    memset(kinds, (int)kind, (size_t)config->layers);
    Paged *paged;
    assert_ok(paged_create(config, kinds, &paged));
    return paged;
}

PackedCall *paged_call(void) {
    static PackedCall call;
    static Device *cpu;
    if (!cpu) {
        assert_ok(device_open("cpu", &cpu));
        for (uint32_t i = 0; i < 2; i++) assert_ok(memory_pool_create(cpu, 0, &call.pools[i]));
        call.tail_function = UINT32_MAX;
    }
    return &call;
}

void paged_put(Paged *paged, int32_t row, float first, float second) {
    const DType dtype = paged->config.dtype;
    float numbers[4] = {first, second, first, second}, stored[4];
    bool open;
    paged_store(dtype, numbers, 4, stored);
    assert_ok(paged_open_rows(paged_call(), paged, 0, &row, 1, &open));
    assert_true(open);
    assert_ok(paged_write_rows(paged, 0, &row, 1, stored));
}

float paged_peek(const Paged *paged, int32_t row) {
    float stored[4], numbers[4];
    assert_ok(paged_read_rows(paged, 0, &row, 1, stored));
    paged_load(paged->config.dtype, stored, 1, numbers);
    return numbers[0];
}

void paged_fill(Paged *paged, int64_t number, int64_t count) {
    uint32_t place;
    Error *error = paged_find(paged, number, &place);
    if (error) assert_ok(paged_add(paged, number));
    error_free(error);
    assert_ok(paged_begin(paged, &number, &count, 1, NULL, 0));
    for (int64_t i = 0; i < count; i++)
        if (paged->rows[i] != PAGED_PINNED)
            paged_put(paged, paged->rows[i], (float)(number + i), (float)(i + 1));
}

Value paged_value(Paged *owned_paged) {
    Opaque *opaque;
    assert_ok(opaque_create(NULL, &relax_paged, owned_paged, &opaque));
    return value_object(OBJECT_OPAQUE, opaque);
}
