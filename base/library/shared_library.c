#include "base/library/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

enum { HEADERS_MAX = 64, NOTES_SIZE_MAX = 4096 };

Error *shared_library_open(
    const char *file, const SharedLibraryFunction *functions, size_t count, void *table) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) FAIL(UNSUPPORTED, "no %s on this machine: %s", file, dlerror());
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function)
            FAIL(UNSUPPORTED, "the %s on this machine has no %s", file, functions[i].name);
        memcpy((char *)table + functions[i].offset, &function, sizeof function);
    }
    return NULL;
}

/* The parts of a library's dynamic section; an absent part is NULL or 0. */
typedef struct Dynamic {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2];
    size_t counts[2];
} Dynamic;

static void read_dynamic(const struct link_map *library, Dynamic *out) {
    *out = (Dynamic){.base = library->l_addr};
    for (const ElfW(Dyn) *at = library->l_ld; at->d_tag != DT_NULL; at++) {
        /* glibc has added the base already, other C libraries have not */
        const ElfW(Addr) address = at->d_un.d_ptr + (at->d_un.d_ptr < out->base ? out->base : 0);
        if (at->d_tag == DT_SYMTAB) out->symbols = (const void *)address;
        if (at->d_tag == DT_STRTAB) out->names = (const void *)address;
        if (at->d_tag == DT_JMPREL) out->tables[0] = (const void *)address;
        if (at->d_tag == DT_RELA) out->tables[1] = (const void *)address;
        if (at->d_tag == DT_PLTRELSZ) out->counts[0] = at->d_un.d_val / sizeof(ElfW(Rela));
        if (at->d_tag == DT_RELASZ) out->counts[1] = at->d_un.d_val / sizeof(ElfW(Rela));
    }
}

/* Writes a pointer that the loader has made read-only. */
static bool overwrite(void **pointer, const void *value) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)pointer & ~(page - 1));
    if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
    memcpy(pointer, &value, sizeof value);
    return true;
}

Error *shared_library_redirect(
    const void *inside, const char *name, const void *replacement, void **out_previous) {
    Dl_info info;
    void *library = NULL;
    Dynamic dynamic;
    size_t changed = 0;
    if (!dladdr1(inside, &info, &library, RTLD_DL_LINKMAP) || !library)
        FAIL(UNSUPPORTED, "%s: its library is unknown", name);
    read_dynamic(library, &dynamic);
    if (!dynamic.symbols || !dynamic.names)
        FAIL(UNSUPPORTED, "%s: the loader tells none of its symbols", info.dli_fname);
    for (size_t table = 0; table < 2; table++)
        for (size_t i = 0; dynamic.tables[table] && i < dynamic.counts[table]; i++) {
            const ElfW(Rela) *at = &dynamic.tables[table][i];
            const ElfW(Sym) *symbol = &dynamic.symbols[ELF64_R_SYM(at->r_info)];
            if (ELF64_R_SYM(at->r_info) == 0 || symbol->st_shndx != SHN_UNDEF ||
                strcmp(dynamic.names + symbol->st_name, name) != 0)
                continue;
            void **pointer = (void **)(dynamic.base + at->r_offset), *previous = *pointer;
            /* both tables name the function, and the first pass replaced its pointer */
            if (previous == replacement) previous = *out_previous;
            if (!overwrite(pointer, replacement))
                FAIL(UNSUPPORTED, "%s: %s: %s", info.dli_fname, name, strerror(errno));
            *out_previous = previous;
            changed++;
        }
    if (changed == 0) FAIL(UNSUPPORTED, "%s does not call %s", info.dli_fname, name);
    return NULL;
}

Error *shared_library_open_once(SharedLibraryOnce *once, Error *(*open)(void)) {
    Error *error = NULL;
    if (atomic_load_explicit(&once->is_open, memory_order_acquire)) return NULL;
    (void)pthread_mutex_lock(&once->mutex);
    if (!atomic_load_explicit(&once->is_open, memory_order_relaxed)) error = open();
    atomic_store_explicit(&once->is_open, !error, memory_order_release);
    (void)pthread_mutex_unlock(&once->mutex);
    return error;
}

/* Reads size bytes at the offset; bytes behind the end of the file are zero. */
static Error *read_at(int file, const char *path, uint64_t offset, void *out, size_t size) {
    memset(out, 0, size);
    if (offset > INT64_MAX) return NULL;
    if (pread(file, out, size, (off_t)offset) < 0) FAIL(IO, "%s: %s", path, strerror(errno));
    return NULL;
}

static size_t padded(uint32_t size) { return ((size_t)size + 3) & ~(size_t)3; }

/* Notes: {name size, content size, type, name, content}, each padded to four bytes. */
static bool find_build(const char *notes, size_t size, char out[SHARED_LIBRARY_BUILD_SIZE]) {
    Elf64_Nhdr note;
    while (size >= sizeof note) {
        memcpy(&note, notes, sizeof note);
        const size_t name = padded(note.n_namesz), content = padded(note.n_descsz);
        if (name > size - sizeof note || content > size - sizeof note - name) return false;
        const char *at = notes + sizeof note;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= (SHARED_LIBRARY_BUILD_SIZE - 1) / 2) {
            text_hex((const uint8_t *)at + name, note.n_descsz, out);
            return true;
        }
        notes = at + name + content;
        size -= sizeof note + name + content;
    }
    return false;
}

static Error *read_build(int file, const char *path, char out[SHARED_LIBRARY_BUILD_SIZE]) {
    Elf64_Ehdr header;
    TRY(read_at(file, path, 0, &header, sizeof header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    for (uint16_t i = 0; i < header.e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr segment;
        char notes[NOTES_SIZE_MAX];
        TRY(read_at(file, path, header.e_phoff + i * sizeof segment, &segment, sizeof segment));
        if (segment.p_type != PT_NOTE) continue;
        const size_t size = segment.p_filesz < sizeof notes ? segment.p_filesz : sizeof notes;
        TRY(read_at(file, path, segment.p_offset, notes, size));
        if (find_build(notes, size, out)) return NULL;
    }
    return NULL;
}

Error *shared_library_read_build(const char *path, char out[SHARED_LIBRARY_BUILD_SIZE]) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) FAIL(IO, "%s: %s", path, strerror(errno));
    out[0] = 0;
    Error *error = read_build(file, path, out);
    (void)close(file);
    return error;
}
