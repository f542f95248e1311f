/*
 * A library that is loaded into a server before libc (LD_PRELOAD): it changes what the server is told about its disk and about the
 * time of day. The fault test compiles it at its start; `preload.rs` beside it writes the settings, and reads the counters.
 *
 * ORLOP_CHAOS_CONTROL names the control file, which this library maps. ORLOP_CHAOS_DIRECTORY names the directory below which
 * accesses to files fail, without symbolic links in it. While no fault is set, each call is passed on as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The control file: numbers of 8 bytes each, in the order of this machine. `preload.rs` has the same places. */
struct control {
    int64_t clock_offset_seconds; /* is added to the time of day */
    uint64_t disk_fault;          /* one of the values below */
    uint64_t processes;           /* number of processes that have loaded the library */
    uint64_t changed_times;       /* number of times of day that differed from the machine's */
    uint64_t failed_writes;       /* number of writes that failed */
    uint64_t failed_syncs;        /* number of flushes that failed */
    uint64_t short_writes;        /* number of writes of which only a part was made */
};

enum { NO_FAULT, FAIL_WRITES, FAIL_SYNCS, SHORTEN_WRITES };

static struct control *control;
static char directory[PATH_MAX];

static ssize_t (*next_write)(int, const void *, size_t);
static ssize_t (*next_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*next_writev)(int, const struct iovec *, int);
static int (*next_ftruncate)(int, off64_t);
static int (*next_fsync)(int);
static int (*next_fdatasync)(int);
static int (*next_clock_gettime)(clockid_t, struct timespec *);

/* Finds libc's functions. Libraries that begin before this one may call them already. */
static void find_functions(void) {
    next_write = dlsym(RTLD_NEXT, "write");
    next_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    next_writev = dlsym(RTLD_NEXT, "writev");
    next_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    next_fsync = dlsym(RTLD_NEXT, "fsync");
    next_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    next_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

#define NEXT(function) (function ? function : (find_functions(), function))

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("ORLOP_CHAOS_CONTROL");
    const char *below = getenv("ORLOP_CHAOS_DIRECTORY");
    find_functions();
    if (!path || !below || strlen(below) >= sizeof directory) return;
    strcpy(directory, below);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return;
    control = mapped;
    __atomic_fetch_add(&control->processes, 1, __ATOMIC_RELAXED);
}

static void count(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

/* Returns the fault that a file has at present. */
static uint64_t fault_of(int file) {
    uint64_t fault = control ? __atomic_load_n(&control->disk_fault, __ATOMIC_RELAXED) : NO_FAULT;
    if (fault == NO_FAULT) return NO_FAULT;
    char link[32 + sizeof "/proc/self/fd/"], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return NO_FAULT;
    path[length] = 0;
    size_t prefix = strlen(directory);
    int is_below = !strncmp(path, directory, prefix) && (path[prefix] == '/' || !path[prefix]);
    return is_below ? fault : NO_FAULT;
}

static int fail(uint64_t *counter) {
    count(counter);
    errno = EIO;
    return -1;
}

/*
 * Returns how much of a write is made: all of it, half of it, or -1 if it fails. Where writes fail, each second one is made by half
 * before the next one fails, so that the file ends within a record.
 */
static ssize_t part(int file, size_t length) {
    static uint64_t writes;
    uint64_t fault = fault_of(file);
    int fails = fault == FAIL_WRITES && (length < 2 || __atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED) % 2);
    if (fails) return fail(&control->failed_writes);
    if ((fault != FAIL_WRITES && fault != SHORTEN_WRITES) || length < 2) return (ssize_t)length;
    count(&control->short_writes);
    return (ssize_t)(length / 2);
}

ssize_t write(int file, const void *bytes, size_t length) {
    ssize_t made = part(file, length);
    return made < 0 ? -1 : NEXT(next_write)(file, bytes, (size_t)made);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
    ssize_t made = part(file, length);
    return made < 0 ? -1 : NEXT(next_pwrite)(file, bytes, (size_t)made, offset);
}

ssize_t writev(int file, const struct iovec *parts, int number) {
    ssize_t made = number > 0 ? part(file, parts[0].iov_len) : 0;
    if (made < 0) return -1;
    if (number < 1 || (size_t)made == parts[0].iov_len) return NEXT(next_writev)(file, parts, number);
    return NEXT(next_write)(file, parts[0].iov_base, (size_t)made);
}

int ftruncate64(int file, off64_t length) {
    return fault_of(file) == FAIL_WRITES ? fail(&control->failed_writes) : NEXT(next_ftruncate)(file, length);
}

int fsync(int file) {
    return fault_of(file) == FAIL_SYNCS ? fail(&control->failed_syncs) : NEXT(next_fsync)(file);
}

int fdatasync(int file) {
    return fault_of(file) == FAIL_SYNCS ? fail(&control->failed_syncs) : NEXT(next_fdatasync)(file);
}

/* The monotonic clocks stay as they are. */
int clock_gettime(clockid_t clock, struct timespec *time) {
    int outcome = NEXT(next_clock_gettime)(clock, time);
    int64_t offset = control ? __atomic_load_n(&control->clock_offset_seconds, __ATOMIC_RELAXED) : 0;
    if (outcome || !offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return outcome;
    time->tv_sec += offset;
    count(&control->changed_times);
    return 0;
}
