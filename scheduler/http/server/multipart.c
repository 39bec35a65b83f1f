#include "scheduler/http/server/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char media_type[] = "multipart/form-data";

/* The value of boundary=, quoted or not. */
static Error *read_boundary(const char *content_type, char out[MULTIPART_BOUNDARY_MAX + 1]) {
    const char *at = content_type ? strcasestr(content_type, "boundary=") : NULL;
    if (!content_type || strncasecmp(content_type, media_type, sizeof media_type - 1) != 0 || !at)
        FAIL(INVALID, "Content-Type: %s with a boundary is wanted", media_type);
    at += strlen("boundary=");
    bool quoted = *at == '"';
    at += quoted;
    size_t length = strcspn(at, quoted ? "\"" : "; \t");
    if (length == 0 || length > MULTIPART_BOUNDARY_MAX)
        FAIL(INVALID, "Content-Type: a boundary has 1 to %d characters", MULTIPART_BOUNDARY_MAX);
    memcpy(out, at, length);
    out[length] = 0;
    return NULL;
}

/* name="…" of Content-Disposition. filename="…" is no name. */
static Error *read_name(const char *line, char out[MULTIPART_NAME_SIZE]) {
    static const char key[] = "name=\"";
    const char *at = line;
    while ((at = strcasestr(at, key)) && (at == line || (at[-1] != ' ' && at[-1] != ';'))) at++;
    size_t length = at ? strcspn(at + sizeof key - 1, "\"") : 0;
    if (!at || length == 0 || length >= MULTIPART_NAME_SIZE || !at[sizeof key - 1 + length])
        FAIL(INVALID, "a part of the body has no name");
    memcpy(out, at + sizeof key - 1, length);
    out[length] = 0;
    return NULL;
}

/* Reads the header lines of a part; *inout_at moves past the empty one. */
static Error *read_head(
    const uint8_t *data, size_t size, size_t *inout_at, char name[MULTIPART_NAME_SIZE]) {
    static const char disposition[] = "content-disposition:";
    char head[MULTIPART_HEAD_MAX + 1];
    const uint8_t *start = data + *inout_at;
    size_t left = size - *inout_at < MULTIPART_HEAD_MAX ? size - *inout_at : MULTIPART_HEAD_MAX;
    const uint8_t *end = memmem(start, left, "\r\n\r\n", 4);
    if (!end || memchr(start, 0, (size_t)(end - start)))
        FAIL(INVALID, "the head of a part does not end within %d bytes", MULTIPART_HEAD_MAX);
    size_t length = (size_t)(end - start);
    memcpy(head, start, length);
    head[length] = 0;
    *inout_at += length + 4;
    for (char *line = head, *next; line; line = next) {
        next = strstr(line, "\r\n");
        if (next) {
            *next = 0;
            next += 2;
        }
        if (strncasecmp(line, disposition, sizeof disposition - 1) == 0)
            return read_name(line + sizeof disposition - 1, name);
    }
    FAIL(INVALID, "a part of the body has no Content-Disposition");
}

static Error *add_part(Multipart *out, const uint8_t *data, size_t size, size_t *inout_at,
    const char *delimiter, size_t delimiter_size) {
    if (out->count == MULTIPART_PARTS_MAX)
        FAIL(INVALID, "the body has more than %d parts", MULTIPART_PARTS_MAX);
    MultipartPart *part = &out->parts[out->count];
    TRY(read_head(data, size, inout_at, part->name));
    if (multipart_find(out, part->name))
        FAIL(INVALID, "the body has two parts named %s", part->name);
    const uint8_t *end = memmem(data + *inout_at, size - *inout_at, delimiter, delimiter_size);
    if (!end) FAIL(INVALID, "the body ends within part %s", part->name);
    part->data = data + *inout_at;
    part->size = (size_t)(end - part->data);
    *inout_at += part->size + delimiter_size;
    out->count++;
    return NULL;
}

/*   --boundary CRLF head CRLF CRLF data CRLF --boundary CRLF … CRLF --boundary-- */
Error *multipart_parse(const char *content_type, const uint8_t *data, size_t size, Multipart *out) {
    char boundary[MULTIPART_BOUNDARY_MAX + 1], delimiter[MULTIPART_BOUNDARY_MAX + 8];
    TRY(read_boundary(content_type, boundary));
    int length = snprintf(delimiter, sizeof delimiter, "\r\n--%s", boundary);
    size_t delimiter_size = (size_t)length, at = delimiter_size - 2;
    out->count = 0;
    if (size < at || memcmp(data, delimiter + 2, at) != 0)
        FAIL(INVALID, "the body does not begin with its boundary");
    for (;;) {
        if (size - at >= 2 && memcmp(data + at, "--", 2) == 0) return NULL;
        if (size - at < 2 || memcmp(data + at, "\r\n", 2) != 0)
            FAIL(INVALID, "something stands behind a boundary of the body");
        at += 2;
        TRY(add_part(out, data, size, &at, delimiter, delimiter_size));
    }
}

const MultipartPart *multipart_find(const Multipart *multipart, const char *name) {
    for (size_t i = 0; i < multipart->count; i++)
        if (strcmp(multipart->parts[i].name, name) == 0) return &multipart->parts[i];
    return NULL;
}
