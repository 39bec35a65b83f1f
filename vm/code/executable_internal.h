#pragma once
/* Parts of an executable that executable.c and executable_builder.c both release. No state; any
 * thread. */
#include "vm/code/executable.h"

void port_deinit(Port *port);
void function_deinit(Function *function);
