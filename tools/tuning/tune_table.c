#include "tools/tuning/tune_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void tune_table_of_program(TuneTable *out) {
    out->version = CPU_RULES_VERSION;
    for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++)
        memcpy(out->values[rule], cpu_rule_info(rule)->values, sizeof out->values[rule]);
}

/* The text behind `word` if the line begins with `word`, or NULL. */
static const char *begins(const char *line, const char *word) {
    return text_starts_with(line, word) ? line + strlen(word) : NULL;
}

/* Reads a number and moves *inout_at behind it. */
static Error *read_number(const char **inout_at, int64_t *out) {
    char *end;
    const char *at = *inout_at;
    while (*at == ' ') at++;
    if (!isdigit((unsigned char)*at)) FAIL(INVALID, "no number at \"%.20s\"", at);
    *out = strtoll(at, &end, 10);
    *inout_at = end;
    return NULL;
}

static Error *find_rule(const char *name, size_t size, CpuRule *out) {
    for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++) {
        const char *known = cpu_rule_info(rule)->name;
        if (strlen(known) != size || strncmp(known, name, size) != 0) continue;
        *out = rule;
        return NULL;
    }
    FAIL(INVALID, "no rule %.*s in this build", (int)size, name);
}

/* Rewrites a row from behind "CPU_RULE(" to the first comma behind the values. */
static Error *write_row(const TuneTable *table, const char **inout_at, bool *inout_changed,
    bool seen[CPU_RULE_COUNT], TextBuilder *out) {
    const char *at = *inout_at;
    const size_t size = strcspn(at, ",\n");
    CpuRule rule;
    TRY(find_rule(at, size, &rule));
    if (seen[rule]) FAIL(INVALID, "rule %.*s twice", (int)size, at);
    seen[rule] = true;
    text_append_bytes(out, at, size);
    at += size;
    for (int level = 0; level < CPU_LEVEL_COUNT; level++) {
        int64_t value;
        if (*at != ',') FAIL(INVALID, "rule %s: too few values", cpu_rule_info(rule)->name);
        at++;
        TRY_WRAP(read_number(&at, &value), "rule %s", cpu_rule_info(rule)->name);
        text_appendf(out, ", %lld", (long long)table->values[rule][level]);
        if (value != table->values[rule][level]) *inout_changed = true;
    }
    *inout_at = at;
    return NULL;
}

/* Writes the rows first: the version, which stands before them in the file, is raised if a row has
 * changed. */
static Error *write_rows(
    const char *text, const TuneTable *table, bool raise, bool *out_changed, TextBuilder *out) {
    bool seen[CPU_RULE_COUNT] = {false};
    uint32_t versions = 0;
    *out_changed = false;
    for (const char *line = text; *line;) {
        const char *at = begins(line, "CPU_RULE("), *version = begins(line, "CPU_RULES(");
        const char *rest = line;
        if (at) {
            text_append(out, "CPU_RULE(");
            TRY(write_row(table, &at, out_changed, seen, out));
            rest = at;
        } else if (version) {
            int64_t number;
            TRY(read_number(&version, &number));
            text_appendf(out, "CPU_RULES(%lld", (long long)number + raise);
            versions++;
            rest = version;
        }
        const size_t size = strcspn(rest, "\n");
        text_append_bytes(out, rest, size);
        line = rest + size;
        if (*line == '\n') text_append_bytes(out, line++, 1);
    }
    if (versions != 1) FAIL(INVALID, "%u rows CPU_RULES, not one", versions);
    for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++)
        if (!seen[rule]) FAIL(INVALID, "no row for rule %s", cpu_rule_info(rule)->name);
    return text_builder_check(out);
}

Error *tune_table_write(const char *text, const TuneTable *table, TextBuilder *out) {
    bool changed;
    TextBuilder OWN_TEXT(dry) = {0};
    TRY(write_rows(text, table, false, &changed, &dry));
    return write_rows(text, table, changed, &changed, out);
}
