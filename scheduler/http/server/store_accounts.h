#pragma once
/* Accounts from the store's tokens and tenants. */
#include "scheduler/http/server/accounts.h"
#include "scheduler/node/settings_cache.h"

/* settings: borrowed. */
Accounts store_accounts(SettingsCache *settings);
