#pragma once
/* Files of arrays for tests: written by us into memory, or by numpy and committed. */
#include "base/bytes.h"
#include "serialize/arrays/array_list.h"
#include "tests/serialize/serialize_fixtures.h"

/* A few arrays of different types, one of them bfloat16 and one of strings. */
void example_arrays(ArrayList *out);
/* What npz_writer makes of the list. zip64_from: as npz_writer_set_zip64_from, 0: as it is. */
void example_npz(const ArrayList *arrays, uint64_t zip64_from, ByteWriter *out);
void assert_arrays_equal(const ArrayList *a, const ArrayList *b);
void assert_array_equal(const NamedArray *a, const NamedArray *b);
/* tests/golden/formats/NAME; release with memory_unmap. */
uint8_t *golden_file(const char *name, size_t *out_size);
