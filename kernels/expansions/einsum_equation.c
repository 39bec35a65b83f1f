#include "kernels/expansions/einsum_equation.h"

#include <string.h>

enum { TERM_LETTERS_MAX = SHAPE_RANK_MAX };

/* A term as written. */
typedef struct Written {
    uint32_t letter_count;
    uint8_t letters[TERM_LETTERS_MAX];
    bool has_ellipsis;
    uint32_t ellipsis_at; /* number of letters before the ellipsis */
    uint32_t begin;       /* position in the text */
} Written;

typedef struct Parser {
    const char *text;
    uint32_t at;
    uint32_t uses[EINSUM_LETTERS]; /* number of operands that have the letter */
} Parser;

char einsum_label_letter(uint8_t label) {
    if (label >= EINSUM_LETTERS) return '.';
    return (char)(label < 26 ? 'A' + label : 'a' + (label - 26));
}

static bool letter_label(char letter, uint8_t *out) {
    if (letter >= 'A' && letter <= 'Z')
        *out = (uint8_t)(letter - 'A');
    else if (letter >= 'a' && letter <= 'z')
        *out = (uint8_t)(letter - 'a' + 26);
    else
        return false;
    return true;
}

static char peek(Parser *parser) {
    while (parser->text[parser->at] == ' ') parser->at++;
    return parser->text[parser->at];
}

static MUST_CHECK Error *error_at(const Parser *parser, const char *what) {
    const char found = parser->text[parser->at];
    if (found >= ' ' && found <= '~')
        FAIL(INVALID, "equation: %s at position %u ('%c')", what, parser->at, found);
    FAIL(INVALID, "equation: %s at position %u", what, parser->at);
}

/* Parses letters and at most one ellipsis, up to ',', "->" or the end. */
static Error *parse_term(Parser *parser, Written *out) {
    Written term = {.begin = parser->at};
    for (char next = peek(parser); next && next != ',' && next != '-'; next = peek(parser)) {
        uint8_t label;
        if (strncmp(parser->text + parser->at, "...", 3) == 0) {
            if (term.has_ellipsis) return error_at(parser, "a second ellipsis in a term");
            term.has_ellipsis = true;
            term.ellipsis_at = term.letter_count;
            parser->at += 3;
            continue;
        }
        if (!letter_label(next, &label)) return error_at(parser, "no letter");
        if (term.letter_count == TERM_LETTERS_MAX)
            return error_at(parser, "a term of too many dimensions");
        term.letters[term.letter_count++] = label;
        parser->at++;
    }
    *out = term;
    return NULL;
}

/* Resolves a term to labels; the ellipsis stands for `ellipsis` dimensions. */
static Error *resolve(
    const Parser *parser, const Written *written, uint32_t ellipsis, EinsumTerm *out) {
    EinsumTerm term = {0};
    if (written->letter_count + (written->has_ellipsis ? ellipsis : 0) > SHAPE_RANK_MAX)
        FAIL(INVALID, "equation: the term at position %u has more than %d dimensions",
            written->begin, SHAPE_RANK_MAX);
    (void)parser;
    for (uint32_t i = 0; i <= written->letter_count; i++) {
        if (written->has_ellipsis && written->ellipsis_at == i)
            for (uint32_t d = ellipsis; d-- > 0;)
                term.labels[term.rank++] = (uint8_t)(EINSUM_LETTERS + d);
        if (i < written->letter_count) term.labels[term.rank++] = written->letters[i];
    }
    *out = term;
    return NULL;
}

static Error *parse_operand(
    Parser *parser, uint32_t rank, uint32_t index, uint32_t *inout_ellipsis, EinsumTerm *out) {
    Written written;
    TRY(parse_term(parser, &written));
    if (written.letter_count > rank || (!written.has_ellipsis && written.letter_count < rank))
        FAIL(INVALID, "equation: the term at position %u has %u letters, operand %u has rank %u",
            written.begin, written.letter_count, index, rank);
    const uint32_t ellipsis = rank - written.letter_count;
    if (written.has_ellipsis && ellipsis > *inout_ellipsis) *inout_ellipsis = ellipsis;
    for (uint32_t i = 0; i < written.letter_count; i++) parser->uses[written.letters[i]]++;
    return resolve(parser, &written, ellipsis, out);
}

/* The implied result: the ellipsis, then the letters that occur once, in the order of their
 * codes. */
static void imply_result(const Parser *parser, Written *out) {
    *out = (Written){.has_ellipsis = true};
    for (uint8_t label = 0; label < EINSUM_LETTERS; label++)
        if (parser->uses[label] == 1 && out->letter_count < TERM_LETTERS_MAX)
            out->letters[out->letter_count++] = label;
}

static Error *check_result(const Parser *parser, const Written *result) {
    uint32_t seen[EINSUM_LETTERS] = {0};
    for (uint32_t i = 0; i < result->letter_count; i++) {
        const uint8_t label = result->letters[i];
        if (parser->uses[label] == 0)
            FAIL(INVALID, "equation: '%c' of the result is in no operand",
                einsum_label_letter(label));
        if (seen[label]++)
            FAIL(INVALID, "equation: '%c' twice in the result", einsum_label_letter(label));
    }
    return NULL;
}

static uint32_t single_letters(const Parser *parser) {
    uint32_t count = 0;
    for (uint8_t label = 0; label < EINSUM_LETTERS; label++) count += parser->uses[label] == 1;
    return count;
}

static Error *parse_result(Parser *parser, uint32_t ellipsis, EinsumTerm *out) {
    Written result;
    if (peek(parser) == '\0') {
        if (single_letters(parser) > TERM_LETTERS_MAX)
            FAIL(INVALID, "equation: a result of %u dimensions", single_letters(parser));
        imply_result(parser, &result);
        return resolve(parser, &result, ellipsis, out);
    }
    if (strncmp(parser->text + parser->at, "->", 2) != 0)
        return error_at(parser, "neither \",\" nor \"->\"");
    parser->at += 2;
    TRY(parse_term(parser, &result));
    if (peek(parser) != '\0') return error_at(parser, "something behind the result");
    if (ellipsis > 0 && !result.has_ellipsis)
        FAIL(INVALID, "equation: the result lacks the ellipsis of the operands");
    TRY(check_result(parser, &result));
    return resolve(parser, &result, ellipsis, out);
}

Error *einsum_equation_parse(
    const char *text, const uint32_t *ranks, uint32_t operand_count, EinsumEquation *out) {
    Parser parser = {.text = text};
    EinsumEquation equation = {.operand_count = operand_count};
    uint32_t ellipsis = 0;
    if (operand_count > EINSUM_OPERANDS_MAX)
        FAIL(UNSUPPORTED, "%u operands, more than %d", operand_count, EINSUM_OPERANDS_MAX);
    for (uint32_t i = 0; i < operand_count; i++) {
        if (i > 0 && peek(&parser) != ',') return error_at(&parser, "a term is missing");
        if (i > 0) parser.at++;
        TRY(parse_operand(&parser, ranks[i], i, &ellipsis, &equation.operands[i]));
    }
    if (peek(&parser) == ',') return error_at(&parser, "more terms than operands");
    TRY(parse_result(&parser, ellipsis, &equation.result));
    *out = equation;
    return NULL;
}
