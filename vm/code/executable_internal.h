#pragma once
/* Parts of an executable that its builder and its release share. */
#include "vm/code/executable.h"

void port_deinit(Port *port);
void function_deinit(Function *function);
