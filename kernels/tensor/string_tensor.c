#include "kernels/tensor/string_tensor.h"

#include <inttypes.h>

#include "base/checked.h"
#include "base/text.h"

Error *string_tensor_check_bytes(const void *data, uint64_t size, int64_t count) {
    const uint64_t head = string_tensor_head_bytes(count);
    uint64_t before = 0;
    if (count == 0) return NULL;
    if (size < head) FAIL(INVALID, "%" PRIu64 " bytes for %" PRId64 " strings", size, count);
    for (int64_t i = 0; i <= count; i++) {
        uint64_t offset;
        memcpy(&offset, (const char *)data + (uint64_t)i * sizeof offset, sizeof offset);
        if (offset < before || offset > size - head || (i == 0 && offset != 0))
            FAIL(INVALID,
                "string %" PRId64 " of %" PRId64 " begins at byte %" PRIu64 " of %" PRIu64, i,
                count, offset, size - head);
        if (i > 0 && !text_is_utf8((const char *)data + head + before, offset - before))
            FAIL(INVALID, "string %" PRId64 " is not UTF-8", i - 1);
        before = offset;
    }
    if (before != size - head)
        FAIL(INVALID, "strings of %" PRIu64 " bytes in %" PRIu64, before, size - head);
    return NULL;
}

Error *string_tensor_check(const Tensor *tensor) {
    if (tensor->dtype != DTYPE_STRING) return NULL;
    if (!tensor->storage->device->class_->host_memory)
        FAIL(INVALID, "strings in memory of %s", tensor->storage->device->name);
    return string_tensor_check_bytes(
        tensor_data(tensor), tensor_bytes(tensor), shape_count_unchecked(&tensor->shape));
}

StringWriter string_writer_open(void *data, int64_t count) {
    if (count > 0) memset(data, 0, sizeof(uint64_t));
    return (StringWriter){.data = data, .count = count};
}

Error *string_tensor_create(const Shape *shape, const StringView *texts, Tensor **out) {
    int64_t count;
    TRY(shape_count(shape, &count));
    uint64_t bytes = string_tensor_head_bytes(count);
    for (int64_t i = 0; i < count; i++)
        if (!checked_add_u64(bytes, texts[i].size, &bytes))
            FAIL(INVALID, "strings of more than 2^64 bytes");
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_bytes_on_host(device_host(), DTYPE_STRING, shape, bytes, &tensor));
    StringWriter writer = string_writer_open(tensor_data(tensor), count);
    for (int64_t i = 0; i < count; i++) {
        string_writer_add(&writer, texts[i]);
        string_writer_end(&writer);
    }
    *out = TAKE(tensor);
    return NULL;
}
