#include "store/database/disk_blocks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/store/store_fixtures.h"

enum { MIB = 1 << 20 };

/* A file of the home with so many bytes. */
static int make_file(const TestHome *home, off_t size) {
    int file = open(fixture_path(home, "blocks"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, size), 0);
    return file;
}

static void test_disk_blocks_are_taken_behind_the_end_of_the_file(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    struct stat status;
    uint64_t room = 0;
    int file = make_file(&home, 0);
    assert_true(disk_blocks_take(file, MIB, &room));
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, 0); /* a copy of the file holds none of them */
    if (room != DISK_BLOCKS_UNKNOWN) {
        assert_int_equal(room, MIB);
        assert_true(status.st_blocks * 512 >= MIB);
        assert_true(disk_blocks_take(file, MIB / 2, &room));
        assert_int_equal(room, MIB);
        disk_blocks_note_cut(MIB / 4, &room);
        assert_int_equal(room, MIB / 4);
        disk_blocks_note_cut(MIB, &room);
        assert_int_equal(room, MIB / 4);
    }
    (void)close(file);
}

static void test_disk_blocks_begin_anew_at_the_end_of_a_cut_file(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    uint64_t room = 8 * MIB;
    int file = make_file(&home, MIB);
    disk_blocks_renew(file, &room);
    assert_true(room == MIB + DISK_BLOCKS_SPARE || room == DISK_BLOCKS_UNKNOWN);
    (void)close(file);
}

/* A file that has no blocks, as on a file system that allocates none ahead. */
static void test_disk_blocks_are_asked_for_once_where_there_are_none(void **state) {
    (void)state;
    uint64_t room = 0;
    int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_true(disk_blocks_take(file, MIB, &room));
    assert_true(room == DISK_BLOCKS_UNKNOWN);
    assert_true(disk_blocks_take(-1, MIB, &room));
    disk_blocks_renew(-1, &room);
    disk_blocks_note_cut(0, &room);
    assert_true(room == DISK_BLOCKS_UNKNOWN);
    (void)close(file);
}

TEST_GROUP(disk_blocks, cmocka_unit_test(test_disk_blocks_are_taken_behind_the_end_of_the_file),
    cmocka_unit_test(test_disk_blocks_begin_anew_at_the_end_of_a_cut_file),
    cmocka_unit_test(test_disk_blocks_are_asked_for_once_where_there_are_none))
