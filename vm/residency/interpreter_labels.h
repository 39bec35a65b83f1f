#pragma once
/* Where the interpreter's handlers are. The decoder (decoded_code.c) puts these addresses into the
 * instructions that it makes; the loop (interpreter.c), which jumps to them, defines the table.
 * This is the one call from residency to execution. Threads: any; the table never changes. */

/* Per opcode the address of its handler, or NULL where the compiler has no computed goto. */
const void *const *interpreter_labels(void);
