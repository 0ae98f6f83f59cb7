// sim/locks.cpp: replaces the functions of mutexes, condition variables and similar types. The state of a lock stays in
// libc's object. The simulator tries to lock this object with libc's `try` function. If a thread does not get the lock,
// it waits in the simulator.
#include <sim/real.hpp>

#include <climits>

#include <semaphore.h>

namespace sim {
namespace {

/// Repeats `attempt` until it returns a value other than EBUSY.
template <typename Attempt>
auto repeat(call kind, const void* address, nanoseconds deadline, Attempt attempt) -> int {
  point(kind);
  for (;;) {
    const int error = attempt();
    if (error != EBUSY) return error;
    if (now() >= deadline) return ETIMEDOUT;
    block({.kind = kind, .address = address, .deadline = deadline});
  }
}

/// The simulator's state of a barrier, stored in the memory of the `pthread_barrier_t`.
struct barrier {
  std::uint32_t needed;
  std::uint32_t arrived;
  std::uint32_t generation;
};
static_assert(sizeof(barrier) <= sizeof(pthread_barrier_t));

constexpr int once_done = 2;  // the value that libc uses
constexpr int once_runs = 1;

/// A guard that ends the initialization of a `pthread_once_t`, even if the function throws.
struct once_end {
  int* control;
  int result = PTHREAD_ONCE_INIT;
  explicit once_end(int* once) : control(once) {}
  once_end(const once_end&) = delete;
  auto operator=(const once_end&) -> once_end& = delete;
  ~once_end() {
    *control = result;
    wake(call::once, control, INT_MAX);
  }
};

}  // namespace

// --- mutexes ---

SIM_CALL(int, pthread_mutex_trylock, pthread_mutex_t* mutex) {
  if (on()) point(call::mutex_lock);
  return REAL(pthread_mutex_trylock)(mutex);
}

auto lock_mutex(pthread_mutex_t* mutex, nanoseconds deadline) -> int {
  return repeat(call::mutex_lock, mutex, deadline, [mutex] {
    const int error = REAL(pthread_mutex_trylock)(mutex);
    const bool is_mine = mutex->__data.__owner == self->kernel_id.load(std::memory_order_relaxed);
    const bool is_checked = (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK_NP;
    return error == EBUSY && is_mine && is_checked ? EDEADLK : error;
  });
}

SIM_CALL(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
  return on() ? lock_mutex(mutex, never) : REAL(pthread_mutex_lock)(mutex);
}

SIM_CALL(int, pthread_mutex_clocklock, pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) {
  if (!on()) return REAL(pthread_mutex_clocklock)(mutex, clock, limit);
  return is_valid(*limit) ? lock_mutex(mutex, moment(clock, *limit)) : EINVAL;
}

SIM_CALL(int, pthread_mutex_timedlock, pthread_mutex_t* mutex, const timespec* limit) {
  if (!on()) return REAL(pthread_mutex_timedlock)(mutex, limit);
  return is_valid(*limit) ? lock_mutex(mutex, moment(CLOCK_REALTIME, *limit)) : EINVAL;
}

SIM_CALL(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
  const int error = REAL(pthread_mutex_unlock)(mutex);
  if (!on() || error != 0) return error;
  wake(call::mutex_lock, mutex, 1);
  point(call::mutex_unlock);
  return 0;
}

// --- condition variables: only the simulator records the waiting threads ---

namespace {

auto wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, nanoseconds deadline) -> int {
  const int error = REAL(pthread_mutex_unlock)(mutex);
  if (error != 0) return error;
  wake(call::mutex_lock, mutex, 1);
  const woken end = block({.kind = call::condition_wait, .address = condition, .deadline = deadline});
  const int locked = lock_mutex(mutex, never);
  if (locked != 0) return locked;
  return end == woken::timed_out ? ETIMEDOUT : 0;
}

}  // namespace

SIM_CALL(int, pthread_cond_wait, pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!on()) return REAL(pthread_cond_wait)(condition, mutex);
  return wait_for_condition(condition, mutex, never);
}

SIM_CALL(int, pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
         const timespec* limit) {
  if (!on()) return REAL(pthread_cond_clockwait)(condition, mutex, clock, limit);
  return is_valid(*limit) ? wait_for_condition(condition, mutex, moment(clock, *limit)) : EINVAL;
}

SIM_CALL(int, pthread_cond_timedwait, pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit) {
  if (!on()) return REAL(pthread_cond_timedwait)(condition, mutex, limit);
  const bool is_monotonic = (condition->__data.__wrefs & 2) != 0;
  return sim_pthread_cond_clockwait(condition, mutex, is_monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, limit);
}

