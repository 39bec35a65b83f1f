#pragma once
/* What rows of the catalog take on the disk beside the bytes that are stored in them: the row, its
 * places in indexes, and what every such row brings along. They are charged with the content, so
 * that outputs without an element cost what they take. Measured on rows as jobs make them (a test
 * does it again); the step of the schema that counted them first has the same numbers. */
enum {
    ROW_COST_CONTENT = 192,     /* a content, and the event that tells of it */
    ROW_COST_CHUNK = 128,       /* a chunk of a content or of an executable, in its list */
    ROW_COST_JOB = 1024,        /* a job, its policy, and the events of a plain life */
    ROW_COST_EXECUTABLE = 1024, /* an executable */
};

/* Rows that no content brings along. They are charged to the tenant, not to a job's bytes_stored,
 * by row_charges.h; macros, since statements have them in their text. */
#define ROW_COST_MODEL 256       /* a model's name */
#define ROW_COST_VERSION 128     /* a version of a model */
#define ROW_COST_ALIAS 256       /* an alias of a version */
#define ROW_COST_ARRIVAL 96      /* a job that another node offers */
#define ROW_COST_DEPARTURE 96    /* an attempt to give a job to another node */
#define ROW_COST_VERIFICATION 96 /* what a replay is compared with */
#define ROW_COST_TOMBSTONE 512   /* what stays of a job that another node or a file owns */
#define ROW_COST_EVENT 64        /* an event of a job, beside the bytes of its reason */

/* A job pays for its first events, an output for the event that tells of it. */
#define JOB_EVENTS_PAID 8

#define ROW_COST_TEXT(macro) ROW_COST_TEXT_(macro)
#define ROW_COST_TEXT_(value) #value
/* SQL: whether a row of job_events is charged, and what; row: its name with a dot. Kind 2 is that
 * of outputs. */
#define ROW_COST_IS_EVENT(row) row "kind != 2 AND " row "sequence > " ROW_COST_TEXT(JOB_EVENTS_PAID)
#define ROW_COST_OF_EVENT(row)                                                                     \
    "(" ROW_COST_TEXT(ROW_COST_EVENT) " + length(CAST(" row "why AS BLOB)))"
