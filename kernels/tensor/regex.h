#pragma once
/* Regular expressions in RE2's language, matched in time proportional to text and pattern: a
 * nondeterministic automaton whose states are followed at once, so that no pattern is catastrophic.
 * Called by the shape rules (to check patterns) and the kernels of RegexFullMatch and Tokenizer. A
 * Regex does not change after it was made.
 *
 * Supported: literals, . [..] [^..] [[:alpha:]], \d \D \s \S \w \W, \t \n \v \f \r \a, \x41
 * \x{10FFFF}, \Q..\E, (..) (?:..) (?P<name>..) (?<name>..), (?i) (?s) (?m) (?U) and their groups, |
 * * + ? {n} {n,} {n,m} and their lazy forms, ^ $ \A \z \b \B. Text is UTF-8. Only full and longest
 * matches are needed, so greedy and lazy are the same. Not supported: \p{..},
 * \C, backreferences and lookaround (RE2 has none of the last two either). */
#include <stdbool.h>
#include <stddef.h>

#include "kernels/device/kernel_stop.h"

typedef struct Regex Regex;
enum { REGEX_STEPS_MAX = 1 << 14, REGEX_REPEAT_MAX = 1000, REGEX_NESTING_MAX = 200 };

/* Errors: INVALID not a pattern; UNSUPPORTED; both name the place. */
MUST_CHECK Error *regex_create(const char *pattern, Regex **out);
void regex_release(Regex *regex);
DEFINE_OWN(Regex, regex_release);
/* Makes the table with which regex_search takes one step for each character. Called once, before
 * threads share the pattern, by kernels that search many texts. A pattern whose table would be
 * large has none: the search gives the same matches, slower. */
MUST_CHECK Error *regex_make_table(Regex *regex);
/* Bytes of scratch memory for regex_matches, aligned to 8. */
size_t regex_scratch_size(const Regex *regex);
/* Whether the whole text matches; undefined when the kernel is to stop. Any number of threads, each
 * with its own scratch. */
bool regex_matches(const Regex *regex, const char *text, size_t size, void *scratch);
/* Bytes of scratch memory for regex_search, aligned to 8. */
size_t regex_search_scratch_size(const Regex *regex);
/* Finds the match that begins first from byte `from` on; of those that begin there the longest one.
 * Returns false where there is none, or when the kernel is to stop. meter: the caller's, which
 * counts over many short searches. */
bool regex_search(const Regex *regex, const char *text, size_t size, size_t from, void *scratch,
    KernelStopMeter *meter, size_t *out_begin, size_t *out_end);
