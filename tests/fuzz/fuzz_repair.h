#pragma once
/* Sets the checksums of damaged containers right, so that mutations get behind them. */
#include <stddef.h>
#include <stdint.h>

/* Little-endian. */
uint64_t fuzz_get_number(const uint8_t *at, int bytes);
void fuzz_repair_chunk(uint8_t *stored, size_t size);
void fuzz_repair_manifest(uint8_t *manifest, size_t size);
void fuzz_repair_file(uint8_t *file, size_t size);
