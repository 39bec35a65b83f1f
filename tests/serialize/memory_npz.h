#pragma once
/* .npz files that are made in memory. */
#include "base/bytes.h"
#include "serialize/arrays/array_list.h"

/* Of up to 16 arrays without strings, stored. */
void stored_npz(const ArrayList *arrays, ByteWriter *out);
/* Of one deflated array of zeros, which may be far larger than what is in memory.
 * descr: "<f4"; shape: "(1024, 2)"; size: bytes of the elements, written as zeros. */
void deflated_npz(
    const char *name, const char *descr, const char *shape, uint64_t size, ByteWriter *out);
/* Bytes of this process that are in memory now. */
uint64_t resident_bytes(void);
