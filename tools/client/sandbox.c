#include "tools/client/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 64 };

#if defined(__x86_64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_X86_64, FOREIGN_CALLS = 0x40000000 /* the x32 table */ };
#elif defined(__aarch64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_AARCH64, FOREIGN_CALLS = 0x40000000 /* beyond any call */ };
#else
#error "which system calls this machine has is not known here"
#endif

/* The system calls that compiling needs: files, memory, threads, time. Every other call returns
 * EPERM, so that a library that only probes a call continues. */
static const uint16_t allowed_calls[] = {
    __NR_read,
    __NR_write,
    __NR_readv,
    __NR_writev,
    __NR_pread64,
    __NR_pwrite64,
    __NR_lseek,
    __NR_close,
    __NR_fstat,
    __NR_newfstatat,
    __NR_statx,
    __NR_openat,
    __NR_faccessat,
    __NR_faccessat2,
    __NR_readlinkat,
    __NR_getdents64,
    __NR_fsync,
    __NR_fdatasync,
    __NR_ftruncate,
    __NR_fallocate,
    __NR_sync_file_range,
    __NR_renameat,
    __NR_renameat2,
    __NR_unlinkat,
    __NR_fchmod,
    __NR_umask,
    __NR_fcntl,
    __NR_getcwd,
    __NR_mmap,
    __NR_munmap,
    __NR_mremap,
    __NR_mprotect,
    __NR_madvise,
    __NR_mincore,
    __NR_brk,
    __NR_futex,
    __NR_set_robust_list,
    __NR_rseq,
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_rt_sigreturn,
    __NR_sigaltstack,
    __NR_exit,
    __NR_exit_group,
    __NR_sched_yield,
    __NR_sched_getaffinity,
    __NR_sched_setaffinity,
    __NR_getpid,
    __NR_gettid,
    __NR_tgkill,
    __NR_clock_gettime,
    __NR_clock_getres,
    __NR_clock_nanosleep,
    __NR_nanosleep,
    __NR_gettimeofday,
    __NR_getrandom,
    __NR_uname,
    __NR_sysinfo,
    __NR_getrusage,
    __NR_getrlimit,
    __NR_membarrier,
    __NR_restart_syscall,
#ifdef __NR_open
    __NR_open,
    __NR_stat,
    __NR_lstat,
    __NR_access,
    __NR_readlink,
    __NR_rename,
    __NR_unlink,
    __NR_arch_prctl,
    __NR_time,
#endif
};
enum { CALLS = sizeof allowed_calls / sizeof *allowed_calls, PROGRAM_MAX = 2 * CALLS + 32 };

typedef struct Program {
    struct sock_filter steps[PROGRAM_MAX];
    uint16_t count;
} Program;

static void add(Program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
    program->steps[program->count++] =
        (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
}

static void answer(Program *program, uint32_t value) { add(program, BPF_RET | BPF_K, value, 0, 0); }

static void load(Program *program, size_t offset) {
    add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Answers if the loaded word equals value, otherwise continues with the next step. */
static void answer_at(Program *program, uint32_t value, uint32_t what) {
    add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer(program, what);
}

static void write_program(Program *program) {
    const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
    load(program, offsetof(struct seccomp_data, arch));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ARCHITECTURE, 1, 0);
    answer(program, SECCOMP_RET_KILL_PROCESS);
    load(program, offsetof(struct seccomp_data, nr));
    add(program, BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1);
    answer(program, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < CALLS; i++) answer_at(program, allowed_calls[i], SECCOMP_RET_ALLOW);
    /* the flags of clone3 stand in memory, which a filter cannot see: libc then takes clone */
    answer_at(program, __NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 1, 0);
    answer(program, refuse);
    load(program, offsetof(struct seccomp_data, args[0]));
    add(program, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1); /* threads, no processes */
    answer(program, SECCOMP_RET_ALLOW);
    answer(program, refuse);
}

static Error *filter_calls(void) {
    Program program = {0};
    write_program(&program);
    struct sock_fprog filter = {.len = program.count, .filter = program.steps};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        FAIL(UNSUPPORTED, "this kernel filters no system calls: %s", strerror(errno));
    return NULL;
}

/* path NULL: the working directory. A folder that is not there needs no rule. */
static Error *allow_folder(int rules, const char *path, uint64_t access) {
    struct landlock_path_beneath_attr rule = {.allowed_access = access};
    rule.parent_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (rule.parent_fd < 0) return NULL;
    long result = syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int number = errno;
    (void)close(rule.parent_fd);
    if (result != 0) FAIL(IO, "the sandbox cannot be made: %s", strerror(number));
    return NULL;
}

/* A kernel without Landlock (before 5.13, or switched off) still has the other restrictions. */
static Error *restrict_files(void) {
    const uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    const uint64_t writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                             LANDLOCK_ACCESS_FS_MAKE_REG;
    struct landlock_ruleset_attr all = {
        .handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    int rules = (int)syscall(__NR_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0) return NULL;
    Error *error = allow_folder(rules, ".", reading | writing);
    if (!error) error = allow_folder(rules, "/proc", reading);
    if (!error) error = allow_folder(rules, "/sys", reading);
    if (!error && syscall(__NR_landlock_restrict_self, rules, 0) != 0)
        error = error_make(
            ERROR_IO, __FILE__, __LINE__, "the sandbox cannot be closed: %s", strerror(errno));
    (void)close(rules);
    return error;
}

/* Keeps a lower limit that was inherited, since no process may raise it. */
static Error *limit(__rlimit_resource_t resource, uint64_t value) {
    struct rlimit both;
    if (getrlimit(resource, &both) != 0)
        FAIL(IO, "the sandbox's limits cannot be read: %s", strerror(errno));
    if (both.rlim_max > value) both.rlim_max = value;
    if (both.rlim_cur > both.rlim_max) both.rlim_cur = both.rlim_max;
    if (setrlimit(resource, &both) != 0)
        FAIL(IO, "the sandbox's limits cannot be set: %s", strerror(errno));
    return NULL;
}

Error *sandbox_enter(const SandboxLimits *limits) {
    if (limits->memory_bytes) TRY(limit(RLIMIT_AS, limits->memory_bytes));
    if (limits->data_bytes) TRY(limit(RLIMIT_DATA, limits->data_bytes));
    if (limits->file_bytes) TRY(limit(RLIMIT_FSIZE, limits->file_bytes));
    if (limits->cpu_seconds) TRY(limit(RLIMIT_CPU, limits->cpu_seconds));
    TRY(limit(RLIMIT_NOFILE, DESCRIPTORS_MAX));
    TRY(limit(RLIMIT_CORE, 0));
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        FAIL(IO, "the sandbox cannot be made: %s", strerror(errno));
    TRY(restrict_files());
    return filter_calls();
}
