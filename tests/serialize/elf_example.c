#include "tests/serialize/elf_example.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

void elf_example_init(ElfExample *example, const char *symbol, const void *value, size_t size) {
    *example = (ElfExample){
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
            .e_type = ET_DYN,
            .e_machine = MACHINE,
            .e_phoff = offsetof(ElfExample, segment),
            .e_shoff = offsetof(ElfExample, sections),
            .e_phentsize = sizeof(Elf64_Phdr),
            .e_phnum = 1,
            .e_shentsize = sizeof(Elf64_Shdr),
            .e_shnum = 3},
        .segment = {.p_type = PT_LOAD,
            .p_vaddr = EXAMPLE_ADDRESS,
            .p_filesz = sizeof(ElfExample),
            .p_memsz = sizeof(ElfExample)},
        .sections = {[1] = {.sh_type = SHT_DYNSYM,
                         .sh_link = 2,
                         .sh_offset = offsetof(ElfExample, symbols),
                         .sh_size = sizeof example->symbols},
            [2] = {.sh_type = SHT_STRTAB,
                .sh_offset = offsetof(ElfExample, names),
                .sh_size = sizeof example->names}},
        .symbols = {[1] = {.st_name = 1,
                        .st_shndx = 1,
                        .st_value = EXAMPLE_ADDRESS + offsetof(ElfExample, value),
                        .st_size = size}},
    };
    (void)snprintf(example->names + 1, sizeof example->names - 1, "%s", symbol);
    memcpy(example->value, value, size);
}
