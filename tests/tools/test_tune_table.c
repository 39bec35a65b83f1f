#include "tools/tuning/tune_table.h"

#include "base/allocator.h"
#include "base/file.h"
#include "tests/support/test_support.h"

/* The table as it stands among the sources. */
static void read_source(TextBuilder *out) {
    uint8_t *data;
    size_t size;
    assert_ok(file_read(RULES_SOURCE, 1 << 20, &data, &size));
    text_append_bytes(out, (const char *)data, size);
    memory_unmap(data, size);
    assert_ok(text_builder_check(out));
}

static void test_tune_table_without_new_values_is_the_same_text(void **state) {
    (void)state;
    TuneTable table;
    TextBuilder OWN_TEXT(source) = {0};
    TextBuilder OWN_TEXT(written) = {0};
    read_source(&source);
    tune_table_of_program(&table);
    assert_ok(tune_table_write(text_builder_get(&source), &table, &written));
    assert_string_equal(text_builder_get(&source), text_builder_get(&written));
}

static void test_tune_table_changes_a_value_and_the_version_alone(void **state) {
    (void)state;
    TuneTable table;
    TextBuilder OWN_TEXT(source) = {0};
    TextBuilder OWN_TEXT(written) = {0};
    TextBuilder OWN_TEXT(expected) = {0};
    TextBuilder OWN_TEXT(old_row) = {0};
    read_source(&source);
    tune_table_of_program(&table);
    const CpuRule last = CPU_RULE_COUNT - 1;
    const int64_t *values = table.values[last];
    text_appendf(&old_row, "\nCPU_RULE(%s, %lld, %lld, %lld,", cpu_rule_info(last)->name,
        (long long)values[0], (long long)values[1], (long long)values[2]);
    const char *text = text_builder_get(&source);
    const char *version = strstr(text, "\nCPU_RULES("),
               *row = strstr(text, text_builder_get(&old_row));
    assert_non_null(version);
    assert_non_null(row);
    text_append_bytes(&expected, text, (size_t)(version - text));
    text_appendf(&expected, "\nCPU_RULES(%d)", CPU_RULES_VERSION + 1);
    const char *rest = strchr(version, ')') + 1;
    text_append_bytes(&expected, rest, (size_t)(row - rest));
    text_appendf(&expected, "\nCPU_RULE(%s, %lld, 77, %lld,", cpu_rule_info(last)->name,
        (long long)values[0], (long long)values[2]);
    text_append(&expected, row + old_row.size);
    table.values[last][1] = 77;
    assert_ok(tune_table_write(text, &table, &written));
    assert_string_equal(text_builder_get(&expected), text_builder_get(&written));
}

static void test_tune_table_refuses_another_table(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "0 rows CPU_RULES, not one"},
        {"CPU_RULES(1)\n", "no row for rule "},
        {"CPU_RULES(1)\nCPU_RULE(NO_SUCH, 1, 2, 3, \"\", \"\")\n", "no rule NO_SUCH in this build"},
        {"CPU_RULES(1)\nCPU_RULE(PANELS_COLUMNS_MIN, 1, 2)\n",
            "PANELS_COLUMNS_MIN: too few values"},
        {"CPU_RULES(1)\nCPU_RULE(PANELS_COLUMNS_MIN, 1, x, 2)\n", "no number at \"x, 2)"},
        {"CPU_RULES(one)\n", "no number at \"one)"},
        {"CPU_RULES(1)\nCPU_RULES(1)\n", "2 rows CPU_RULES, not one"},
        {"CPU_RULE(PANELS_COLUMNS_MIN, 1, 2, 3)\nCPU_RULE(PANELS_COLUMNS_MIN, 1, 2, 3)\n",
            "rule PANELS_COLUMNS_MIN twice"},
    };
    TuneTable table;
    tune_table_of_program(&table);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TextBuilder OWN_TEXT(written) = {0};
        assert_fails_saying(
            INVALID, rows[i].message, tune_table_write(rows[i].text, &table, &written));
    }
}

int test_tune_table(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tune_table_without_new_values_is_the_same_text),
        cmocka_unit_test(test_tune_table_changes_a_value_and_the_version_alone),
        cmocka_unit_test(test_tune_table_refuses_another_table),
    };
    return cmocka_run_group_tests_name("tune_table", tests, NULL, NULL);
}
