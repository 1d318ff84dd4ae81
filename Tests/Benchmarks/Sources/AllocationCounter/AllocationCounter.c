// Counts calls of malloc and its relatives.
//
// The definitions below are part of the executable, where the dynamic linker looks first.
// So the Swift runtime, Foundation and libdispatch call them too, as with LD_PRELOAD, but
// nothing has to be preloaded. While no count runs they cost a load and a branch. `free`
// is not replaced.

#include "AllocationCounter.h"

#include <stdatomic.h>

static atomic_int is_counting;
static atomic_uint_least64_t count;

void allocation_counter_start(void) {
  atomic_store(&count, 0);
  atomic_store(&is_counting, 1);
}

uint64_t allocation_counter_stop(void) {
  atomic_store(&is_counting, 0);
  return atomic_load(&count);
}

#if defined(__linux__)

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

// The names of glibc's own allocator.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static inline void note(void) {
  if (atomic_load_explicit(&is_counting, memory_order_relaxed))
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

int allocation_counter_is_supported(void) { return 1; }

void allocation_counter_trim(void) { malloc_trim(0); }

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
  note();
  return __libc_calloc(items, size);
}

void *realloc(void *old, size_t size) {
  note();
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  note();
  void *made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *result = made;
  return 0;
}

#else

int allocation_counter_is_supported(void) { return 0; }

void allocation_counter_trim(void) {}

#endif
