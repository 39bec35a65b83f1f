#pragma once
/* The address space of a sim device: handles that cannot be mistaken for host pointers. Called by
 * sim_device.c and sim_copy.c.
 *
 * A handle is non-canonical on x86-64 (bits 56 … 63 are 0x51), so that a host that dereferences it
 * traps; base + offset arithmetic works inside one allocation, and every use is checked against the
 * allocation's bounds. Handles are never used twice, so a stale one is always found.
 *
 * Threads: any. */
#include <stdint.h>

#include "kernels/device/device.h"

typedef struct SimMemory SimMemory;

/* host: the device that really holds the bytes; borrowed. */
MUST_CHECK Error *sim_memory_create(
    Device *host, uint32_t device_index, uint64_t limit_bytes, SimMemory **out);
/* Frees all allocations that are left. */
void sim_memory_release(SimMemory *memory);
DEFINE_OWN(SimMemory, sim_memory_release);
/* Allocates zeroed memory. Errors: EXHAUSTED beyond the limit. */
MUST_CHECK Error *sim_memory_alloc(SimMemory *memory, uint64_t size, uint64_t *out_address);
/* An address that is not the start of an allocation of that size is a bug of the caller. */
void sim_memory_free(SimMemory *memory, uint64_t address, uint64_t size);
/* The host address of size bytes at a device address. Errors: INTERNAL outside one allocation. */
MUST_CHECK Error *sim_memory_resolve(
    SimMemory *memory, uint64_t address, uint64_t size, uint64_t *out_host);
DeviceMemory sim_memory_info(SimMemory *memory);
