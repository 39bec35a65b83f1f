#include "tests/vm/relax/relax_paged_fixture.h"

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

void paged_fill(Paged *paged, int64_t number, int64_t count) {
    uint32_t place;
    Error *error = paged_find(paged, number, &place);
    if (error) assert_ok(paged_add(paged, number));
    error_free(error);
    assert_ok(paged_begin(paged, &number, &count, 1, NULL, 0));
    for (int64_t i = 0; i < count; i++) {
        if (paged->rows[i] == PAGED_PINNED) continue;
        float numbers[2] = {(float)(number + i), (float)(i + 1)};
        bool latent = paged->kinds[0] == PAGED_MLA;
        for (int64_t which = 0; which < (latent ? 1 : 2); which++)
            paged_store(paged->config.dtype, numbers, 2,
                latent ? paged_latent(paged, 0, paged->rows[i])
                       : paged_cell(paged, 0, paged->rows[i], which, 0));
    }
}

Value paged_value(Paged *owned_paged) {
    Opaque *opaque;
    assert_ok(opaque_create(NULL, &relax_paged, owned_paged, &opaque));
    return value_object(OBJECT_OPAQUE, opaque);
}
