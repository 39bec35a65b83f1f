#include "scheduler/http/server/http_framing.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { EMPTY_LINES_MAX = 1, LENGTH_DIGITS_MAX = 18, CHUNK_DIGITS_MAX = 15 };

typedef struct Span {
    const char *data;
    size_t size;
} Span;

void http_framing_deinit(HttpFraming *framing) {
    byte_writer_deinit(&framing->line);
    byte_writer_deinit(&framing->out);
}

static void emit(HttpFraming *framing, const void *data, size_t size) {
    byte_write_bytes(&framing->out, data, size);
}

static void emit_text(HttpFraming *framing, const char *text) { emit(framing, text, strlen(text)); }

static void refuse(HttpFraming *framing, int status, const char *why) {
    const HttpFramingState state = framing->state;
    framing->state = HTTP_FRAMING_REFUSED;
    framing->status = status;
    framing->why = why;
    if (state == HTTP_FRAMING_START || state == HTTP_FRAMING_HEAD) {
        if (state == HTTP_FRAMING_START) {
            framing->heads++;
            emit_text(framing, "GET / HTTP/1.1\r\n");
        }
        framing->refused_head = framing->heads;
        if (state == HTTP_FRAMING_START || !framing->has_host) emit_text(framing, "Host: x\r\n");
        emit_text(framing, "\r\n");
    } else if (state == HTTP_FRAMING_TRAILER)
        emit_text(framing, "no colon\r\n");
    else
        emit_text(framing, "\rno chunk\r\n");
}

static bool is_token(Span text) {
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        const bool letter =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && (c == 0 || !strchr(marks, c))) return false;
    }
    return text.size > 0;
}

/* Printable, or a byte of another alphabet; tabs and blanks where a value may have them. */
static bool is_plain(Span text, bool blanks) {
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t c = (uint8_t)text.data[i];
        if (c == 0x7f || (c < 0x20 && !(blanks && c == '\t')) || (c == ' ' && !blanks))
            return false;
    }
    return true;
}

static bool is_same(Span text, const char *wanted) {
    return text.size == strlen(wanted) && strncasecmp(text.data, wanted, text.size) == 0;
}

