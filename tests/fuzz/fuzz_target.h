#pragma once
/* What a fuzz target defines. Linked with libFuzzer (-Dfuzz=true, clang) it is fuzzed, else
 * fuzz_replay.c runs it over a folder of inputs found before. */
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
