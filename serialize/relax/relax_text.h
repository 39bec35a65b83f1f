#pragma once
/* Relax files as text, equal byte for byte to what TVM 0.27 prints. Callers: tools/ (disasm
 * --relax) and tests. Pure: no state, any thread. */
#include "base/text.h"
#include "serialize/relax/relax_file.h"

/* VMExecutable.as_text(): every function with its instructions. */
MUST_CHECK Error *relax_text_print(const RelaxFile *file, TextBuilder *out);
/* VMExecutable.as_python(): the calls of a builder that would make the file. */
MUST_CHECK Error *relax_text_print_python(const RelaxFile *file, TextBuilder *out);
/* VMExecutable.stats(): constants and globals. TVM fails where a constant is a float; here it is
 * printed. */
MUST_CHECK Error *relax_text_print_stats(const RelaxFile *file, TextBuilder *out);
