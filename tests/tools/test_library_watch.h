#pragma once
/* The tests of instruments, profiles and timings, run by test_library.c's main. */
int test_library_watch(void);
