/* Prints docs/isa.md: the instruction set, from opcodes.def, objects.def and packed_functions.def,
 * and the grammar of assembly text. */
#include <stdio.h>
#include <string.h>

#include "vm/instruction/opcode.h"
#include "vm/objects/value.h"

static const char WORDS[] =
    "# Instruction set\n\n"
    "Made by `print_isa.c` from `opcodes.def`, `objects.def` and `packed_functions.def`; edit "
    "those.\n\n"
    "## Words\n\n"
    "An instruction is a head word and 64-bit operands, little-endian in files.\n\n"
    "| word | bits | what |\n| --- | --- | --- |\n"
    "| head | 0-7 | opcode |\n"
    "| | 8-15 | flags: 1 ALLOC (outs are destination registers), 2 HOST (runs in slot 0), 4 NO_DST "
    "(the result is dropped), 8 SCALAR (`If`: its values are no tensors) |\n"
    "| | 16-31 | operand count |\n"
    "| | 32-63 | destination register; 0xffffffff where the instruction writes none |\n"
    "| operand | 0-55 | value, sign-extended |\n"
    "| | 56-62 | kind: 0 register, 1 immediate, 2 constant, 3 function, 4 absent (value 0) |\n"
    "| | 63 | last use: the register is dead behind this instruction |\n\n"
    "A jump's value counts instructions from the jumping one. A last use must be one: the "
    "register is\nread neither behind the instruction nor by a later operand of it.\n";

static const char GRAMMAR[] =
    "\n## Assembly\n\n"
    "Text of `.lva` files; `assembly_parse` and `assembly_print` are exact inverses on words,\n"
    "constants, names, ports and attributes. `#` begins a comment that ends with the line.\n\n"
    "```\n"
    "program     = { definition newline }\n"
    "definition  = constant | library | primitive | packed | function\n"
    "constant    = \"constant\" \"@\" name [ \"slot\" (\"0\" | \"1\") ] \"=\" value\n"
    "                                    # tensors are in slot 1 unless said, all else in slot 0\n"
    "library     = \"library\" \"@\" name  # a constant with the bytes of a native library\n"
    "value       = \"int\" integer | \"float\" number | \"float\" \"bits\" integer | \"bool\" "
    "(\"true\" | "
    "\"false\")\n"
    "            | \"dtype\" dtype | \"string\" string | \"shape\" shape\n"
    "            | dtype shape \"{\" [ element { \",\" element } ] \"}\"   # tensor, row-major\n"
    "            | dtype shape 'x\"' hexadecimal bytes '\"'             # tensor, as in memory\n"
    "shape       = \"[\" [ integer { \",\" integer } ] \"]\"\n"
    "primitive   = \"primitive\" \"%\" name \"=\" operator [ \".\" version ] [ attributes ]\n"
    "                                    # without a version: this build's\n"
    "attributes  = \"{\" [ name \"=\" attribute { \",\" name \"=\" attribute } ] \"}\"\n"
    "packed      = \"packed\" function-name parameters [ \"->\" ports ] { flag }\n"
    "function    = \"function\" function-name parameters [ \"->\" ports ] { flag } body\n"
    "parameters  = \"(\" count \")\" | ports\n"
    "ports       = \"(\" [ port { \",\" port } ] \")\"\n"
    "port        = name \":\" [ \"optional\" ] [ \"list\" ] (dtype | \"any\") [ \"[\" (\"*\" | [ "
    "dim { \",\" dim } ]) \"]\" ] [ "
    "\"slot\" "
    "(\"0\" | \"1\") ]\n"
    "dim         = integer | \"?\" | symbol [ \"=\" integer ]\n"
    "flag        = \"exported\" | \"nulls\" | \"registers\" count\n"
    "            | \"last_uses\"           # the assembler marks them; not kept\n"
    "body        = \"{\" newline { [ label \":\" ] [ instruction ] newline } \"}\"\n"
    "instruction = mnemonic [ \".host\" ] [ operand { \",\" operand } ] [ \"->\" register ]\n"
    "            | \"If.scalar\" operands\n"
    "            | \"InvokePacked\" [ \".host\" ] primitive [ \",\" ] operands \"->\" registers  # "
    "ALLOC\n"
    "            | \"InvokePacked\" [ \".host\" ] primitive [ \",\" ] operands \"=>\" registers  # "
    "into "
    "given tensors\n"
    "operand     = \"r\" number [ \"!\" ]  # ! marks a last use\n"
    "            | integer | \"@\" name | \"%\" name | \"&\" function-name | \"_\" | label\n"
    "            | word                  # of an immediate: IntOp's kind, an element type, first, "
    "last\n"
    "```\n\n"
    "A name that is no word (letters, digits, `_`, `.`) is written as a string; strings know the "
    "escapes\n`\\\"`, `\\\\`, `\\n` and `\\xHH`. Names of constants and primitives live in the "
    "text "
    "only: printing\ngives numbers. A call without `->` drops its result (NO_DST).\n";

static void print_opcodes(void) {
    printf("\n## Opcodes\n\n| number | mnemonic | destination | operands | does |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < OPCODE_TABLE_SIZE; i++) {
        const OpcodeInfo *info = &opcode_infos[i];
        if (!info->mnemonic) continue;
        const char *destination = info->flags & OPCODE_FLAG_WRITES  ? "yes"
                                  : info->flags & OPCODE_FLAG_MAYBE ? "or NO_DST"
                                                                    : "";
        printf("| %u | %s | %s | `%s` | %s |\n", i, info->mnemonic, destination,
            info->operands[0] ? info->operands : " ", info->effect);
    }
}

static void print_letters(void) {
    printf("\n| operand letter | meaning |\n| --- | --- |\n");
#define OPERAND_LETTER(letter, kinds, meaning) printf("| `%c` | %s |\n", letter, meaning);
#include "vm/instruction/operand_letters.def"
#undef OPERAND_LETTER
    printf("| `*` | repeats the letter before it |\n");
}

static void print_objects(void) {
    printf("\n## Objects\n\n| number | kind |\n| --- | --- |\n");
#define OBJECT(NAME, number, Type, text) printf("| %d | %s |\n", number, text);
#include "vm/objects/objects.def"
#undef OBJECT
}

static void print_packed(void) {
    printf("\n## Packed functions of every build\n\n| name | arguments | gives |\n"
           "| --- | --- | --- |\n");
#define PACKED_FUNCTION(function, name, arity, effect)                                             \
    printf("| `%s` | %d | %s |\n", name, arity, effect);
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION
}

int main(void) {
    fputs(WORDS, stdout);
    print_opcodes();
    print_letters();
    print_objects();
    print_packed();
    fputs(GRAMMAR, stdout);
    return 0;
}
