/* Compiles patterns to programs by recursive descent with bounded nesting. */
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "base/utf8.h"
#include "kernels/tensor/regex.h"
#include "kernels/tensor/regex_classes.h"
#include "kernels/tensor/regex_program.h"

enum { POINT_MAX = 0x10FFFF, REPEAT_WITHOUT_END = -1 };

typedef struct Flags {
    bool any_case, dot_takes_newline, lines;
} Flags;

typedef struct Parser {
    Regex *regex;
    const char *pattern;
    size_t at, size;
    Flags flags;
    uint32_t depth;
} Parser;

#define FAIL_HERE(parser, text) FAIL(INVALID, "pattern, byte %zu: %s", (parser)->at, text)

static bool is_at(const Parser *parser, const char *text) {
    size_t length = strlen(text);
    return parser->size - parser->at >= length &&
           memcmp(parser->pattern + parser->at, text, length) == 0;
}

static bool take(Parser *parser, const char *text) {
    if (!is_at(parser, text)) return false;
    parser->at += strlen(text);
    return true;
}

/* ---- the program ---- */

/* Room for `count` steps before step `at`. */
static Error *insert_steps(Regex *regex, size_t at, size_t count) {
    if (regex->step_count + count > REGEX_STEPS_MAX)
        FAIL(UNSUPPORTED, "a pattern of more than %d steps", REGEX_STEPS_MAX);
    for (size_t i = 0; i < count; i++) {
        void *array = regex->steps;
        TRY(memory_grow(&array, regex->step_count + i, &regex->step_capacity, sizeof(RegexStep)));
        regex->steps = array;
    }
    memmove(
        regex->steps + at + count, regex->steps + at, (regex->step_count - at) * sizeof(RegexStep));
    regex->step_count += count;
    return NULL;
}

static Error *add_step(Regex *regex, RegexOp op, int32_t x, int32_t y) {
    TRY(insert_steps(regex, regex->step_count, 1));
    regex->steps[regex->step_count - 1] = (RegexStep){op, x, y};
    return NULL;
}

static Error *put_split(Regex *regex, size_t at, size_t x, size_t y) {
    TRY(insert_steps(regex, at, 1));
    regex->steps[at] = (RegexStep){REGEX_SPLIT, (int32_t)x, (int32_t)y};
    return NULL;
}

static Error *add_range(Regex *regex, uint32_t first, uint32_t last) {
    void *array = regex->ranges;
    if (first > last) FAIL(INVALID, "pattern: a range that ends before it begins");
    TRY(memory_grow(&array, regex->range_count, &regex->range_capacity, sizeof(RegexRange)));
    regex->ranges = array;
    regex->ranges[regex->range_count++] = (RegexRange){first, last};
    return NULL;
}

/* A step for the ranges from `begin` on. */
static Error *add_set(Parser *parser, size_t begin, bool negated) {
    Regex *regex = parser->regex;
    void *array = regex->sets;
    TRY(memory_grow(&array, regex->set_count, &regex->set_capacity, sizeof(RegexSet)));
    regex->sets = array;
    regex->sets[regex->set_count++] =
        (RegexSet){(uint32_t)begin, (uint32_t)regex->range_count, negated, parser->flags.any_case};
    return add_step(regex, REGEX_SET, (int32_t)regex->set_count - 1, 0);
}

static Error *add_point(Parser *parser, uint32_t point) {
    size_t begin = parser->regex->range_count;
    TRY(add_range(parser->regex, point, point));
    return add_set(parser, begin, false);
}

/* ---- sets ---- */

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Reads the digits behind "\x": two digits, or any number in braces. */
static Error *read_hex(Parser *parser, uint32_t *out) {
    bool braces = take(parser, "{");
    uint32_t value = 0, digits = 0;
    while (parser->at < parser->size && (braces || digits < 2)) {
        int digit = hex_digit(parser->pattern[parser->at]);
        if (digit < 0 || value > POINT_MAX) break;
        value = value * 16 + (uint32_t)digit;
        parser->at++;
        digits++;
    }
    bool whole = braces ? digits > 0 && take(parser, "}") : digits == 2;
    if (!whole || value > POINT_MAX) FAIL_HERE(parser, "\\x is not followed by a code point");
    *out = value;
    return NULL;
}

