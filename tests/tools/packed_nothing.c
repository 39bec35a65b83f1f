/* A shared library that is none of packed functions. */
#include "include/layover.h"

LAYOVER_API int packed_nothing(void);
int packed_nothing(void) { return 7; }
