#include "serialize/relax/relax_elf.h"

#include "tests/serialize/elf_example.h"
#include "tests/support/test_support.h"

static const char *const names[] = {"wanted", "also_wanted"};

static Error *find(const ElfExample *example, size_t size, const uint8_t **out_data,
    size_t *out_size, size_t *out_name) {
    return relax_elf_find(example, size, names, 2, out_data, out_size, out_name);
}

static void test_relax_elf_finds_the_value_of_a_symbol(void **state) {
    (void)state;
    ElfExample example;
    const uint8_t *data;
    size_t size, name;
    elf_example_init(&example, "also_wanted", "value", 5);
    assert_ok(find(&example, sizeof example, &data, &size, &name));
    assert_int_equal(name, 1);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "value", 5);
    example.symbols[1].st_size = 0; /* up to the end of what is loaded */
    assert_ok(find(&example, sizeof example, &data, &size, &name));
    assert_int_equal(size, sizeof example.value);
}

#define REFUSED(CODE, change, text)                                                                \
    elf_example_init(&example, "wanted", "value", 5);                                              \
    change;                                                                                        \
    assert_fails_saying(CODE, text, find(&example, sizeof example, &data, &size, &name))

static void test_relax_elf_refuses_other_files_in_one_sentence(void **state) {
    (void)state;
    ElfExample example;
    const uint8_t *data;
    size_t size, name;
    REFUSED(CORRUPT, example.header.e_ident[0] = 0, "no library: it does not start like an ELF");
    REFUSED(
        UNSUPPORTED, example.header.e_machine = EM_S390, "a library for S/390 (64 bits, little");
    REFUSED(UNSUPPORTED, example.header.e_machine = 999, "a library for machine 999");
    REFUSED(UNSUPPORTED, example.header.e_ident[EI_CLASS] = ELFCLASS32, "32 bits");
    REFUSED(UNSUPPORTED, example.header.e_ident[EI_DATA] = ELFDATA2MSB, "big-endian");
    REFUSED(UNSUPPORTED, example.names[1] = 'X', "it has none of the symbols wanted, also_wanted");
    REFUSED(UNSUPPORTED, example.symbols[1].st_shndx = SHN_UNDEF, "none of the symbols");
    REFUSED(UNSUPPORTED, example.header.e_shnum = 0, "none of the symbols");
}

static void test_relax_elf_refuses_tables_outside_the_file(void **state) {
    (void)state;
    ElfExample example;
    const uint8_t *data;
    size_t size, name;
    REFUSED(CORRUPT, example.header.e_phoff = UINT64_MAX, "tables are outside");
    REFUSED(CORRUPT, example.header.e_shoff = sizeof example - 1, "tables are outside");
    REFUSED(CORRUPT, example.header.e_shentsize = 1, "tables are outside");
    REFUSED(CORRUPT, example.sections[1].sh_size = UINT64_MAX, "symbols are outside");
    REFUSED(CORRUPT, example.sections[2].sh_offset = UINT64_MAX, "symbols are outside");
    REFUSED(CORRUPT, example.sections[1].sh_link = 3, "without names of symbols");
    REFUSED(CORRUPT, example.symbols[1].st_value = 5, "symbol lies outside");
    REFUSED(CORRUPT, example.segment.p_filesz = UINT64_MAX, "symbol lies outside");
    REFUSED(CORRUPT, example.symbols[1].st_size = 600, "600 bytes, of which the file has 512");
    REFUSED(UNSUPPORTED, example.symbols[1].st_name = UINT32_MAX, "none of the symbols");
}

static void test_relax_elf_tells_what_a_library_exports(void **state) {
    (void)state;
    ElfExample example;
    bool exported;
    elf_example_init(&example, "wanted", "value", 5);
    example.sections[1].sh_type = SHT_DYNSYM;
    example.symbols[1].st_value = 5; /* in no bytes of the file, as a variable that starts as 0 */
    assert_ok(relax_elf_exports(&example, sizeof example, "wanted", &exported));
    assert_true(exported);
    assert_ok(relax_elf_exports(&example, sizeof example, "want", &exported));
    assert_false(exported);
    example.sections[1].sh_type = SHT_SYMTAB; /* for debuggers alone */
    assert_ok(relax_elf_exports(&example, sizeof example, "wanted", &exported));
    assert_false(exported);
    example.header.e_machine = EM_S390;
    assert_fails_saying(UNSUPPORTED, "a library for S/390",
        relax_elf_exports(&example, sizeof example, "wanted", &exported));
}

/* Any bytes are refused or give a value inside the file. */
static void test_relax_elf_survives_truncation_and_flipped_bits(void **state) {
    (void)state;
    ElfExample example;
    const uint8_t *data;
    size_t size, name;
    elf_example_init(&example, "wanted", "value", 5);
    for (size_t cut = 0; cut < offsetof(ElfExample, value); cut++) {
        Error *error = find(&example, cut, &data, &size, &name);
        assert_non_null(error);
        error_free(error);
    }
    uint8_t *bytes = (uint8_t *)&example;
    for (size_t bit = 0; bit < offsetof(ElfExample, value) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        Error *error = find(&example, sizeof example, &data, &size, &name);
        if (!error) assert_true(data >= bytes && data + size <= bytes + sizeof example);
        error_free(error); /* either is right */
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

int test_relax_elf(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_elf_finds_the_value_of_a_symbol),
        cmocka_unit_test(test_relax_elf_refuses_other_files_in_one_sentence),
        cmocka_unit_test(test_relax_elf_tells_what_a_library_exports),
        cmocka_unit_test(test_relax_elf_refuses_tables_outside_the_file),
        cmocka_unit_test(test_relax_elf_survives_truncation_and_flipped_bits),
    };
    return cmocka_run_group_tests_name("relax_elf", tests, NULL, NULL);
}
