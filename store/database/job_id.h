#pragma once
/* A job's id on all nodes: the node that made the job, and a number that this node gives only once.
 * Used in store/, scheduler/ and tools/. Pure: no state, any thread. */
#include <stdbool.h>
#include <stdint.h>

typedef struct JobId {
    uint64_t node;   /* 1 … JOB_ID_NODE_MAX, random */
    uint64_t number; /* 1 … INT64_MAX */
} JobId;

#define JOB_ID_NODE_MAX UINT64_C(0xffffffffffff)
enum { JOB_ID_TEXT_SIZE = 33, JOB_ID_NODE_TEXT_SIZE = 13 }; /* with the terminating NUL */

bool job_id_equal(JobId a, JobId b);
/* Prints "3f9a0c72d1e4-17": the node as 12 lower-case hexadecimal digits, the number in decimal. */
void job_id_print(JobId id, char out[JOB_ID_TEXT_SIZE]);
/* Parses an id. Returns false unless text is exactly the output of job_id_print for some id. */
bool job_id_parse(const char *text, JobId *out);

/* Prints a node alone: "3f9a0c72d1e4". */
void job_id_print_node(uint64_t node, char out[JOB_ID_NODE_TEXT_SIZE]);
bool job_id_parse_node(const char *text, uint64_t *out);
