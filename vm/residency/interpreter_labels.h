#pragma once
/* The addresses of the interpreter's handlers. The decoder (decoded_code.c) puts these addresses
 * into the instructions that it makes; the loop (interpreter.c), which jumps to them, defines the
 * table. This is the one call from residency to execution. Threads: any; the table never
 * changes. */

/* The address of each opcode's handler, or NULL if the compiler has no computed goto. */
const void *const *interpreter_labels(void);
