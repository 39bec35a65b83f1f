#pragma once
/* From a member of a struct, by which it hangs in a list or queue, back to the struct. */
#include <stddef.h>

#define CONTAINER_OF(pointer, Type, member)                                                        \
    ((Type *)(void *)((char *)(pointer)-offsetof(Type, member)))
