#pragma once
/* What rows of the catalog take on the disk beside the bytes that are stored in them: the row, its
 * places in indexes, and what every such row brings along. They are charged with the content, so
 * that outputs without an element cost what they take. Measured on rows as jobs make them (a test
 * does it again); the step of the schema that counted them first has the same numbers. */
enum {
    ROW_COST_CONTENT = 192,     /* a content, and the event that tells of it */
    ROW_COST_CHUNK = 128,       /* a chunk of a content or of an executable, in its list */
    ROW_COST_JOB = 1024,        /* a job, its policy, and the events of a plain life */
    ROW_COST_EXECUTABLE = 1024, /* an executable, and a version that names it */
};
