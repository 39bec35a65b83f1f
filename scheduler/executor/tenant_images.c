#include "scheduler/executor/tenant_images.h"

/* The layout's digest includes the tenant, so that no two tenants have the same one. */
static WeightImageKey key_of(const TenantImages *self, const WeightImageKey *key) {
    WeightImageKey own = *key;
    for (size_t i = 0; i < sizeof self->tenant; i++)
        own.layout.bytes[i] ^= (uint8_t)((uint64_t)self->tenant >> (8 * i));
    return own;
}

static void find(
    void *context, const WeightImageKey *key, void **out_image, const uint8_t **out_data) {
    const TenantImages *self = context;
    WeightImageKey own = key_of(self, key);
    self->shared->find(self->shared->context, &own, out_image, out_data);
}

static void discard(void *context, const WeightImageKey *key) {
    const TenantImages *self = context;
    WeightImageKey own = key_of(self, key);
    self->shared->discard(self->shared->context, &own);
}

static Error *keep(void *context, const WeightImageKey *key, WeightImageRead *read,
    void *read_context, WorkerPool *pool, bool *out_kept) {
    const TenantImages *self = context;
    WeightImageKey own = key_of(self, key);
    return self->shared->keep(self->shared->context, &own, read, read_context, pool, out_kept);
}

void tenant_images_init(TenantImages *self, const WeightImages *shared, TenantId tenant) {
    *self = (TenantImages){.images = *shared, .shared = shared, .tenant = tenant};
    self->images.context = self;
    self->images.find = find;
    self->images.discard = discard;
    self->images.keep = keep;
}
