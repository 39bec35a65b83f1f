#include "compiler/frontend/base/onnx_external.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/frontend/base/onnx_tensor.h"
#include "kernels/device/device.h"
#include "tests/compiler/onnx_run.h"

/* outside/ secret; model/ data.bin, below/data.bin */
typedef struct Folders {
    char root[64];
    OnnxFolder model;
} Folders;

static const char content[] = "0123456789abcdef";

static void path_in(const Folders *folders, const char *name, char out[256]) {
    (void)snprintf(out, 256, "%s/%s", folders->root, name);
}

static void write_content(const Folders *folders, const char *name) {
    char path[256];
    path_in(folders, name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, sizeof content - 1, file), sizeof content - 1);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const Folders *folders, const char *name) {
    char path[256];
    path_in(folders, name, path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int setup(void **state) {
    Folders *folders = calloc(1, sizeof *folders);
    char path[256];
    assert_non_null(folders);
    test_folder_create(folders->root);
    make_folder(folders, "outside");
    make_folder(folders, "model");
    make_folder(folders, "model/below");
    write_content(folders, "outside/secret");
    write_content(folders, "model/data.bin");
    write_content(folders, "model/below/data.bin");
    path_in(folders, "model", path);
    folders->model.descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folders->model.descriptor >= 0);
    *state = folders;
    return 0;
}

static int teardown(void **state) {
    static const char *const left[] = {"model/below/data.bin", "model/below", "model/data.bin",
        "model/link", "model/hard", "model/pipe", "model/way", "model", "outside/secret",
        "outside"};
    Folders *folders = *state;
    (void)close(folders->model.descriptor);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        char path[256];
        path_in(folders, left[i], path);
        (void)remove(path);
    }
    test_folder_remove(folders->root);
    free(folders);
    return 0;
}

static void add_entry(OnnxTensor *proto, const char *key, const char *value) {
    Onnx__StringStringEntryProto *entry = calloc(1, sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = onnx_text(key);
    entry->value = onnx_text(value);
    proto->external_data =
        realloc(proto->external_data, (proto->n_external_data + 1) * sizeof entry);
    proto->external_data[proto->n_external_data++] = entry;
}

/* offset, length: NULL where not given. */
static OnnxTensor *external(
    const char *type, const char *location, const char *offset, const char *length) {
    OnnxTensor *proto = onnx_tensor_make("t", type);
    proto->has_data_location = 1;
    proto->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    if (location) add_entry(proto, "location", location);
    if (offset) add_entry(proto, "offset", offset);
    if (length) add_entry(proto, "length", length);
    return proto;
}

static Error *read_tensor(OnnxTensor *owned_proto, const OnnxFolder *folder, Tensor **out) {
    Error *error = onnx_tensor_read(owned_proto, folder, device_host(), out);
    onnx__tensor_proto__free_unpacked(owned_proto, NULL);
    return error;
}

#define refused(CODE, message, owned_proto)                                                        \
    do {                                                                                           \
        OWN(Tensor, unmade) = NULL;                                                                \
        const Folders *at = *state;                                                                \
        assert_fails_saying(CODE, message, read_tensor(owned_proto, &at->model, &unmade));         \
        assert_null(unmade);                                                                       \
    } while (0)

static void test_onnx_external_reads_files_beside_and_below_the_model(void **state) {
    static const struct {
        const char *type, *location, *offset, *length, *bytes;
    } rows[] = {
        {"uint8[16]", "data.bin", NULL, NULL, "0123456789abcdef"},
        {"uint8[2,2]", "below/data.bin", "4", "4", "4567"},
        {"int32[1]", "data.bin", "12", NULL, "cdef"},
        {"uint8[4]", "./below//./data.bin", "0", "4", "0123"},
    };
    const Folders *folders = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWN(Tensor, tensor) = NULL;
        OnnxTensor *proto =
            external(rows[i].type, rows[i].location, rows[i].offset, rows[i].length);
        add_entry(proto, "checksum", "not looked at");
        assert_ok(read_tensor(proto, &folders->model, &tensor));
        assert_int_equal(tensor_bytes(tensor), strlen(rows[i].bytes));
        assert_memory_equal(tensor_data(tensor), rows[i].bytes, strlen(rows[i].bytes));
    }
}

