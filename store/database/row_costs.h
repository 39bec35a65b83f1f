#pragma once
/* The room that rows of the catalog take on the disk beside the bytes stored in them: the row, its
 * index entries, and the rows that always come with it. Store/ charges this room with the content,
 * so that outputs without an element cost their real size. The numbers were measured on rows as
 * jobs make them (a test measures again); the schema step that counted rows first uses the same
 * numbers. Pure: constants only. */
enum {
    ROW_COST_CONTENT = 192,     /* a content and the event that reports it */
    ROW_COST_CHUNK = 128,       /* a chunk in the list of a content or of an executable */
    ROW_COST_JOB = 1024,        /* a job, its policy, and the events of a plain life */
    ROW_COST_EXECUTABLE = 1024, /* an executable */
};

/* Rows that come without a content. row_charges.h charges them to the tenant, not to a job's
 * bytes_stored. They are macros because statements contain them as text. */
#define ROW_COST_MODEL 256       /* a model's name */
#define ROW_COST_VERSION 128     /* a version of a model */
#define ROW_COST_ALIAS 256       /* an alias of a version */
#define ROW_COST_ARRIVAL 96      /* a job that another node offers */
#define ROW_COST_DEPARTURE 96    /* an attempt to give a job to another node */
#define ROW_COST_VERIFICATION 96 /* the row of a verification */
#define ROW_COST_TOMBSTONE 512   /* the row that stays of a job that another node or a file owns */
#define ROW_COST_EVENT 64        /* an event of a job, beside the bytes of its reason */

/* The charge of a job covers its first events; the charge of an output covers the event that
 * reports it. */
#define JOB_EVENTS_PAID 8

#define ROW_COST_TEXT(macro) ROW_COST_TEXT_(macro)
#define ROW_COST_TEXT_(value) #value
/* SQL conditions: whether a row of job_events is charged, and its cost. row: the row's name with a
 * dot. Kind 2 is an event of outputs. */
#define ROW_COST_IS_EVENT(row) row "kind != 2 AND " row "sequence > " ROW_COST_TEXT(JOB_EVENTS_PAID)
#define ROW_COST_OF_EVENT(row)                                                                     \
    "(" ROW_COST_TEXT(ROW_COST_EVENT) " + length(CAST(" row "why AS BLOB)))"
