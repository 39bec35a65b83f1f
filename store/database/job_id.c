#include "store/database/job_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NODE_DIGITS = JOB_ID_NODE_TEXT_SIZE - 1 };

bool job_id_equal(JobId a, JobId b) { return a.node == b.node && a.number == b.number; }

void job_id_print(JobId id, char out[JOB_ID_TEXT_SIZE]) {
    (void)snprintf(out, JOB_ID_TEXT_SIZE, "%012" PRIx64 "-%" PRIu64, id.node, id.number);
}

static int digit_value(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return -1;
}

/* Reads the node's digits at the start of the text; 0 if they are not valid. */
static uint64_t read_node(const char *text) {
    uint64_t node = 0;
    for (int i = 0; i < NODE_DIGITS; i++) {
        int digit = digit_value(text[i]);
        if (digit < 0) return 0;
        node = node << 4 | (unsigned)digit;
    }
    return node;
}

void job_id_print_node(uint64_t node, char out[JOB_ID_NODE_TEXT_SIZE]) {
    (void)snprintf(out, JOB_ID_NODE_TEXT_SIZE, "%012" PRIx64, node & JOB_ID_NODE_MAX);
}

bool job_id_parse_node(const char *text, uint64_t *out) {
    uint64_t node = read_node(text);
    if (node == 0 || text[NODE_DIGITS]) return false;
    *out = node;
    return true;
}

bool job_id_parse(const char *text, JobId *out) {
    JobId id = {read_node(text), 0};
    if (id.node == 0 || text[NODE_DIGITS] != '-') return false;
    const char *at = text + NODE_DIGITS + 1;
    if (*at < '1' || *at > '9') return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (id.number > (INT64_MAX - digit) / 10) return false;
        id.number = id.number * 10 + digit;
    }
    if (*at) return false;
    *out = id;
    return true;
}