/* Reads the letter or number behind a backslash that stands for one code point. */
static Error *read_escape(Parser *parser, uint32_t *out) {
    static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    if (parser->at == parser->size) FAIL_HERE(parser, "a backslash at the end");
    char letter = parser->pattern[parser->at];
    const char *found = strchr(letters, letter);
    if (letter == 'x') {
        parser->at++;
        return read_hex(parser, out);
    }
    if (letter == '0') {
        *out = 0;
        for (int i = 0; i < 3 && parser->at < parser->size; i++) {
            char digit = parser->pattern[parser->at];
            if (digit < '0' || digit > '7') break;
            *out = *out * 8 + (uint32_t)(digit - '0');
            parser->at++;
        }
        return NULL;
    }
    if (letter && found) {
        *out = (uint32_t)values[found - letters];
        parser->at++;
        return NULL;
    }
    if (letter == 'p' || letter == 'P') FAIL(UNSUPPORTED, "pattern: \\p, Unicode's classes");
    bool word = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                (letter >= 'a' && letter <= 'z');
    if (word) FAIL_HERE(parser, "a backslash before a letter or digit that means nothing there");
    *out = utf8_next(parser->pattern, &parser->at);
    return NULL;
}

/* Reads \d, [:alpha:] …. *out_found false: the pattern has no class here. */
static Error *read_class(Parser *parser, bool *out_found) {
    *out_found = false;
    for (uint32_t i = 0; regex_classes[i].name; i++) {
        if (!take(parser, regex_classes[i].name)) continue;
        *out_found = true;
        const RegexRange *ranges = regex_classes[i].ranges;
        uint32_t next = 0;
        for (uint32_t r = 0; r < regex_classes[i].range_count; r++) {
            if (!regex_classes[i].negated)
                TRY(add_range(parser->regex, ranges[r].first, ranges[r].last));
            else if (ranges[r].first > next)
                TRY(add_range(parser->regex, next, ranges[r].first - 1));
            next = ranges[r].last + 1;
        }
        return regex_classes[i].negated ? add_range(parser->regex, next, POINT_MAX) : NULL;
    }
    return NULL;
}

static Error *read_set_point(Parser *parser, uint32_t *out) {
    if (parser->at == parser->size) FAIL_HERE(parser, "] is missing");
    if (take(parser, "\\")) return read_escape(parser, out);
    *out = utf8_next(parser->pattern, &parser->at);
    return NULL;
}

/* Reads a set behind its "[". */
static Error *read_set(Parser *parser) {
    size_t begin = parser->regex->range_count;
    bool negated = take(parser, "^");
    for (bool first = true; first || !take(parser, "]"); first = false) {
        uint32_t from, to;
        bool found;
        TRY(read_class(parser, &found));
        if (found) continue;
        if (is_at(parser, "[:")) FAIL_HERE(parser, "a class that there is not");
        TRY(read_set_point(parser, &from));
        to = from;
        if (is_at(parser, "-") && !is_at(parser, "-]")) {
            parser->at++;
            TRY(read_set_point(parser, &to));
        }
        TRY(add_range(parser->regex, from, to));
    }
    return add_set(parser, begin, negated);
}

/* ---- expressions ---- */

static Error *read_alternatives(Parser *parser);

/* Reads the flags behind "(?"; they apply until the group ends. *out_group: a colon follows. */
static Error *read_flags(Parser *parser, bool *out_group) {
    bool value = true;
    *out_group = false;
    for (; parser->at < parser->size; parser->at++) {
        char letter = parser->pattern[parser->at];
        if (letter == 'i')
            parser->flags.any_case = value;
        else if (letter == 's')
            parser->flags.dot_takes_newline = value;
        else if (letter == 'm')
            parser->flags.lines = value;
        else if (letter == '-' && value)
            value = false;
        else if (letter != 'U') /* which of several matches is meant */
            break;
    }
    *out_group = is_at(parser, ":");
    if (!*out_group && !is_at(parser, ")")) FAIL_HERE(parser, "a group that there is not");
    parser->at++;
    return NULL;
}

