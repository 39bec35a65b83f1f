#pragma once
/* One element of a named array as text: for people and in JSON. Callers: array_print.c and
 * array_summary.c. Pure: no state, any thread. */
#include "base/text.h"
#include "serialize/arrays/array_list.h"

/* The element as a number. False for strings. Every 64-bit integer is exact. */
bool array_element_number(const NamedArray *array, uint64_t index, long double *out);

/* Appends a text in quotes, without characters that a terminal would act on: control characters
 * become \u00XX, bytes that are no UTF-8 become \ufffd. The result is a JSON string. */
void array_element_print_text(const char *text, TextBuilder *out);
/* Appends a name in the same way, but in quotes only where one of its characters was replaced. */
void array_element_print_name(const char *name, TextBuilder *out);
/* Appends a JSON value with as many digits as the element type needs to read the same element
 * again. JSON has no NaN and no infinity: they are the texts "NaN", "Infinity" and "-Infinity". */
void array_element_print_json(const NamedArray *array, uint64_t index, TextBuilder *out);
/* Appends the element for people: floats with six digits, long texts cut. */
void array_element_print(const NamedArray *array, uint64_t index, TextBuilder *out);
