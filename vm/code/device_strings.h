#pragma once
/* Finds out whether code brings strings into slot 1. DeviceCopy and arguments leave strings in slot
 * 0, so only a constant or an operator in slot 1 can; only a device in host memory can hold such
 * strings. Called by the verifier. Pure: no state. */
#include "vm/code/executable.h"

/* The code must have passed the verifier's other checks. */
bool device_strings_find(const Executable *executable);