static void test_onnx_external_refuses_paths_out_of_the_folder(void **state) {
    static const char *const locations[] = {"/etc/passwd", "..", "../outside/secret",
        "below/../../outside/secret", "below/../data.bin", "/"};
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++)
        refused(
            INVALID, "outside the model's folder", external("uint8[4]", locations[i], NULL, NULL));
    refused(INVALID, "not a regular file", external("uint8[4]", "below/", NULL, NULL));
    refused(INVALID, "not a regular file", external("uint8[4]", ".", NULL, NULL));
}

static void test_onnx_external_refuses_symbolic_links(void **state) {
    const Folders *folders = *state;
    char path[256];
    path_in(folders, "model/link", path);
    assert_int_equal(symlink("data.bin", path), 0);
    refused(INVALID, "symbolic link", external("uint8[4]", "link", NULL, NULL));
    path_in(folders, "model/way", path);
    assert_int_equal(symlink("../outside", path), 0);
    refused(INVALID, "symbolic link", external("uint8[4]", "way/secret", NULL, NULL));
    refused(INVALID, "a file", external("uint8[4]", "data.bin/more", NULL, NULL));
}

static void test_onnx_external_refuses_hard_links(void **state) {
    const Folders *folders = *state;
    char from[256], path[256];
    path_in(folders, "outside/secret", from);
    path_in(folders, "model/hard", path);
    assert_int_equal(link(from, path), 0);
    refused(INVALID, "more than one hard link", external("uint8[4]", "hard", NULL, NULL));
}

