#include "serialize/relax/relax_elf.h"

#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#if defined(__x86_64__)
enum { MACHINE_HERE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE_HERE = EM_AARCH64 };
#else
enum { MACHINE_HERE = EM_NONE };
#endif

/* The library and its tables, of which each was checked to lie inside. */
typedef struct Elf {
    const uint8_t *data;
    size_t size;
    Elf64_Ehdr header;
} Elf;

static bool is_inside(const Elf *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->size && size <= elf->size - offset;
}

static const char *machine_name(uint32_t machine, char out[32]) {
    static const struct {
        uint32_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"}, {EM_386, "x86"}, {EM_ARM, "ARM"},
        {EM_RISCV, "RISC-V"}, {EM_PPC64, "PowerPC 64"}, {EM_S390, "S/390"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].machine == machine) return names[i].name;
    (void)snprintf(out, 32, "machine %u", machine);
    return out;
}

static Error *open_elf(const void *data, size_t size, Elf *out) {
    *out = (Elf){.data = data, .size = size};
    if (size < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0)
        FAIL(CORRUPT, "no library: it does not start like an ELF file");
    if (size < sizeof out->header) FAIL(CORRUPT, "a library of only %zu bytes", size);
    memcpy(&out->header, data, sizeof out->header);
    const Elf64_Ehdr *header = &out->header;
    char here[32], there[32];
    const bool wide = header->e_ident[EI_CLASS] == ELFCLASS64;
    const bool little = header->e_ident[EI_DATA] == ELFDATA2LSB;
    if (wide && little && header->e_machine == MACHINE_HERE) {
        if (header->e_phentsize == sizeof(Elf64_Phdr) &&
            header->e_shentsize == sizeof(Elf64_Shdr) &&
            is_inside(out, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)) &&
            is_inside(out, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
            return NULL;
        FAIL(CORRUPT, "a library whose tables are outside the file");
    }
    FAIL(UNSUPPORTED,
        "a library for %s (%d bits, %s-endian), and this machine is %s: its native code cannot run "
        "here",
        machine_name(header->e_machine, there), wide ? 64 : 32, little ? "little" : "big",
        machine_name(MACHINE_HERE, here));
}

static Elf64_Shdr section_of(const Elf *elf, uint32_t index) {
    Elf64_Shdr section;
    memcpy(&section, elf->data + elf->header.e_shoff + (uint64_t)index * sizeof section,
        sizeof section);
    return section;
}

/* Finds the place in the file of an address that is loaded from it. */
static Error *find_address(
    const Elf *elf, const Elf64_Sym *symbol, const uint8_t **out_data, size_t *out_size) {
    for (uint32_t i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, elf->data + elf->header.e_phoff + (uint64_t)i * sizeof segment,
            sizeof segment);
        if (segment.p_type != PT_LOAD || symbol->st_value < segment.p_vaddr ||
            symbol->st_value - segment.p_vaddr >= segment.p_filesz ||
            !is_inside(elf, segment.p_offset, segment.p_filesz))
            continue;
        const uint64_t within = symbol->st_value - segment.p_vaddr;
        const uint64_t room = segment.p_filesz - within;
        if (symbol->st_size > room)
            FAIL(CORRUPT,
                "a library whose symbol has %" PRIu64 " bytes, of which the file has "
                "%" PRIu64,
                (uint64_t)symbol->st_size, room);
        *out_data = elf->data + segment.p_offset + within;
        *out_size = (size_t)(symbol->st_size ? symbol->st_size : room);
        return NULL;
    }
    FAIL(CORRUPT, "a library whose symbol lies outside the file");
}

/* Whether the string at `offset` of a section is that name. */
static bool is_name(const Elf *elf, const Elf64_Shdr *strings, uint32_t offset, const char *name) {
    const size_t length = strlen(name) + 1;
    return offset <= strings->sh_size && length <= strings->sh_size - offset &&
           memcmp(elf->data + strings->sh_offset + offset, name, length) == 0;
}

/* The earliest of the names that a table of symbols defines; name_count: none. */
static Error *search_table(const Elf *elf, const Elf64_Shdr *table, const char *const *names,
    size_t name_count, Elf64_Sym *out_symbol, size_t *out_name) {
    *out_name = name_count;
    if (table->sh_link >= elf->header.e_shnum) FAIL(CORRUPT, "a library without names of symbols");
    const Elf64_Shdr strings = section_of(elf, table->sh_link);
    if (!is_inside(elf, table->sh_offset, table->sh_size) ||
        !is_inside(elf, strings.sh_offset, strings.sh_size))
        FAIL(CORRUPT, "a library whose symbols are outside the file");
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->data + table->sh_offset + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF) continue;
        for (size_t i = 0; i < *out_name; i++) {
            if (!is_name(elf, &strings, symbol.st_name, names[i])) continue;
            *out_symbol = symbol;
            *out_name = i;
        }
    }
    return NULL;
}

Error *relax_elf_find(const void *data, size_t size, const char *const *names, size_t name_count,
    const uint8_t **out_data, size_t *out_size, size_t *out_name) {
    static const uint32_t kinds[] = {SHT_DYNSYM, SHT_SYMTAB};
    Elf elf;
    TRY(open_elf(data, size, &elf));
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (uint32_t i = 0; i < elf.header.e_shnum; i++) {
            const Elf64_Shdr table = section_of(&elf, i);
            Elf64_Sym symbol;
            if (table.sh_type != kinds[kind]) continue;
            TRY(search_table(&elf, &table, names, name_count, &symbol, out_name));
            if (*out_name < name_count) return find_address(&elf, &symbol, out_data, out_size);
            break; /* there is one table of a kind */
        }
    }
    TextBuilder OWN_TEXT(list) = {0};
    for (size_t i = 0; i < name_count; i++) text_appendf(&list, "%s%s", i ? ", " : "", names[i]);
    FAIL(UNSUPPORTED, "a library that TVM did not export: it has none of the symbols %s",
        text_builder_get(&list));
}

Error *relax_elf_exports(const void *data, size_t size, const char *name, bool *out_exported) {
    Elf elf;
    *out_exported = false;
    TRY(open_elf(data, size, &elf));
    for (uint32_t i = 0; i < elf.header.e_shnum && !*out_exported; i++) {
        const Elf64_Shdr table = section_of(&elf, i);
        Elf64_Sym symbol;
        size_t found;
        if (table.sh_type != SHT_DYNSYM) continue;
        TRY(search_table(&elf, &table, &name, 1, &symbol, &found));
        *out_exported = found == 0;
    }
    return NULL;
}
