#include "tests/serialize/relay_example.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...)                                                                                 \
    (int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void write_text(ByteWriter *writer, const char *text) {
    byte_write_u64(writer, strlen(text));
    byte_write_bytes(writer, text, strlen(text));
}

static void write_words(ByteWriter *writer, const int64_t *words, uint32_t count) {
    byte_write_u64(writer, count);
    for (uint32_t i = 0; i < count; i++) byte_write_i64(writer, words[i]);
}

void relay_example_instruction(ByteWriter *writer, const int64_t *words, uint32_t count) {
    const RelayWords view = {(const uint8_t *)words, count};
    byte_write_u64(writer, count + 1u);
    byte_write_u64(writer, relay_file_hash(&view));
    for (uint32_t i = 0; i < count; i++) byte_write_i64(writer, words[i]);
}

/* float32 [2] */
static void write_tensor(ByteWriter *writer) {
    const int32_t head[] = {1, 0, 1}; /* device, its index, rank */
    byte_write_u64(writer, UINT64_C(0xDD5E40F096B4A13F));
    byte_write_u64(writer, 0);
    for (int i = 0; i < 3; i++) byte_write_u32(writer, (uint32_t)head[i]);
    byte_write_u8(writer, 2);
    byte_write_u8(writer, 32);
    byte_write_u16(writer, 1);
    byte_write_u64(writer, 2);
    byte_write_u64(writer, 8);
    byte_write_u64(writer, 0);
}

static void write_constants(ByteWriter *writer, uint32_t minor) {
    const bool late = minor >= 9;
    byte_write_u64(writer, late ? 2 : 1);
    if (late) byte_write_u32(writer, 0);
    write_tensor(writer);
    if (late) byte_write_u32(writer, 1);
    if (late) write_text(writer, "weight");
    if (late)
        write_words(writer, WORDS(0, 0));
    else if (minor >= 7)
        write_words(writer, WORDS(0));
}

static void write_head(ByteWriter *writer, uint32_t minor) {
    char version[16];
    (void)snprintf(version, sizeof version, "0.%u.0", minor);
    byte_write_u64(writer, UINT64_C(0xD225DE2F4214151D));
    write_text(writer, version);
    if (minor >= 9) {
        byte_write_u64(writer, 1);
        byte_write_u64(writer, 1); /* device type 1, index 0 */
        if (minor >= 14) write_text(writer, "global");
        byte_write_u32(writer, 0);
    }
    byte_write_u64(writer, 1);
    write_text(writer, "main");
    write_constants(writer, minor);
    byte_write_u64(writer, 1);
    write_text(writer, "fused_add");
    if (minor < 8) return;
    byte_write_u64(writer, 1);
    byte_write_u64(writer, 0);
    byte_write_u64(writer, 1);
    write_text(writer, "hash");
    write_text(writer, "abc");
}

static void write_code(ByteWriter *writer, uint32_t minor) {
    if (minor < 14)
        relay_example_instruction(writer, WORDS(11, 0, 1));
    else
        relay_example_instruction(writer, WORDS(11, 0, 0, 1));
    relay_example_instruction(writer, WORDS(14, 42, 2));
    if (minor == 6)
        relay_example_instruction(writer, WORDS(16, 2, 64, 2, 32, 1, 3));
    else if (minor < 14)
        relay_example_instruction(writer, WORDS(16, 2, 64, 2, 32, 1, 0, 3));
    else
        relay_example_instruction(writer, WORDS(16, 77, 64, 2, 32, 1, 0, 1, 3, 8));
    if (minor == 6)
        relay_example_instruction(writer, WORDS(5, 3, 2, 32, 1, 1, 4, 2));
    else
        relay_example_instruction(writer, WORDS(5, 3, 2, 2, 32, 1, 1, 4, 2));
    relay_example_instruction(writer, WORDS(4, 0, 3, 1, 0, 1, 4));
    relay_example_instruction(writer, WORDS(1, 4));
}

void relay_example_write(ByteWriter *writer, uint32_t minor) {
    write_head(writer, minor);
    byte_write_u64(writer, 1);
    byte_write_u64(writer, 3);
    write_text(writer, "main");
    write_text(writer, "5");
    write_text(writer, "6");
    byte_write_u64(writer, 1);
    write_text(writer, "x");
    if (minor >= 7) write_words(writer, WORDS(0));
    write_code(writer, minor);
}
