#pragma once
/* Sets the checksums of damaged containers right, so that mutations get behind them. */
#include <stddef.h>
#include <stdint.h>

#include "serialize/container/container.h"

/* Little-endian. */
uint64_t fuzz_get_number(const uint8_t *at, int bytes);
void fuzz_repair_chunk(uint8_t *stored, size_t size);
void fuzz_repair_manifest(uint8_t *manifest, size_t size);
void fuzz_repair_file(uint8_t *file, size_t size);

/* Opens an input as a container and gives it to try_it. The first byte: 0 a file  1 a file,
 * repaired 2 a manifest, repaired. */
typedef Error *FuzzContainerTry(const Container *container);
void fuzz_open_container(
    ContainerKind kind, const uint8_t *input, size_t size, FuzzContainerTry *try_it);
