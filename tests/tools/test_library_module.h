#pragma once
/* The tests of functions and modules, run by test_library.c's main. */
int test_library_module(void);