/* Reads a group behind its "(". */
static Error *read_group(Parser *parser) {
    Flags outer = parser->flags;
    bool group = true;
    if (take(parser, "?P<") ||
        (!is_at(parser, "?<=") && !is_at(parser, "?<!") && take(parser, "?<"))) {
        while (parser->at < parser->size && !is_at(parser, ">")) parser->at++;
        if (!take(parser, ">")) FAIL_HERE(parser, "> is missing");
    } else if (take(parser, "?")) {
        TRY(read_flags(parser, &group));
        if (!group) return NULL;
    }
    if (++parser->depth > REGEX_NESTING_MAX)
        FAIL(UNSUPPORTED, "pattern: groups nested deeper than %d", REGEX_NESTING_MAX);
    TRY(read_alternatives(parser));
    parser->depth--;
    if (!take(parser, ")")) FAIL_HERE(parser, ") is missing");
    parser->flags = outer;
    return NULL;
}

static Error *read_backslash(Parser *parser) {
    static const struct {
        const char *letter;
        RegexPlace place;
    } places[] = {{"A", REGEX_TEXT_BEGIN}, {"z", REGEX_TEXT_END}, {"b", REGEX_WORD_EDGE},
        {"B", REGEX_NO_WORD_EDGE}};
    uint32_t point;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (take(parser, places[i].letter))
            return add_step(parser->regex, REGEX_ASSERT, (int32_t)places[i].place, 0);
    if (take(parser, "Q")) {
        while (parser->at < parser->size && !take(parser, "\\E"))
            TRY(add_point(parser, utf8_next(parser->pattern, &parser->at)));
        return NULL;
    }
    TRY(read_escape(parser, &point));
    return add_point(parser, point);
}

static Error *read_atom(Parser *parser) {
    size_t begin = parser->regex->range_count;
    bool found = false;
    const Flags *flags = &parser->flags;
    if (take(parser, "(")) return read_group(parser);
    if (take(parser, "[")) return read_set(parser);
    if (take(parser, "^"))
        return add_step(
            parser->regex, REGEX_ASSERT, flags->lines ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN, 0);
    if (take(parser, "$"))
        return add_step(
            parser->regex, REGEX_ASSERT, flags->lines ? REGEX_LINE_END : REGEX_TEXT_END, 0);
    if (take(parser, ".")) {
        if (!flags->dot_takes_newline) TRY(add_range(parser->regex, '\n', '\n'));
        return add_set(parser, begin, true);
    }
    if (is_at(parser, "\\")) TRY(read_class(parser, &found));
    if (found) return add_set(parser, begin, false);
    if (take(parser, "\\")) return read_backslash(parser);
    return add_point(parser, utf8_next(parser->pattern, &parser->at));
}

static bool read_number(Parser *parser, int64_t *out) {
    size_t start = parser->at;
    *out = 0;
    while (parser->at < parser->size && parser->pattern[parser->at] >= '0' &&
           parser->pattern[parser->at] <= '9') {
        if (*out <= REGEX_REPEAT_MAX) *out = *out * 10 + (parser->pattern[parser->at] - '0');
        parser->at++;
    }
    return parser->at > start;
}

/* Reads * + ? {n} {n,} {n,m}. A brace that begins none of these is an ordinary character. */
static bool read_repeat(Parser *parser, int64_t *out_least, int64_t *out_most) {
    size_t start = parser->at;
    *out_least = is_at(parser, "+");
    *out_most = is_at(parser, "?") ? 1 : REPEAT_WITHOUT_END;
    if (take(parser, "*") || take(parser, "+") || take(parser, "?")) return true;
    if (take(parser, "{") && read_number(parser, out_least)) {
        *out_most = *out_least;
        bool open = take(parser, ",");
        if (open && !read_number(parser, out_most)) *out_most = REPEAT_WITHOUT_END;
        if (take(parser, "}")) return true;
    }
    parser->at = start;
    return false;
}

