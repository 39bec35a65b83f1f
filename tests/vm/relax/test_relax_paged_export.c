#include "tests/vm/relax/relax_paged_fixture.h"
#include "base/text.h"
#include "vm/objects/string_object.h"

static Value metadata_of(Value cache) {
    return relax_call("vm.builtin.attention_kv_cache_get_checkpoint_metadata",
        RELAX_ARGUMENTS(value_copy(cache), value_int(0)));
}

static void test_relax_paged_export_refuses_changed_metadata(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 0, 5);
    Value cache = paged_value(paged), text = metadata_of(cache);
    static const char *const changes[][2] = {{"\"page_size\":2", "\"page_size\":3"},
        {"\"seq_length\":5", "\"seq_length\":6"}, {"\"seq_length\":5", "\"seq_length\":-1"},
        {"\"seq_length\":5", "\"seq_length\":1e9"}, {"\"length\":1", "\"length\":2"},
        {"\"mha\"", "\"mla\""}, {"\"nbytes\":96", "\"nbytes\":97"},
        {"\"num_total_pages\":8", "\"num_total_pages\":2"}, {"\"shape\":[1", "\"shape\":[2"},
        {"\"rotary_theta\":10000.0", "\"rotary_theta\":10001.0"},
        {"\"has_rope_ext_factors\":false", "\"has_rope_ext_factors\":null"},
        {"\"dtype\":\"float32\"", "\"dtype\":\"float16\""}, {"\"groups\"", "\"grupps\""},
        {"\"layout_hash\":\"", "\"layout_hash\":\"0"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        TextBuilder OWN_TEXT(changed) = {0};
        const char *from = text.string->text, *at = strstr(from, changes[i][0]);
        assert_non_null(at);
        text_append_bytes(&changed, from, (size_t)(at - from));
        text_append(&changed, changes[i][1]);
        text_append(&changed, at + strlen(changes[i][0]));
        relax_refuses("", "vm.builtin.attention_kv_cache_prepare_import",
            RELAX_ARGUMENTS(
                value_copy(cache), value_int(0), relax_string(text_builder_get(&changed))));
        assert_int_equal(paged->free_count, 5); /* nothing happened */
    }
    value_release(&text);
    value_release(&cache);
}

static void test_relax_paged_export_waits_for_all_groups(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 0, 3);
    Value cache = paged_value(paged), text = metadata_of(cache);
    Value nothing = relax_call("vm.builtin.attention_kv_cache_prepare_import",
        RELAX_ARGUMENTS(value_copy(cache), value_int(0), text));
    assert_int_equal(nothing.tag, VALUE_NIL);
    relax_refuses("group 0 is missing", "vm.builtin.attention_kv_cache_finish_import",
        RELAX_ARGUMENTS(value_copy(cache), value_int(0)));
    relax_refuses("an import is not finished", "vm.builtin.attention_kv_cache_get_sequence_length",
        RELAX_ARGUMENTS(value_copy(cache), value_int(0)));
    relax_refuses("an import is not finished", "vm.builtin.kv_state_begin_forward",
        RELAX_ARGUMENTS(
            value_copy(cache), relax_shape(1, (int64_t[]){0}), relax_shape(1, (int64_t[]){1})));
    static const float pages[16] = {1};
    const int64_t dims[] = {1, 2, 2, 1, 2, 2};
    nothing = relax_call("vm.builtin.attention_kv_cache_import_page_group",
        RELAX_ARGUMENTS(
            value_copy(cache), value_int(0), value_int(0), relax_floats(6, dims, pages)));
    relax_refuses("group 0 was imported already", "vm.builtin.attention_kv_cache_import_page_group",
        RELAX_ARGUMENTS(
            value_copy(cache), value_int(0), value_int(0), relax_floats(6, dims, pages)));
    nothing = relax_call("vm.builtin.attention_kv_cache_finish_import",
        RELAX_ARGUMENTS(value_copy(cache), value_int(0)));
    relax_refuses("no import has been prepared", "vm.builtin.attention_kv_cache_finish_import",
        RELAX_ARGUMENTS(cache, value_int(0)));
}

int test_relax_paged_export(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_export_refuses_changed_metadata),
        cmocka_unit_test(test_relax_paged_export_waits_for_all_groups),
    };
    return cmocka_run_group_tests_name("relax_paged_export", tests, NULL, NULL);
}
