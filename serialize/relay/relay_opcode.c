#include <inttypes.h>
#include <string.h>

#include "serialize/relay/relay_internal.h"

static const struct {
    int64_t number;
    const char *name, *fields;
    uint32_t first;
} rows[] = {
#define RELAY_OPCODE(number, name, fields, first) {number, name, fields, first},
#include "serialize/relay/relay_opcodes.def"
#undef RELAY_OPCODE
};

RelayOpcode relay_opcode_find(int64_t number, uint32_t minor) {
    RelayOpcode found = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number && rows[i].first <= minor)
            found = (RelayOpcode){rows[i].name, rows[i].fields};
    return found;
}

/* The next name of a list of names, without its mark; the mark or 0 in *out_mark. */
static bool next_name(const char **inout_list, char out[RELAY_FIELD_NAME_MAX], char *out_mark) {
    const size_t length = strcspn(*inout_list, " ");
    if (length == 0) return false;
    const char last = (*inout_list)[length - 1];
    *out_mark = last == '*' || last == '+' ? last : 0;
    const size_t size = length - (*out_mark != 0);
    memcpy(out, *inout_list, size);
    out[size] = 0;
    *inout_list += length;
    if (**inout_list == ' ') ++*inout_list;
    return true;
}

Error *relay_opcode_fields(const RelayOpcode *opcode, const RelayWords *words,
    RelayField out_fields[RELAY_FIELDS_MAX], uint32_t *out_count) {
    const char *list = opcode->fields;
    int64_t listed = 0, dims = 0;
    uint64_t at = 1; /* behind the opcode */
    char mark;
    *out_count = 0;
    while (next_name(&list, out_fields[*out_count].name, &mark)) {
        RelayField *field = &out_fields[(*out_count)++];
        const int64_t count = mark == '*' ? listed : mark == '+' ? dims : 1;
        if (count < 0 || (uint64_t)count > words->count - at)
            FAIL(CORRUPT, "%s: %" PRIi64 " words for %s, of which %" PRIu64 " are there",
                opcode->name, count, field->name, words->count - at);
        field->is_list = mark != 0;
        field->count = (uint64_t)count;
        if (strcmp(field->name, "n") == 0) listed = relay_word(words, at);
        if (strcmp(field->name, "ndim") == 0) dims = relay_word(words, at);
        at += field->count;
    }
    if (at != words->count)
        FAIL(CORRUPT, "%s: %" PRIu64 " words more than its fields take", opcode->name,
            words->count - at);
    return NULL;
}
