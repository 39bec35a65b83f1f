#pragma once
/* The quotas that a tenant may have (quotas.def). */

typedef enum QuotaId {
    QUOTA_NONE = 0,
#define QUOTA(name, number, text, unit) QUOTA_##name = number,
#include "store/accounts/quotas.def"
#undef QUOTA
    QUOTA_COUNT
} QuotaId;
