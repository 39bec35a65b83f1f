#pragma once
/* A library with one symbol, built in memory. */
#include <elf.h>

#include "base/bytes.h"

typedef struct ElfExample {
    Elf64_Ehdr header;
    Elf64_Phdr segment; /* the whole file, at EXAMPLE_ADDRESS */
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[2];
    char names[64];
    uint8_t value[512]; /* of the symbol */
} ElfExample;

#define EXAMPLE_ADDRESS UINT64_C(0x10000)

void elf_example_init(ElfExample *example, const char *symbol, const void *value, size_t size);