/* And does not wait for a writer. */
static void test_onnx_external_refuses_what_is_no_file(void **state) {
    const Folders *folders = *state;
    char path[256];
    path_in(folders, "model/pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(INVALID, "not a regular file", external("uint8[4]", "pipe", NULL, NULL));
    refused(INVALID, "not a regular file", external("uint8[4]", "below", NULL, NULL));
}

static void test_onnx_external_refuses_ranges_that_the_file_has_not(void **state) {
    refused(INVALID, "at offset 0", external("uint8[17]", "data.bin", NULL, NULL));
    refused(INVALID, "at offset 13", external("uint8[4]", "data.bin", "13", NULL));
    refused(INVALID, "at offset 17", external("uint8[0]", "data.bin", "17", NULL));
    refused(
        INVALID, "the file has 16", external("uint8[4]", "data.bin", "18446744073709551615", "4"));
    refused(
        INVALID, "the file has 16", external("uint8[4]", "data.bin", "9223372036854775808", NULL));
    refused(INVALID, "bytes at", external("float32[1000000000000]", "data.bin", NULL, NULL));
}

static void test_onnx_external_refuses_entries_that_make_no_sense(void **state) {
    refused(INVALID, "length 5", external("uint8[4]", "data.bin", NULL, "5"));
    refused(INVALID, "length 3", external("uint8[4]", "data.bin", NULL, "3"));
    refused(INVALID, "is not a number", external("uint8[4]", "data.bin", "-1", NULL));
    refused(INVALID, "is not a number", external("uint8[4]", "data.bin", NULL, "four"));
    refused(INVALID, "is not a number", external("uint8[4]", "data.bin", "", NULL));
    refused(INVALID, "without a location", external("uint8[4]", NULL, NULL, NULL));
    refused(INVALID, "without a location", external("uint8[4]", "", NULL, NULL));
}

static void test_onnx_external_refuses_locations_that_are_too_long(void **state) {
    char location[2000];
    memset(location, 'a', sizeof location);
    location[sizeof location - 1] = 0;
    refused(INVALID, "location of 1999 bytes", external("uint8[4]", location, NULL, NULL));
}

static void test_onnx_external_names_what_does_not_exist(void **state) {
    refused(NOT_FOUND, "gone.bin", external("uint8[4]", "gone.bin", NULL, NULL));
    refused(NOT_FOUND, "gone/data.bin", external("uint8[4]", "gone/data.bin", NULL, NULL));
}

static void test_onnx_external_is_unsupported_without_a_folder(void **state) {
    (void)state;
    OWN(Tensor, tensor) = NULL;
    assert_fails_saying(UNSUPPORTED, "data.bin",
        read_tensor(external("uint8[4]", "data.bin", NULL, NULL), NULL, &tensor));
}

static void check_in_tree(void **state, const char *tree, const char *location, const char *says) {
    const Folders *folders = *state;
    const OnnxFolder folder = {folders->model.descriptor, tree};
    OWN(Tensor, tensor) = NULL;
    Error *error = read_tensor(external("uint8[4]", location, "4", NULL), &folder, &tensor);
    if (says) {
        assert_non_null(error);
        assert_non_null(strstr(error_message(error), says));
        error_free(error);
        return;
    }
    assert_ok(error);
    assert_memory_equal(tensor_data(tensor), "4567", 4);
}

/* Links of files and folders, hard links too; absolute ones, as long as they stay in the tree. */
static void test_onnx_external_follows_links_inside_a_tree(void **state) {
    const Folders *folders = *state;
    char path[256], target[256], own[256];
    path_in(folders, "model", own);
    path_in(folders, "model/link", path);
    path_in(folders, "outside/secret", target);
    assert_int_equal(symlink("../outside/secret", path), 0);
    path_in(folders, "model/way", path);
    path_in(folders, "outside", target);
    assert_int_equal(symlink(target, path), 0);
    path_in(folders, "model/hard", path);
    path_in(folders, "outside/secret", target);
    assert_int_equal(link(target, path), 0);
    static const char *const locations[] = {
        "data.bin", "below/data.bin", "link", "way/secret", "hard"};
    for (size_t i = 0; i < 5; i++) {
        const bool leaves = i == 2 || i == 3;
        check_in_tree(state, folders->root, locations[i], NULL);
        check_in_tree(state, "", locations[i], NULL);
        check_in_tree(state, own, locations[i], leaves ? "--follow-links reads it" : NULL);
    }
    check_in_tree(state, target, "data.bin", "which is outside"); /* not a prefix of its name */
}

static void test_onnx_external_refuses_the_same_in_a_tree(void **state) {
    const Folders *folders = *state;
    char path[256];
    path_in(folders, "model/pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    path_in(folders, "model/link", path);
    assert_int_equal(symlink("link", path), 0);
    path_in(folders, "model/way", path);
    assert_int_equal(symlink("gone", path), 0);
    static const char *const rows[][2] = {{"pipe", "not a regular file"},
        {"below", "not a regular file"}, {"link", "link"}, {"way", "way does not exist"},
        {"../outside/secret", "outside the model's folder"}, {"/etc/passwd", "outside the model's"},
        {"below/..", "outside the model's folder"}, {"data.bin/more", "data.bin/more"},
        {"gone", "gone does not exist"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_in_tree(state, i % 2 ? "" : folders->root, rows[i][0], rows[i][1]);
}

static void test_onnx_external_says_when_the_file_shrank(void **state) {
    const Folders *folders = *state;
    char path[256], bytes[16];
    int descriptor;
    uint64_t offset;
    OnnxTensor *proto = external("uint8[4]", "data.bin", "12", NULL);
    assert_ok(onnx_external_open(proto, &folders->model, 4, &descriptor, &offset));
    onnx__tensor_proto__free_unpacked(proto, NULL);
    path_in(folders, "model/data.bin", path);
    assert_int_equal(truncate(path, 14), 0);
    assert_fails_saying(IO, "shrank", onnx_external_read(descriptor, offset, bytes, 4));
    (void)close(descriptor);
}

int test_onnx_external(void) {
#define WITH_FOLDERS(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_FOLDERS(test_onnx_external_reads_files_beside_and_below_the_model),
        WITH_FOLDERS(test_onnx_external_refuses_paths_out_of_the_folder),
        WITH_FOLDERS(test_onnx_external_refuses_symbolic_links),
        WITH_FOLDERS(test_onnx_external_refuses_hard_links),
        WITH_FOLDERS(test_onnx_external_refuses_what_is_no_file),
        WITH_FOLDERS(test_onnx_external_refuses_ranges_that_the_file_has_not),
        WITH_FOLDERS(test_onnx_external_refuses_entries_that_make_no_sense),
        WITH_FOLDERS(test_onnx_external_refuses_locations_that_are_too_long),
        WITH_FOLDERS(test_onnx_external_names_what_does_not_exist),
        WITH_FOLDERS(test_onnx_external_is_unsupported_without_a_folder),
        WITH_FOLDERS(test_onnx_external_follows_links_inside_a_tree),
        WITH_FOLDERS(test_onnx_external_refuses_the_same_in_a_tree),
        WITH_FOLDERS(test_onnx_external_says_when_the_file_shrank),
    };
    return cmocka_run_group_tests_name("onnx_external", tests, NULL, NULL);
}
