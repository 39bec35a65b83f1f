#pragma once
/* Tensors written as text: "T[2,3] i64[2]=0,-1 T[3]:1:2 -" are random numbers of the element type
 * under test, two given ones, random ones from 1 to 2, and nothing. */
#include "kernels/tensor/tensor.h"

enum { TENSOR_TEXT_WORD_MAX = 256 };

/* The text is wrong: says so and aborts. */
_Noreturn void tensor_text_refuse(const char *word, const char *what);
/* The next of words between separators; false at the end. */
bool tensor_text_word(const char **at, const char *separators, char out[TENSOR_TEXT_WORD_MAX]);
/* "T[2,3]…" → element type and shape; *at then stands behind the ']'. A dimension written '?' is
 * -1. */
void tensor_text_type(const char **at, DType tested, DType *out_dtype, Shape *out_shape);
/* Answers how many. Host tensors, to be released; NULL for "-". */
uint32_t tensor_text_make(const char *text, DType tested, uint64_t seed, Tensor **out);
