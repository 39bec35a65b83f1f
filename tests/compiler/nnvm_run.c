#include "tests/compiler/nnvm_run.h"

#include <ctype.h>
#include <string.h>

#include "tests/support/test_support.h"

enum { WORD_MAX = 128 };

/* The next word before a ';', or false. */
static bool next_word(const char **inout_at, char out[WORD_MAX]) {
    *inout_at += strspn(*inout_at, " ");
    const size_t length = strcspn(*inout_at, " ;");
    if (length == 0) return false;
    assert_true(length < WORD_MAX);
    memcpy(out, *inout_at, length);
    out[length] = '\0';
    *inout_at += length;
    return true;
}

static void write_entry(const char *word, bool first, TextBuilder *out) {
    const char *colon = strchr(word, ':');
    text_appendf(out, "%s[%.*s, %s, 0]", first ? "" : ", ", (int)strcspn(word, ":"), word,
        colon ? colon + 1 : "0");
}

/* Writes inputs, and what follows them as attributes. */
static void write_rest(const char **inout_at, TextBuilder *out) {
    TextBuilder OWN_TEXT(attributes) = {0};
    char word[WORD_MAX];
    bool first = true;
    text_append(out, "[");
    while (next_word(inout_at, word)) {
        char *equal = strchr(word, '=');
        if (isdigit((unsigned char)word[0])) {
            write_entry(word, first, out);
            first = false;
            continue;
        }
        assert_non_null(equal);
        *equal = '\0';
        text_appendf(&attributes, "%s\"%s\": \"%s\"", attributes.size ? ", " : "", word, equal + 1);
    }
    text_appendf(out, "], \"attrs\": {%s}}", text_builder_get(&attributes));
}

void nnvm_write(const char *nodes, TextBuilder *out) {
    TextBuilder OWN_TEXT(heads) = {0};
    char word[WORD_MAX];
    uint32_t count = 0;
    text_append(out, "{\"nodes\": [");
    for (const char *at = nodes; next_word(&at, word);) {
        if (strcmp(word, "heads") == 0) {
            while (next_word(&at, word)) write_entry(word, heads.size == 0, &heads);
            break;
        }
        text_appendf(out, "%s{\"op\": \"%s\", \"name\": \"n%u\", \"inputs\": ", count ? ", " : "",
            word, count);
        write_rest(&at, out);
        count++;
        at += *at == ';';
    }
    if (heads.size == 0) text_appendf(&heads, "[%u, 0, 0]", count - 1);
    text_appendf(out, "], \"heads\": [%s]}", text_builder_get(&heads));
    assert_ok(text_builder_check(out));
}

void nnvm_expect(const char *nodes, const char *signature) {
    TextBuilder OWN_TEXT(json) = {0};
    nnvm_write(nodes, &json);
    relay_expect(text_builder_get(&json), signature);
}

void nnvm_check_refused(
    const char *nodes, ErrorCode code, const char *message, const char *file, int line) {
    TextBuilder OWN_TEXT(json) = {0};
    nnvm_write(nodes, &json);
    relay_check_refused(text_builder_get(&json), code, message, file, line);
}

void nnvm_write_params(const char *name, int64_t dim, ByteWriter *out) {
    byte_write_u64(out, UINT64_C(0xF7E58D4F05049CB7));
    byte_write_u64(out, 0);
    byte_write_u64(out, 1);
    byte_write_u64(out, strlen(name));
    byte_write_bytes(out, name, strlen(name));
    byte_write_u64(out, 1);
    byte_write_u64(out, UINT64_C(0xDD5E40F096B4A13F));
    byte_write_u64(out, 0);
    byte_write_u64(out, 1);
    byte_write_u32(out, 1);
    byte_write_u32(out, 0x00012002);
    byte_write_i64(out, dim);
    byte_write_i64(out, 4 * dim);
    for (int64_t i = 0; i < dim; i++) byte_write_u32(out, 0);
    assert_ok(byte_writer_check(out));
}
