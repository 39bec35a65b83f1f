#pragma once
/* The tests of frames, registers, yields and checkpoints in memory, run by test_library.c's main.
 */
int test_library_inspect(void);
