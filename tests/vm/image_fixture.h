#pragma once
/* One weight image in memory, behind the interface that keeps many on disk. */
#include "vm/residency/weight_image.h"

typedef struct OneImage {
    WeightImageKey key;
    uint8_t *data; /* aligned to a page; NULL: none */
    int held;      /* found and not released */
    int finds, checks, discards;
    bool corrupt; /* check says so */
    bool damaged;
    bool full; /* keeps nothing */
} OneImage;

WeightImages one_image(OneImage *image);
void one_image_deinit(OneImage *image);
