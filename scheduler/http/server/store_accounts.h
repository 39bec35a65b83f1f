#pragma once
/* The Accounts of a daemon, from the store's tokens and tenants. Made by daemon.c; its functions
 * run on any thread of the server. */
#include "scheduler/http/server/accounts.h"
#include "scheduler/node/settings_cache.h"

/* settings: borrowed. */
Accounts store_accounts(SettingsCache *settings);
