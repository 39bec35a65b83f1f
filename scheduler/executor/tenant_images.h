#pragma once
/* Weight images that are one tenant's alone, kept where those of all tenants are: another tenant
 * with the same executable does not find them. For resident_models.h, where tenants are isolated.
 */
#include "store/database/store.h"
#include "vm/residency/weight_image.h"

typedef struct TenantImages {
    WeightImages images; /* what callers use */
    const WeightImages *shared;
    TenantId tenant;
} TenantImages;

/* Sets self, the caller's memory, which stays where it is and outlives the calls of its images, not
 * what they found. shared: borrowed as long as that. */
void tenant_images_init(TenantImages *self, const WeightImages *shared, TenantId tenant);
