#pragma once
/* The tests of homes and of forked processes, run by test_library.c's main. */
int test_library_home(void);
