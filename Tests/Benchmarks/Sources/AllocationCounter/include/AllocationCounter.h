#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdint.h>

/// Whether allocations can be counted on this platform.
int allocation_counter_is_supported(void);

/// Starts to count the allocations of the whole process, from zero.
void allocation_counter_start(void);

/// Stops counting and returns the number of allocations.
uint64_t allocation_counter_stop(void);

/// Returns unused memory of the allocator to the system.
void allocation_counter_trim(void);

#endif