SIM_CALL(int, pthread_cond_signal, pthread_cond_t* condition) {
  if (!on()) return REAL(pthread_cond_signal)(condition);
  wake(call::condition_wait, condition, 1);
  point(call::condition_signal);
  return 0;
}

SIM_CALL(int, pthread_cond_broadcast, pthread_cond_t* condition) {
  if (!on()) return REAL(pthread_cond_broadcast)(condition);
  wake(call::condition_wait, condition, INT_MAX);
  point(call::condition_signal);
  return 0;
}

// --- read-write locks ---

SIM_CALL(int, pthread_rwlock_tryrdlock, pthread_rwlock_t* lock) {
  if (on()) point(call::rwlock_lock);
  return REAL(pthread_rwlock_tryrdlock)(lock);
}

SIM_CALL(int, pthread_rwlock_trywrlock, pthread_rwlock_t* lock) {
  if (on()) point(call::rwlock_lock);
  return REAL(pthread_rwlock_trywrlock)(lock);
}

namespace {

auto lock_to_read(pthread_rwlock_t* lock, nanoseconds deadline) -> int {
  return repeat(call::rwlock_lock, lock, deadline, [lock] { return REAL(pthread_rwlock_tryrdlock)(lock); });
}

auto lock_to_write(pthread_rwlock_t* lock, nanoseconds deadline) -> int {
  return repeat(call::rwlock_lock, lock, deadline, [lock] { return REAL(pthread_rwlock_trywrlock)(lock); });
}

}  // namespace

SIM_CALL(int, pthread_rwlock_rdlock, pthread_rwlock_t* lock) {
  return on() ? lock_to_read(lock, never) : REAL(pthread_rwlock_rdlock)(lock);
}

SIM_CALL(int, pthread_rwlock_wrlock, pthread_rwlock_t* lock) {
  return on() ? lock_to_write(lock, never) : REAL(pthread_rwlock_wrlock)(lock);
}

SIM_CALL(int, pthread_rwlock_timedrdlock, pthread_rwlock_t* lock, const timespec* limit) {
  return on() ? lock_to_read(lock, moment(CLOCK_REALTIME, *limit)) : REAL(pthread_rwlock_timedrdlock)(lock, limit);
}

SIM_CALL(int, pthread_rwlock_timedwrlock, pthread_rwlock_t* lock, const timespec* limit) {
  return on() ? lock_to_write(lock, moment(CLOCK_REALTIME, *limit)) : REAL(pthread_rwlock_timedwrlock)(lock, limit);
}

SIM_CALL(int, pthread_rwlock_clockrdlock, pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) {
  return on() ? lock_to_read(lock, moment(clock, *limit)) : REAL(pthread_rwlock_clockrdlock)(lock, clock, limit);
}

SIM_CALL(int, pthread_rwlock_clockwrlock, pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) {
  return on() ? lock_to_write(lock, moment(clock, *limit)) : REAL(pthread_rwlock_clockwrlock)(lock, clock, limit);
}

SIM_CALL(int, pthread_rwlock_unlock, pthread_rwlock_t* lock) {
  const int error = REAL(pthread_rwlock_unlock)(lock);
  if (!on() || error != 0) return error;
  wake(call::rwlock_lock, lock, INT_MAX);
  point(call::rwlock_unlock);
  return 0;
}

// --- semaphores ---

SIM_CALL(int, sem_trywait, sem_t* semaphore) {
  if (on()) point(call::semaphore_wait);
  return REAL(sem_trywait)(semaphore);
}

namespace {

auto wait_for_semaphore(sem_t* semaphore, nanoseconds deadline) -> int {
  point(call::semaphore_wait);
  for (;;) {
    if (REAL(sem_trywait)(semaphore) == 0) return 0;
    if (errno != EAGAIN) return -1;
    if (now() >= deadline) return fail(ETIMEDOUT);
    const wait until{.kind = call::semaphore_wait, .address = semaphore, .deadline = deadline};
    if (block(until) == woken::interrupted) return fail(EINTR);
  }
}

}  // namespace

SIM_CALL(int, sem_wait, sem_t* semaphore) {
  return on() ? wait_for_semaphore(semaphore, never) : REAL(sem_wait)(semaphore);
}

SIM_CALL(int, sem_clockwait, sem_t* semaphore, clockid_t clock, const timespec* limit) {
  if (!on()) return REAL(sem_clockwait)(semaphore, clock, limit);
  return is_valid(*limit) ? wait_for_semaphore(semaphore, moment(clock, *limit)) : fail(EINVAL);
}

