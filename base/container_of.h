#pragma once
/* Returns the struct that contains a member, such as a list node. Pure: no state, any thread. */
#include <stddef.h>

#define CONTAINER_OF(pointer, Type, member)                                                        \
    ((Type *)(void *)((char *)(pointer)-offsetof(Type, member)))
