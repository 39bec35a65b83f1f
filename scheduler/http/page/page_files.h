#pragma once
/* The files of the page that the daemon shows at "/", as part of the program: page_files.c is made
 * from the files of this folder by embed_page.py. Read by route_page.c. Constant tables. */
#include <stddef.h>

typedef struct PageFile {
    const char *name; /* "page.html" */
    const char *content_type;
    const unsigned char *data;
    size_t size;
} PageFile;

extern const PageFile page_files[];
extern const size_t page_file_count;
