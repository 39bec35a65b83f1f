#include <inttypes.h>
#include <string.h>

#include "serialize/relay/relay_internal.h"

static void append_text(TextBuilder *out, RelayText text) {
    text_append_bytes(out, text.data, text.size);
}

/* The name that an index stands for; the index where there is none. */
static void append_name(TextBuilder *out, const RelayTexts *names, int64_t index) {
    if (index >= 0 && (uint64_t)index < names->count)
        append_text(out, names->items[index]);
    else
        text_appendf(out, "%" PRIi64, index);
}

static void append_field(TextBuilder *out, const RelayFile *file, const RelayField *field,
    const RelayWords *words, uint64_t at) {
    text_appendf(out, " %s=", field->name);
    if (field->is_list) text_append(out, "[");
    for (uint64_t i = 0; i < field->count; i++) {
        const int64_t word = relay_word(words, at + i);
        if (i > 0) text_append(out, ", ");
        if (strcmp(field->name, "primitive") == 0)
            append_name(out, &file->primitives, word);
        else if (strcmp(field->name, "function") == 0)
            append_name(out, &file->globals, word);
        else
            text_appendf(out, "%" PRIi64, word);
    }
    if (field->is_list) text_append(out, "]");
}

static Error *print_instruction(
    const RelayFile *file, const RelayWords *instruction, TextBuilder *out) {
    const RelayWords words = {instruction->words + 8, instruction->count - 1};
    const RelayOpcode opcode = relay_opcode_find(relay_word(&words, 0), file->minor);
    RelayField fields[RELAY_FIELDS_MAX];
    uint32_t count;
    uint64_t at = 1;
    TRY(relay_opcode_fields(&opcode, &words, fields, &count));
    text_append(out, opcode.name);
    for (uint32_t i = 0; i < count; i++) {
        /* TVM writes the low half of an address there when the storage has a shape */
        const bool meaningless = strcmp(fields[i].name, "size") == 0 && fields[count - 1].is_list &&
                                 fields[count - 1].count > 0;
        if (meaningless)
            text_append(out, " size=?");
        else
            append_field(out, file, &fields[i], &words, at);
        at += fields[i].count;
    }
    text_append(out, "\n");
    return NULL;
}

static void print_head(const RelayFunction *function, TextBuilder *out) {
    text_append(out, "function ");
    append_text(out, function->name);
    text_append(out, "(");
    for (uint64_t i = 0; i < function->parameters.count; i++) {
        if (i > 0) text_append(out, ", ");
        append_text(out, function->parameters.items[i]);
    }
    text_appendf(out, ") registers %" PRIu64 "\n", function->register_count);
}

Error *relay_text_print(const RelayFile *file, TextBuilder *out) {
    for (uint64_t i = 0; i < file->function_count; i++) {
        const RelayFunction *function = &file->functions[i];
        print_head(function, out);
        for (uint64_t pc = 0; pc < function->instruction_count; pc++) {
            text_appendf(out, "  %" PRIu64 ": ", pc);
            TRY(print_instruction(file, &function->instructions[pc], out));
        }
        text_append(out, "\n");
    }
    return text_builder_check(out);
}