static Error *add_copy(Regex *regex, size_t from, size_t count) {
    size_t to = regex->step_count;
    TRY(insert_steps(regex, to, count));
    memcpy(regex->steps + to, regex->steps + from, count * sizeof(RegexStep));
    return NULL;
}

/* Repeats the piece from `begin` on `least` to `most` times. Each optional copy, behind the
 * required ones, may jump to the end. */
static Error *repeat(Regex *regex, size_t begin, int64_t least, int64_t most) {
    size_t count = regex->step_count - begin;
    if (most == 0) {
        regex->step_count = begin;
        return NULL;
    }
    int64_t copies = most == REPEAT_WITHOUT_END ? (least ? least : 1) : most;
    for (int64_t i = 1; i < copies; i++) TRY(add_copy(regex, begin, count));
    if (most == REPEAT_WITHOUT_END && least > 0)
        return put_split(regex, regex->step_count, (size_t)(-(int64_t)count), 1);
    if (most == REPEAT_WITHOUT_END) {
        TRY(put_split(regex, begin, 1, count + 2));
        return add_step(regex, REGEX_JUMP, -(int32_t)count - 1, 0);
    }
    for (int64_t i = copies; i-- > least;) {
        size_t at = begin + (size_t)i * count;
        TRY(put_split(regex, at, 1, regex->step_count - at + 1));
    }
    return NULL;
}

static Error *read_piece(Parser *parser) {
    size_t begin = parser->regex->step_count, start = parser->at;
    int64_t least, most;
    if (read_repeat(parser, &least, &most)) {
        parser->at = start;
        FAIL_HERE(parser, "a repetition of nothing");
    }
    TRY(read_atom(parser));
    if (!read_repeat(parser, &least, &most)) return NULL;
    if (least > REGEX_REPEAT_MAX || most > REGEX_REPEAT_MAX ||
        (most != REPEAT_WITHOUT_END && most < least))
        FAIL_HERE(parser, "a repetition of more than 1000, or of less than least");
    (void)take(parser, "?"); /* lazy */
    int64_t again_least, again_most;
    if (read_repeat(parser, &again_least, &again_most))
        FAIL_HERE(parser, "a repetition of a repetition");
    return repeat(parser->regex, begin, least, most);
}

static Error *read_sequence(Parser *parser) {
    while (parser->at < parser->size && !is_at(parser, "|") && !is_at(parser, ")"))
        TRY(read_piece(parser));
    return NULL;
}

static Error *read_alternatives(Parser *parser) {
    Regex *regex = parser->regex;
    size_t begin = regex->step_count;
    TRY(read_sequence(parser));
    while (take(parser, "|")) {
        size_t count = regex->step_count - begin;
        TRY(put_split(regex, begin, 1, count + 2));
        size_t jump = regex->step_count;
        TRY(add_step(regex, REGEX_JUMP, 0, 0));
        TRY(read_sequence(parser));
        regex->steps[jump].x = (int32_t)(regex->step_count - jump);
    }
    return NULL;
}

Error *regex_create(const char *pattern, Regex **out) {
    void *memory;
    Parser parser = {.pattern = pattern, .size = strlen(pattern)};
    if (!text_is_utf8(pattern, parser.size)) FAIL(INVALID, "a pattern that is not UTF-8");
    TRY(memory_alloc(1, sizeof(Regex), &memory));
    OWN(Regex, regex) = memory;
    parser.regex = regex;
    TRY(read_alternatives(&parser));
    if (parser.at < parser.size) FAIL_HERE(&parser, ") without a group");
    TRY(add_step(regex, REGEX_MATCH, 0, 0));
    *out = TAKE(regex);
    return NULL;
}