SIM_CALL(int, sem_timedwait, sem_t* semaphore, const timespec* limit) {
  if (!on()) return REAL(sem_timedwait)(semaphore, limit);
  return sim_sem_clockwait(semaphore, CLOCK_REALTIME, limit);
}

SIM_CALL(int, sem_post, sem_t* semaphore) {
  const int status = REAL(sem_post)(semaphore);
  if (!on() || status != 0) return status;
  wake(call::semaphore_wait, semaphore, 1);
  point(call::semaphore_post);
  return 0;
}

// --- barriers, pthread_once and spin locks ---

SIM_CALL(int, pthread_barrier_init, pthread_barrier_t* memory, const pthread_barrierattr_t* attributes,
         unsigned count) {
  if (!on()) return REAL(pthread_barrier_init)(memory, attributes, count);
  if (count == 0) return EINVAL;
  *reinterpret_cast<barrier*>(memory) = {count, 0, 0};
  return 0;
}

SIM_CALL(int, pthread_barrier_wait, pthread_barrier_t* memory) {
  if (!on()) return REAL(pthread_barrier_wait)(memory);
  point(call::barrier_wait);
  auto& shared = *reinterpret_cast<barrier*>(memory);
  const std::uint32_t generation = shared.generation;
  if (++shared.arrived == shared.needed) {
    shared.arrived = 0;
    ++shared.generation;
    wake(call::barrier_wait, memory, INT_MAX);
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  // A woken thread does not read the barrier, because another thread may have destroyed it.
  while (block({.kind = call::barrier_wait, .address = memory}) != woken::called)
    if (shared.generation != generation) break;
  return 0;
}

SIM_CALL(int, pthread_barrier_destroy, pthread_barrier_t* memory) {
  return on() ? 0 : REAL(pthread_barrier_destroy)(memory);
}

SIM_CALL(int, pthread_once, pthread_once_t* control, void (*routine)()) {
  if (!on()) return REAL(pthread_once)(control, routine);
  if (*control == once_done) return 0;
  point(call::once);
  while (*control == once_runs) block({.kind = call::once, .address = control});
  if (*control == once_done) return 0;
  *control = once_runs;
  once_end end(control);
  routine();
  end.result = once_done;
  return 0;
}

SIM_CALL(int, pthread_spin_trylock, pthread_spinlock_t* lock) {
  if (on()) point(call::spin_lock);
  return REAL(pthread_spin_trylock)(lock);
}

SIM_CALL(int, pthread_spin_lock, pthread_spinlock_t* lock) {
  if (!on()) return REAL(pthread_spin_lock)(lock);
  const void* address = const_cast<const int*>(lock);
  return repeat(call::spin_lock, address, never, [lock] { return REAL(pthread_spin_trylock)(lock); });
}

SIM_CALL(int, pthread_spin_unlock, pthread_spinlock_t* lock) {
  const int error = REAL(pthread_spin_unlock)(lock);
  if (!on() || error != 0) return error;
  wake(call::spin_lock, const_cast<const int*>(lock), 1);
  point(call::mutex_unlock);
  return 0;
}

// --- C11 locks: libc's own functions do not call the replaced POSIX functions ---

namespace {

auto c11(int error) -> int { return error == 0 ? 0 : error == EBUSY ? 1 : error == ETIMEDOUT ? 4 : 2; }

}  // namespace

SIM_CALL(int, mtx_lock, pthread_mutex_t* mutex) { return c11(sim_pthread_mutex_lock(mutex)); }
SIM_CALL(int, mtx_trylock, pthread_mutex_t* mutex) { return c11(sim_pthread_mutex_trylock(mutex)); }
SIM_CALL(int, mtx_unlock, pthread_mutex_t* mutex) { return c11(sim_pthread_mutex_unlock(mutex)); }
SIM_CALL(int, mtx_timedlock, pthread_mutex_t* mutex, const timespec* limit) {
  return c11(sim_pthread_mutex_timedlock(mutex, limit));
}
SIM_CALL(int, cnd_wait, pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return c11(sim_pthread_cond_wait(condition, mutex));
}
SIM_CALL(int, cnd_timedwait, pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit) {
  return c11(sim_pthread_cond_timedwait(condition, mutex, limit));
}
SIM_CALL(int, cnd_signal, pthread_cond_t* condition) { return c11(sim_pthread_cond_signal(condition)); }
SIM_CALL(int, cnd_broadcast, pthread_cond_t* condition) { return c11(sim_pthread_cond_broadcast(condition)); }
SIM_CALL(void, call_once, pthread_once_t* control, void (*routine)()) { sim_pthread_once(control, routine); }

}  // namespace sim
