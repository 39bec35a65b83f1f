#pragma once
/* Whether code brings strings into slot 1. DeviceCopy and arguments leave them in slot 0, so only a
 * constant or an operator there can; what comes of those is on no device but one in host memory. */
#include "vm/code/executable.h"

/* Of code that passed the verifier's checks. */
bool device_strings_find(const Executable *executable);
