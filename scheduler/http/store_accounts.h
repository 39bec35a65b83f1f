#pragma once
/* Accounts from the store's tokens and tenants. */
#include "scheduler/http/accounts.h"

/* The store is borrowed. */
Accounts store_accounts(Store *store);
