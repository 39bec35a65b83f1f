#include "tests/serialize/relay_example.h"
#include "tests/support/test_support.h"

static void test_relay_read_takes_every_version(void **state) {
    (void)state;
    for (uint32_t minor = 6; minor <= 19; minor++) {
        ByteWriter OWN_BYTES(writer) = {0};
        OWN(RelayFile, file) = NULL;
        relay_example_write(&writer, minor);
        assert_true(relay_file_probe(writer.data, 24));
        assert_ok(relay_file_read(writer.data, writer.size, &file));
        assert_int_equal(file->minor, minor);
        assert_int_equal(file->functions[0].instruction_count, 6);
        assert_int_equal(file->constant_count, minor >= 9 ? 2 : 1);
        assert_int_equal(file->constants[0].size, 8);
    }
}

/* Values that other implementations of the formula give. */
static void test_relay_read_computes_the_hash_of_instructions(void **state) {
    (void)state;
    static const struct {
        int64_t words[5];
        uint64_t count, hash;
    } cases[] = {
        {{1, 2}, 2, UINT64_C(0x9e3779fa)},
        {{0, 0, 1}, 3, UINT64_C(0x28cd94bfd1)},
        {{15}, 1, 15},
        {{12, -3}, 2, UINT64_C(0x9e377cb5)},
        {{14, 42, 0}, 3, UINT64_C(0x28cd93ce7b)},
        {{10, 0, 1, 1, 5}, 5, UINT64_C(0x28253a2688e0a)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const RelayWords words = {(const uint8_t *)cases[i].words, cases[i].count};
        assert_int_equal(relay_file_hash(&words), cases[i].hash);
    }
}

static void test_relay_read_refuses_every_truncation_and_most_flipped_bits(void **state) {
    (void)state;
    for (uint32_t minor = 6; minor <= 19; minor += 13) {
        ByteWriter OWN_BYTES(writer) = {0};
        relay_example_write(&writer, minor);
        RelayFile *file;
        for (size_t cut = 0; cut < writer.size; cut++)
            assert_fails(CORRUPT, relay_file_read(writer.data, cut, &file));
        for (size_t bit = 0; bit < writer.size * 8; bit++) {
            writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            file = NULL;
            Error *error = relay_file_read(writer.data, writer.size, &file);
            TextBuilder OWN_TEXT(text) = {0};
            if (!error) assert_ok(relay_text_print(file, &text));
            error_free(error); /* either is right */
            relay_file_release(file);
            writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void test_relay_read_names_a_wrong_hash_and_a_wrong_version(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    RelayFile *file;
    relay_example_write(&writer, 18);
    writer.data[writer.size - 1] ^= 1; /* a field of the last instruction */
    assert_fails_saying(CORRUPT, "function 0: instruction 5: its hash is",
        relay_file_read(writer.data, writer.size, &file));
    writer.data[18] = '2'; /* 0.28.0 */
    assert_fails_saying(UNSUPPORTED, "TVM \"0.28.0\"; the Relay VM was in 0.6 to 0.19",
        relay_file_read(writer.data, writer.size, &file));
    writer.data[0] = 0;
    assert_false(relay_file_probe(writer.data, writer.size));
}

int test_relay_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_read_takes_every_version),
        cmocka_unit_test(test_relay_read_computes_the_hash_of_instructions),
        cmocka_unit_test(test_relay_read_refuses_every_truncation_and_most_flipped_bits),
        cmocka_unit_test(test_relay_read_names_a_wrong_hash_and_a_wrong_version),
    };
    return cmocka_run_group_tests_name("relay_read", tests, NULL, NULL);
}
