#include "vm/residency/weight_image.h"

#include "base/allocator.h"

Error *weight_image_find(const WeightImages *images, const WeightImageKey *key, WeightImage **out) {
    void *memory, *image;
    const uint8_t *data;
    TRY(memory_alloc(1, sizeof(WeightImage), &memory));
    images->find(images->context, key, &image, &data);
    *out = NULL;
    if (!image) {
        memory_free(memory);
        return NULL;
    }
    WeightImage *found = memory;
    refcount_init(&found->refcount);
    found->images = *images;
    found->image = image;
    found->data = data;
    found->size = key->size;
    *out = found;
    return NULL;
}

WeightImage *weight_image_retain(WeightImage *image) {
    refcount_retain(&image->refcount);
    return image;
}

void weight_image_release(WeightImage *image) {
    if (!image || !refcount_release(&image->refcount)) return;
    image->images.release(image->image);
    memory_free(image);
}

Error *weight_image_check(WeightImage *image, uint64_t offset, uint64_t size) {
    return image->images.check(image->image, offset, size);
}

bool weight_image_is_damaged(const WeightImage *image) {
    return image->images.is_damaged(image->image);
}
