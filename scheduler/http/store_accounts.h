#pragma once
/* Accounts from the store's tokens and tenants. */
#include "scheduler/http/accounts.h"
#include "scheduler/settings_cache.h"

/* settings: borrowed. */
Accounts store_accounts(SettingsCache *settings);