static Span trim(Span text) {
    while (text.size && (*text.data == ' ' || *text.data == '\t')) text.data++, text.size--;
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Checks method SP target SP HTTP/1.x. NULL: the line is valid. */
static const char *read_first_line(HttpFraming *framing, Span line) {
    const char *blank = memchr(line.data, ' ', line.size);
    if (!blank) return "a request begins with a method, an address and a version";
    const Span method = {line.data, (size_t)(blank - line.data)};
    const Span rest = {blank + 1, line.size - method.size - 1};
    const char *second = memchr(rest.data, ' ', rest.size);
    if (!second) return "a request begins with a method, an address and a version";
    const Span target = {rest.data, (size_t)(second - rest.data)};
    const Span version = {second + 1, rest.size - target.size - 1};
    if (!is_token(method)) return "the method has a byte that methods cannot have";
    if (target.size == 0 || !is_plain(target, false))
        return "the address has a byte that addresses cannot have";
    framing->old = version.size == 8 && memcmp(version.data, "HTTP/1.0", 8) == 0;
    if (!framing->old && !(version.size == 8 && memcmp(version.data, "HTTP/1.1", 8) == 0))
        return "the version is neither HTTP/1.1 nor HTTP/1.0";
    return NULL;
}

/* Reads the coding; chunked is the only known one, and unless it is the last one the body's end
 * cannot be found. */
static void read_encoding(HttpFraming *framing, Span value) {
    uint32_t chunked = 0, others = 0;
    bool last_is_chunked = false;
    for (Span rest = value; rest.data;) {
        const char *comma = memchr(rest.data, ',', rest.size);
        const size_t size = comma ? (size_t)(comma - rest.data) : rest.size;
        last_is_chunked = is_same(trim((Span){rest.data, size}), "chunked");
        chunked += last_is_chunked;
        others += !last_is_chunked;
        rest = comma ? (Span){comma + 1, rest.size - size - 1} : (Span){NULL, 0};
    }
    if (framing->old)
        refuse(framing, 400, "Transfer-Encoding in a request of HTTP/1.0");
    else if (framing->chunked || framing->has_length)
        refuse(framing, 400, "Content-Length and Transfer-Encoding: one of them, once");
    else if (!last_is_chunked || chunked > 1)
        refuse(framing, 400, "Transfer-Encoding: chunked must be the last coding, and there once");
    else if (others)
        refuse(framing, 501, "Transfer-Encoding: only chunked is taken here");
    framing->chunked = true;
}

static void read_length(HttpFraming *framing, Span value) {
    uint64_t length = 0;
    if (framing->chunked || framing->has_length) {
        refuse(framing, 400, "Content-Length and Transfer-Encoding: one of them, once");
        return;
    }
    for (size_t i = 0; i < value.size; i++) { /* a list of the same number is none either */
        if (value.data[i] < '0' || value.data[i] > '9') {
            refuse(framing, 400, "Content-Length is no number");
            return;
        }
        if (i < LENGTH_DIGITS_MAX) length = length * 10 + (uint64_t)(value.data[i] - '0');
    }
    if (value.size == 0) refuse(framing, 400, "Content-Length is no number");
    if (value.size > LENGTH_DIGITS_MAX) refuse(framing, 413, "Content-Length is too large");
    framing->has_length = true;
    framing->left = length;
}

static void read_host(HttpFraming *framing, Span value) {
    static const char others[] = "/?#@\\\"<>{}|^`, \t";
    for (size_t i = 0; i < value.size; i++)
        if (strchr(others, value.data[i]) || (uint8_t)value.data[i] > 0x7f) {
            refuse(framing, 400, "Host is no host");
            return;
        }
    if (framing->has_host) refuse(framing, 400, "Host is there twice");
    framing->has_host = true;
}

/* Reads a field of a head or a trailer. False: the field is refused. */
static bool read_field(HttpFraming *framing, Span line) {
    const char *colon = memchr(line.data, ':', line.size);
    if (*line.data == ' ' || *line.data == '\t') {
        refuse(framing, 400, "a header line begins with a blank");
        return false;
    }
    const Span name = {line.data, colon ? (size_t)(colon - line.data) : 0};
    if (!is_token(name)) {
        refuse(framing, 400, "a header line has no name, or a byte in it that none has");
        return false;
    }
    const Span value = trim((Span){colon + 1, line.size - name.size - 1});
    const bool length = is_same(name, "Content-Length"), host = is_same(name, "Host"),
               encoding = is_same(name, "Transfer-Encoding");
    if (!is_plain(value, true))
        refuse(framing, 400, "a header has a control character");
    else if (framing->state == HTTP_FRAMING_TRAILER) {
        if (length || encoding || host || framing->trailers++ >= HTTP_TRAILERS_MAX)
            refuse(framing, 400, "behind a body stands what belongs before it");
    } else if (length)
        read_length(framing, value);
    else if (encoding)
        read_encoding(framing, value);
    else if (host)
        read_host(framing, value);
    return framing->state != HTTP_FRAMING_REFUSED;
}

static void begin_request(HttpFraming *framing) {
    framing->state = HTTP_FRAMING_START;
    framing->empty_lines = framing->trailers = 0;
    framing->has_host = framing->has_length = framing->chunked = false;
    framing->left = 0;
}

static bool end_head(HttpFraming *framing) {
    if (!framing->old && !framing->has_host) {
        refuse(framing, 400, "Host is missing");
        return false;
    }
    if (framing->chunked)
        framing->state = HTTP_FRAMING_CHUNK_SIZE;
    else if (framing->left)
        framing->state = HTTP_FRAMING_BODY;
    else
        begin_request(framing);
    return true;
}

static bool read_chunk_size(HttpFraming *framing, Span line) {
    const char *semicolon = memchr(line.data, ';', line.size);
    const size_t digits = semicolon ? (size_t)(semicolon - line.data) : line.size;
    uint64_t size = 0;
    bool good = digits > 0 && digits <= CHUNK_DIGITS_MAX && is_plain(line, true);
    for (size_t i = 0; good && i < digits; i++) {
        static const char hex[] = "0123456789abcdef";
        const char *digit = strchr(hex, line.data[i] | 0x20);
        good = line.data[i] >= '0' && digit;
        if (good) size = size * 16 + (uint64_t)(digit - hex);
    }
    if (!good) {
        refuse(framing, 400, "a chunk's size is none");
        return false;
    }
    framing->left = size;
    framing->state = size ? HTTP_FRAMING_CHUNK : HTTP_FRAMING_TRAILER;
    return true;
}

static bool read_start(HttpFraming *framing, Span line) {
    if (line.size == 0) {
        if (framing->empty_lines++ < EMPTY_LINES_MAX) return true;
        refuse(framing, 400, "empty lines before a request");
        return false;
    }
    const char *why = read_first_line(framing, line);
    if (why) {
        refuse(framing, 400, why);
        return false;
    }
    framing->heads++;
    framing->state = HTTP_FRAMING_HEAD;
    return true;
}

/* Reads a line without its end. False: the line is refused. */
static bool read_line(HttpFraming *framing, Span line) {
    switch (framing->state) {
    case HTTP_FRAMING_START:
        return read_start(framing, line);
    case HTTP_FRAMING_HEAD:
        return line.size ? read_field(framing, line) : end_head(framing);
    case HTTP_FRAMING_CHUNK_SIZE:
        return read_chunk_size(framing, line);
    case HTTP_FRAMING_CHUNK_END:
        if (line.size) refuse(framing, 400, "a chunk is longer than its size");
        if (!line.size) framing->state = HTTP_FRAMING_CHUNK_SIZE;
        return !line.size;
    case HTTP_FRAMING_TRAILER:
        if (line.size) return read_field(framing, line);
        begin_request(framing);
        return true;
    case HTTP_FRAMING_BODY:
    case HTTP_FRAMING_CHUNK:
    case HTTP_FRAMING_REFUSED:
        break;
    }
    return false;
}

static size_t line_size_max(const HttpFraming *framing) {
    switch (framing->state) {
    case HTTP_FRAMING_CHUNK_SIZE:
        return HTTP_CHUNK_LINE_SIZE_MAX;
    case HTTP_FRAMING_CHUNK_END:
        return 2;
    case HTTP_FRAMING_START:
    case HTTP_FRAMING_HEAD:
    case HTTP_FRAMING_BODY:
    case HTTP_FRAMING_CHUNK:
    case HTTP_FRAMING_TRAILER:
    case HTTP_FRAMING_REFUSED:
        break;
    }
    return HTTP_LINE_SIZE_MAX;
}

/* Up to a line's end; answers how many bytes were looked at. */
static size_t add_to_line(HttpFraming *framing, const uint8_t *data, size_t size) {
    const uint8_t *end = memchr(data, '\n', size);
    const size_t count = end ? (size_t)(end - data) + 1 : size;
    if (framing->line.size + count > line_size_max(framing)) {
        refuse(framing, framing->state == HTTP_FRAMING_HEAD ? 431 : 400, "a line is too long");
        return size;
    }
    byte_write_bytes(&framing->line, data, count);
    Error *error = byte_writer_check(&framing->line);
    if (error) {
        error_free(error); /* reported as a lack of memory */
        refuse(framing, 507, "out of memory");
        return size;
    }
    if (!end) return count;
    const Span line = {(const char *)framing->line.data, framing->line.size};
    if (line.size < 2 || line.data[line.size - 2] != '\r')
        refuse(framing, 400, "a line ends without a carriage return");
    else if (read_line(framing, (Span){line.data, line.size - 2}))
        emit(framing, line.data, line.size);
    framing->line.size = 0;
    return count;
}

uint64_t http_framing_free_bytes(const HttpFraming *framing) {
    const bool body = framing->state == HTTP_FRAMING_BODY || framing->state == HTTP_FRAMING_CHUNK;
    return body ? framing->left : 0;
}

void http_framing_pass(HttpFraming *framing, uint64_t size) {
    framing->left -= size;
    if (framing->left) return;
    if (framing->state == HTTP_FRAMING_CHUNK)
        framing->state = HTTP_FRAMING_CHUNK_END;
    else
        begin_request(framing);
}

void http_framing_add(HttpFraming *framing, const uint8_t *data, size_t size) {
    while (size > 0 && framing->state != HTTP_FRAMING_REFUSED) {
        const uint64_t free_bytes = http_framing_free_bytes(framing);
        size_t count = free_bytes < size ? (size_t)free_bytes : size;
        if (count) {
            emit(framing, data, count);
            http_framing_pass(framing, count);
        } else
            count = add_to_line(framing, data, size);
        data += count;
        size -= count;
    }
}

size_t http_framing_take(HttpFraming *framing, uint8_t *out, size_t size) {
    const size_t left = framing->out.size - framing->out_at, count = left < size ? left : size;
    if (count) memcpy(out, framing->out.data + framing->out_at, count);
    framing->out_at += count;
    if (framing->out_at == framing->out.size) framing->out_at = framing->out.size = 0;
    return count;
}
