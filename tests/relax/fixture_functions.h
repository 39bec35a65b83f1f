#pragma once
/* The host functions that the fixtures call beside vm.builtin.*: test.vm.* and fx.*. Used by the
 * fixture driver. */
#include "vm/objects/packed.h"

/* A registry with the builtins and these functions. */
MUST_CHECK Error *fixture_registry_create(PackedRegistry **out);
