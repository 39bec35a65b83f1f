/* Prints docs/relax-functions.md from relax_builtins.def and packed_letters.def. */
#include <stdio.h>

#include "vm/relax/relax_registry.h"

static void print_signature(const char *signature) {
    for (const char *c = signature; *c; c++) putchar(*c);
}

int main(void) {
    printf(
        "# Relax functions\n\n"
        "Made by `print_relax_functions.c` from `relax_builtins.def`; a test compares. These\n"
        "are the functions that executables of the Relax VM call by name. Each name begins with\n"
        "`vm.builtin.`, which is left out here.\n\n"
        "A call with arguments that do not fit the signature fails with a sentence that names the\n"
        "argument. What a function keeps (caches, states, names) belongs to one execution and is\n"
        "part of its checkpoints.\n\n"
        "| letter | an argument is |\n| --- | --- |\n");
#define PACKED_LETTER(letter, accepts, text) printf("| %c | %s |\n", letter, text);
#include "vm/objects/packed_letters.def"
#undef PACKED_LETTER
    printf("| [ | the arguments behind it may be missing |\n"
           "| * | the letter before it, to the end |\n\n"
           "| function | signature | gives |\n| --- | --- | --- |\n");
    for (uint32_t i = 0; i < relax_builtin_count(); i++) {
        const RelaxBuiltin *builtin = relax_builtin_get(i);
        printf("| %s | `", builtin->name + sizeof "vm.builtin." - 1);
        print_signature(builtin->signature);
        printf("` | %s |\n", builtin->meaning);
    }
    return 0;
}
