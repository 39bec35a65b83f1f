#include "compiler/nnvm/nnvm_params.h"

#include "base/allocator.h"
#include "base/bytes.h"
#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

/* A list of MXNet's: a float32 tensor [2] "arg:w" in each of the forms, told by its name. */
static void write_list(ByteWriter *out) {
    byte_write_u64(out, 0x112);
    byte_write_u64(out, 0);
    byte_write_u64(out, 3);
    for (uint32_t form = 0; form < 3; form++) {
        if (form > 0) byte_write_u32(out, form == 1 ? 0xF993FAC8 : 0xF993FAC9);
        if (form == 2) byte_write_u32(out, 0);
        byte_write_u32(out, 1);
        if (form > 0)
            byte_write_i64(out, 2);
        else
            byte_write_u32(out, 2);
        byte_write_u64(out, 1);
        byte_write_u32(out, 0);
        byte_write_u32(out, form);
        byte_write_u32(out, 7);
    }
    static const char *const names[] = {"arg:a", "aux:b", "c"};
    byte_write_u64(out, 3);
    for (uint32_t i = 0; i < 3; i++) {
        byte_write_u64(out, strlen(names[i]));
        byte_write_bytes(out, names[i], strlen(names[i]));
    }
    assert_ok(byte_writer_check(out));
}

static void test_nnvm_params_reads_every_form_of_mxnets_tensors(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    ByteWriter OWN_BYTES(list) = {0};
    OWN(NnvmParams, params) = NULL;
    write_list(&list);
    assert_ok(nnvm_params_read(list.data, list.size, &params));
    assert_int_equal(params->count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const NnvmParam *param = nnvm_params_find(params, names[i]);
        assert_non_null(param);
        const uint32_t *words = tensor_data(param->tensor);
        assert_int_equal(words[0], i);
        assert_int_equal(words[1], 7);
    }
    assert_int_equal(nnvm_params_dtype(12), DTYPE_BFLOAT16);
    assert_int_equal(nnvm_params_dtype(99), DTYPE_NONE);
}

/* Every truncation, and every bit flipped: refused or read, and nothing else. */
static void test_nnvm_params_refuses_damaged_bytes(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(list) = {0};
    void *memory;
    write_list(&list);
    for (size_t size = 0; size < list.size; size++) {
        NnvmParams *params = NULL;
        assert_ok(memory_alloc(size + 1, 1, &memory));
        memcpy(memory, list.data, size);
        assert_fails(CORRUPT, nnvm_params_read(memory, size, &params));
        assert_null(params);
        memory_free(memory);
    }
    for (size_t bit = 0; bit < 8 * list.size; bit++) {
        OWN(NnvmParams, params) = NULL;
        list.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        error_free(nnvm_params_read(list.data, list.size, &params)); /* some flips are values */
        list.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void test_nnvm_params_refuses_hostile_counts(void **state) {
    (void)state;
    static const uint64_t words[] = {0x112, 0, UINT64_MAX};
    static const uint64_t others[] = {UINT64_C(0xF7E58D4F05049CB7), 0, 1, UINT64_MAX, 0};
    NnvmParams *params = NULL;
    assert_fails_saying(CORRUPT, "18446744073709551615 tensors in the 0 bytes that are left",
        nnvm_params_read((const uint8_t *)words, sizeof words, &params));
    assert_fails_saying(CORRUPT, "18446744073709551615 bytes of a name in the 8 bytes",
        nnvm_params_read((const uint8_t *)others, sizeof others, &params));
    assert_fails_saying(CORRUPT, "begins with ffffffffffffffff",
        nnvm_params_read((const uint8_t *)&words[2], 8, &params));
}

static void test_nnvm_params_reads_those_inside_a_library(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(list) = {0};
    ByteWriter OWN_BYTES(inner) = {0};
    NnvmParams *params = NULL;
    nnvm_write_params("w", 3, &list);
    byte_write_u64(&inner, 1);
    byte_write_bytes(&inner, list.data + 16, 8 + 9); /* the count of names, and the name */
    byte_write_bytes(&inner, list.data + 16 + 8 + 9 + 8, list.size - 16 - 8 - 9 - 8);
    const size_t size = inner.size;
    byte_write_u64(&inner, 7); /* something else */
    assert_ok(byte_writer_check(&inner));
    assert_ok(nnvm_params_read_inner(inner.data, inner.size, &params));
    assert_int_equal(nnvm_params_find(params, "w")->tensor->shape.dims[0], 3);
    nnvm_params_release(params);
    for (size_t i = 0; i < size; i++)
        assert_fails(CORRUPT, nnvm_params_read_inner(inner.data, i, &params));
    inner.data[0] = 2;
    assert_fails_saying(
        CORRUPT, "2 params in the", nnvm_params_read_inner(inner.data, inner.size, &params));
}

int test_nnvm_params(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_params_reads_those_inside_a_library),
        cmocka_unit_test(test_nnvm_params_reads_every_form_of_mxnets_tensors),
        cmocka_unit_test(test_nnvm_params_refuses_damaged_bytes),
        cmocka_unit_test(test_nnvm_params_refuses_hostile_counts),
    };
    return cmocka_run_group_tests_name("nnvm_params", tests, NULL, NULL);
}
