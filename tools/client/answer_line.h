#pragma once
/* Prints an object of an answer as a line for people, as a format says. Called by the verbs of
 * tools/cli on the main thread.
 *
 * A format is text with fields in braces: {name}, {name:width}, {name:-width}, {name:width kind}
 * without the blank. A negative width fills on the right. {one|other} is the first of the two that
 * the object has, and | - stands behind fields for the text "-". Without a kind a field is a text
 * or a whole number; nothing is printed for null. Kinds: t a time in seconds; M bytes, printed as
 * megabytes with one decimal. */
#include <json-c/json_object.h>

/* Prints the line and a line feed. */
void answer_line_print(const char *format, json_object *object);
