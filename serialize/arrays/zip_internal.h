#pragma once
/* Numbers of the zip format (PKWARE's APPNOTE 6.3) for zip_directory.c and zip_write.c. Pure:
 * constants only. */

enum {
    ZIP_LOCAL_SIGNATURE = 0x04034b50,
    ZIP_DESCRIPTOR_SIGNATURE = 0x08074b50,
    ZIP_CENTRAL_SIGNATURE = 0x02014b50,
    ZIP_END_SIGNATURE = 0x06054b50,
    ZIP64_END_SIGNATURE = 0x06064b50,
    ZIP64_LOCATOR_SIGNATURE = 0x07064b50,
    /* without names, extra fields, comments */
    ZIP_LOCAL_SIZE = 30,
    ZIP_CENTRAL_SIZE = 46,
    ZIP_END_SIZE = 22,
    ZIP64_END_SIZE = 56,
    ZIP64_LOCATOR_SIZE = 20,
    ZIP64_EXTRA_KIND = 1,
    ZIP_FLAG_ENCRYPTED = 1 << 0,
    ZIP_FLAG_DESCRIBED = 1 << 3,
    ZIP_FLAG_PATCH = 1 << 5,
    ZIP_FLAG_STRONG_ENCRYPTED = 1 << 6,
    ZIP_FLAG_UTF8 = 1 << 11,
    ZIP_VERSION = 20,
    ZIP64_VERSION = 45,
    /* the earliest date of the format: files do not depend on the time */
    ZIP_DATE_1980 = 0x21 << 16,
};
