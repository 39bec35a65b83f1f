#include "scheduler/node/model_loader.h"

#include "serialize/container/executable_file.h"

Error *model_loader_open(Store *store, TenantId tenant, const Digest *identity,
    StoredExecutable **out_stored, Container **out_container) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    size_t size;
    TRY(stored_executable_open(store, tenant, identity, &stored));
    const uint8_t *manifest = stored_executable_manifest(stored, &size);
    TRY(container_open_manifest(
        CONTAINER_EXECUTABLE, manifest, size, stored_executable_source(stored), &container));
    TRY(container_check_identity(container, identity));
    *out_stored = TAKE(stored);
    *out_container = TAKE(container);
    return NULL;
}

Error *model_loader_load(Store *store, TenantId tenant, WorkerPool *pool, const Digest *identity,
    Executable **out_executable) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    TRY(model_loader_open(store, tenant, identity, &stored, &container));
    Error *error = executable_read(container, pool, CHUNK_VERIFY_XXH3, out_executable);
    container_release(TAKE(container)); /* it reads from the stored executable */
    return error;
}

Error *model_loader_read_outline(
    Store *store, TenantId tenant, const Digest *identity, Executable **out_outline) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    TRY(model_loader_open(store, tenant, identity, &stored, &container));
    Error *error = executable_read_outline(container, out_outline);
    container_release(TAKE(container)); /* it reads from the stored executable */
    return error;
}

Error *model_loader_register(Store *store, TenantId tenant, WorkerPool *pool, const char *name,
    Executable *executable, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version) {
    OWN(ChunkUpload, upload) = NULL;
    OWN(Container, container) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    TRY(chunk_upload_open(store, tenant, &upload));
    chunk_upload_limit(upload);
    TRY(executable_write(executable, pool, chunk_upload_sink(upload), &manifest));
    TRY(container_open_manifest(
        CONTAINER_EXECUTABLE, manifest.data, manifest.size, (ChunkSource){0}, &container));
    return models_register_container(upload, name, container, aliases, alias_count, out_version);
}

Error *model_loader_import(Store *store, TenantId tenant, WorkerPool *pool, const char *name,
    const Container *container, const char *what, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version, Executable **out_executable) {
    OWN(ChunkUpload, upload) = NULL;
    OWN(Executable, executable) = NULL;
    TRY_WRAP(executable_read(container, pool, CHUNK_VERIFY_SHA256, &executable), "%s", what);
    TRY(chunk_upload_open(store, tenant, &upload));
    chunk_upload_limit(upload);
    TRY_WRAP(container_copy_chunks(container, pool, CHUNK_VERIFY_SHA256, chunk_upload_sink(upload)),
        "%s", what);
    TRY(models_register_container(upload, name, container, aliases, alias_count, out_version));
    *out_executable = TAKE(executable);
    return NULL;
}

static Error *write_file(
    const Container *container, WorkerPool *pool, const char *path, uint64_t *out_bytes) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    TRY(container_copy_chunks(container, pool, CHUNK_VERIFY_SHA256, container_file_get_sink(file)));
    ByteReader manifest = container_get_manifest(container);
    TRY(container_file_finish(file, manifest.data, manifest.size));
    TRY(file_output_commit(output));
    *out_bytes = file_output_size(output);
    return NULL;
}

Error *model_loader_export(Store *store, TenantId tenant, WorkerPool *pool, const Digest *identity,
    const char *path, uint64_t *out_bytes) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    TRY(model_loader_open(store, tenant, identity, &stored, &container));
    Error *error = write_file(container, pool, path, out_bytes);
    container_release(TAKE(container)); /* before the executable it reads from */
    return error;
}

Error *model_loader_check_manifest(void *context, const FsckExecutable *executable) {
    OWN(Container, container) = NULL;
    (void)context;
    TRY(container_open_manifest(CONTAINER_EXECUTABLE, executable->manifest,
        executable->manifest_size, (ChunkSource){0}, &container));
    TRY(container_check_identity(container, &executable->identity));
    size_t at = 0;
    for (uint32_t i = 0; i < container_bulk_count(container); i++) {
        ContainerBulk bulk;
        TRY(container_get_bulk(container, i, &bulk));
        for (size_t k = 0; k < bulk.chunk_count; k++, at++)
            if (at >= executable->chunk_count ||
                !digest_equal(&bulk.refs[k].hash, &executable->chunks[at].hash))
                FAIL(CORRUPT, "the catalog refers to other chunks than the manifest");
    }
    if (at != executable->chunk_count)
        FAIL(CORRUPT, "the catalog refers to %zu chunks, the manifest to %zu",
            executable->chunk_count, at);
    return NULL;
}
