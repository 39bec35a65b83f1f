#pragma once
/* Weight images that belong to one tenant alone, in the same cache as all images: another tenant
 * with the same executable does not find them. Called by resident_models.c if tenants are isolated.
 * Threads: any. */
#include "store/database/store.h"
#include "vm/residency/weight_image.h"

typedef struct TenantImages {
    WeightImages images; /* passed to callers */
    const WeightImages *shared;
    TenantId tenant;
} TenantImages;

/* Initializes self in the caller's memory. self must not move and must outlive the calls of its
 * images, but not the images that were found. shared: borrowed as long as self. */
void tenant_images_init(TenantImages *self, const WeightImages *shared, TenantId tenant);
