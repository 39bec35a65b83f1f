#include "kernels/plugin/device_layout.h"

#include "tests/support/test_support.h"

typedef struct Row {
    const char *type, *member;
    size_t type_size, type_alignment, offset, size, alignment;
} Row;

static const Row rows[] = {
#define FIELD(type, member)                                                                        \
    {#type, #member, sizeof(type), _Alignof(type), offsetof(type, member),                         \
        sizeof(((type *)0)->member), _Alignof(__typeof__(((type *)0)->member))},
#include "kernels/plugin/device_layout.def"
#undef FIELD
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* A member that was added to a structure and not to the table leaves a hole that its neighbours'
 * alignment does not explain. */
static void test_device_layout_names_every_member(void **state) {
    (void)state;
    size_t end = 0;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const Row *row = &rows[i], *next = i + 1 < ROW_COUNT ? row + 1 : NULL;
        bool ends = !next || strcmp(next->type, row->type) != 0;
        if (row->offset < end || row->offset - end >= row->alignment)
            fail_msg("%s: something stands before %s", row->type, row->member);
        end = row->offset + row->size;
        if (!ends) continue;
        if (row->type_size - end >= row->type_alignment)
            fail_msg("%s: something stands behind %s", row->type, row->member);
        end = 0;
    }
}

static void test_device_layout_names_every_member_once(void **state) {
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++)
        for (size_t j = 0; j < i; j++)
            assert_false(strcmp(rows[i].type, rows[j].type) == 0 &&
                         strcmp(rows[i].member, rows[j].member) == 0);
}

/* What a host reads of a table before it knows whether it understands the rest. */
static void test_device_layout_begins_with_what_is_compared(void **state) {
    (void)state;
    assert_int_equal(offsetof(DeviceClass, abi_version), 0);
    assert_int_equal(offsetof(DeviceClass, layout), sizeof(uint32_t));
    assert_true(DEVICE_LAYOUT > 0);
}

static uint64_t mixed(uint32_t offset, uint32_t size) {
    return DEVICE_LAYOUT_MIX(DEVICE_LAYOUT_WORD(offset, size));
}

/* What the constant keeps of the sum is never the same for another offset or size of one row. */
static void test_device_layout_changes_with_every_bit(void **state) {
    (void)state;
    for (uint32_t offset = 0; offset < 512; offset += 8)
        for (uint32_t bit = 0; bit < 16; bit++) {
            const uint64_t here = mixed(offset, 8);
            const uint64_t moved = here - mixed(offset ^ 1U << bit, 8);
            const uint64_t resized = here - mixed(offset, 8 ^ 1U << bit);
            assert_in_range(moved >> 34, 1, (UINT64_MAX >> 34) - 1);
            assert_in_range(resized >> 34, 1, (UINT64_MAX >> 34) - 1);
        }
}

int test_device_layout(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_layout_names_every_member),
        cmocka_unit_test(test_device_layout_names_every_member_once),
        cmocka_unit_test(test_device_layout_begins_with_what_is_compared),
        cmocka_unit_test(test_device_layout_changes_with_every_bit),
    };
    return cmocka_run_group_tests_name("device_layout", tests, NULL, NULL);
}
