#pragma once
/* The part of the C library that the kernels use, for a compiler without one: in a program that is
 * compiled at run time this header replaces the library's headers. The other functions are built
 * into the compiler. Included by sources that NVRTC compiles; runs on the GPU. */

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;

#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
#define INT8_MIN (-INT8_MAX - 1)
#define INT16_MIN (-INT16_MAX - 1)
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615ULL

/* gcc's and nvcc's names for functions that are rounded exactly in any case */
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt sqrt
