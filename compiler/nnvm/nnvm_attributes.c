/* The attributes of a node, which are texts as Python writes them. */
#include <string.h>

#include "base/text.h"
#include "compiler/nnvm/nnvm_build_internal.h"

enum { NUMBER_BYTES_MAX = 40, NAME_BYTES_MAX = 40 };

/* The attribute that is there, of several names with | between; NULL: none. */
static const char *find(const NnvmCall *call, const char *names) {
    while (*names) {
        char name[NAME_BYTES_MAX] = {0};
        const size_t length = strcspn(names, "|");
        memcpy(name, names, length < sizeof name ? length : sizeof name - 1);
        const char *text = nnvm_node_attribute(call->node, name);
        if (text) return text;
        names += length + (names[length] == '|');
    }
    return NULL;
}

const char *nnvm_text(const NnvmCall *call, const char *name, const char *otherwise) {
    const char *text = find(call, name);
    return text ? text : otherwise;
}

static bool is_none(const char *text) { return !text || strcmp(text, "None") == 0; }

Error *nnvm_get_int(const NnvmCall *call, const char *name, int64_t otherwise, int64_t *out) {
    const char *text = find(call, name);
    *out = otherwise;
    if (is_none(text) || text_parse_i64(text, out)) return NULL;
    FAIL(INVALID, "the attribute %s is %.100s; an integer is wanted", name, text);
}

Error *nnvm_get_bool(const NnvmCall *call, const char *name, bool otherwise, bool *out) {
    const char *text = find(call, name);
    *out = otherwise;
    if (is_none(text)) return NULL;
    *out = strcmp(text, "True") == 0 || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (*out || strcmp(text, "False") == 0 || strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return NULL;
    FAIL(INVALID, "the attribute %s is %.100s; True or False is wanted", name, text);
}

Error *nnvm_get_float(const NnvmCall *call, const char *name, double otherwise, double *out) {
    const char *text = find(call, name);
    *out = otherwise;
    if (is_none(text) || text_parse_f64(text, out)) return NULL;
    FAIL(INVALID, "the attribute %s is %.100s; a number is wanted", name, text);
}

/* Reads one number, or None, and moves *inout_text behind it. MXNet writes long numbers as 3L. */
static bool read_number(const char **inout_text, int64_t *out) {
    const size_t length = strcspn(*inout_text, "()[], L");
    char number[NUMBER_BYTES_MAX] = {0};
    if (length == 0 || length >= sizeof number) return false;
    memcpy(number, *inout_text, length);
    *inout_text += length + ((*inout_text)[length] == 'L');
    *out = NNVM_NONE;
    return strcmp(number, "None") == 0 || (text_parse_i64(number, out) && *out != NNVM_NONE);
}

Error *nnvm_parse_ints(const char *text, int64_t out[NNVM_INTS_MAX], uint32_t *out_count) {
    const char *at = text;
    *out_count = NNVM_ABSENT;
    if (is_none(text)) return NULL;
    uint32_t count = 0;
    for (;;) {
        at += strspn(at, "()[], ");
        if (*at == '\0') break;
        if (count == NNVM_INTS_MAX) FAIL(INVALID, "more than %d numbers", NNVM_INTS_MAX);
        if (!read_number(&at, &out[count++]))
            FAIL(INVALID, "%.100s; a list of integers is wanted", text);
    }
    *out_count = count;
    return NULL;
}

Error *nnvm_get_ints(
    const NnvmCall *call, const char *name, int64_t out[NNVM_INTS_MAX], uint32_t *out_count) {
    return error_wrap(nnvm_parse_ints(find(call, name), out, out_count), "the attribute %s", name);
}

Error *nnvm_only(const NnvmCall *call, const char *name, const char *wanted) {
    const char *text = find(call, name);
    if (is_none(text) || strcmp(text, wanted) == 0) return NULL;
    FAIL(UNSUPPORTED, "the attribute %s is %.100s; only %s is read", name, text, wanted);
}
