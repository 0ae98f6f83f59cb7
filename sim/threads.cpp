// sim/threads.cpp: replaces the functions that start and end threads, and other functions about threads.
#include <sim/real.hpp>

#include <algorithm>
#include <cstring>

namespace sim {
namespace {

pthread_key_t end_key;
constinit pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

/// A destructor of thread-specific data that ends the simulated thread. It runs after the destructors of thread_local
/// objects. The destructor registers itself again until the last round, because other destructors of the program may
/// still make simulated calls.
void end_round(void* value) {
  if (self == nullptr) return;
  if (++self->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    ::pthread_setspecific(end_key, value);
  } else {
    end_thread();
  }
}

void make_end_key() { ::pthread_key_create(&end_key, &end_round); }

auto run_thread(void* started) -> void* {
  auto& mine = *static_cast<thread*>(started);
  begin_thread(mine);
  ::pthread_setspecific(end_key, started);
  return mine.start(mine.argument);
}

auto join(pthread_t handle, nanoseconds deadline, thread*& joined) -> int {
  joined = find_thread(handle);
  if (joined == nullptr) return ESRCH;
  if (joined == self) return EDEADLK;
  point(call::thread_join);
  while (joined->is != state::finished) {
    if (now() >= deadline) return deadline <= 0 ? EBUSY : ETIMEDOUT;
    block({.kind = call::thread_join, .address = joined, .deadline = deadline});
  }
  return 0;
}

}  // namespace

auto kernel(long number, long a, long b, long c, long d, long e, long f) -> long {
  using function = long (*)(long, ...);
  static function found = nullptr;
  if (found == nullptr) found = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "syscall"));
  return found(number, a, b, c, d, e, f);
}

SIM_CALL(int, pthread_create, pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
         void* argument) {
  if (!on()) return REAL(pthread_create)(handle, attributes, start, argument);
  if (end_key_once == PTHREAD_ONCE_INIT) {
    end_key_once = 2;
    make_end_key();
  }
  thread* made = add_thread();
  if (made == nullptr) return EAGAIN;
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) ::pthread_attr_getdetachstate(attributes, &detached);
  made->is_joined = detached == PTHREAD_CREATE_DETACHED;
  made->start = start;
  made->argument = argument;
  const int error = REAL(pthread_create)(handle, attributes, &run_thread, made);
  if (error != 0) {
    remove_thread(*made);
    return error;
  }
  made->handle = *handle;
  point(call::thread_create);
  return 0;
}

SIM_CALL(int, pthread_join, pthread_t handle, void** value) {
  if (!on()) return REAL(pthread_join)(handle, value);
  thread* joined = nullptr;
  const int error = join(handle, never, joined);
  if (error != 0) return error;
  joined->is = state::unused;
  return REAL(pthread_join)(handle, value);
}

SIM_CALL(int, pthread_clockjoin_np, pthread_t handle, void** value, clockid_t clock, const timespec* limit) {
  if (!on()) return REAL(pthread_clockjoin_np)(handle, value, clock, limit);
  thread* joined = nullptr;
  const int error = join(handle, limit == nullptr ? never : moment(clock, *limit), joined);
  if (error != 0) return error;
  joined->is = state::unused;
  return REAL(pthread_join)(handle, value);
}

SIM_CALL(int, pthread_timedjoin_np, pthread_t handle, void** value, const timespec* limit) {
  return sim_pthread_clockjoin_np(handle, value, CLOCK_REALTIME, limit);
}

SIM_CALL(int, pthread_tryjoin_np, pthread_t handle, void** value) {
  if (!on()) return REAL(pthread_tryjoin_np)(handle, value);
  point(call::thread_join);
  const thread* found = find_thread(handle);
  if (found != nullptr && found->is != state::finished) return EBUSY;
  return sim_pthread_join(handle, value);
}

SIM_CALL(int, pthread_detach, pthread_t handle) {
  if (!on()) return REAL(pthread_detach)(handle);
  thread* found = find_thread(handle);
  if (found == nullptr || found->is_joined) return EINVAL;
  found->is_joined = true;
  if (found->is == state::finished) found->is = state::unused;
  return REAL(pthread_detach)(handle);
}

SIM_CALL(int, pthread_cancel, pthread_t handle) {
  if (on()) refuse("pthread_cancel", "the simulator cannot cancel a thread in the middle of a call");
  return REAL(pthread_cancel)(handle);
}

SIM_CALL(int, pthread_setname_np, pthread_t handle, const char* name) {
  if (on()) {
    thread* found = find_thread(handle);
    if (found != nullptr && std::strlen(name) < found->name.size()) {
      std::strcpy(found->name.data(), name);
      if (found->id <= named_threads) page->thread_names[found->id - 1] = found->name;
    }
  }
  return REAL(pthread_setname_np)(handle, name);
}

// C11 threads are replaced as well, because libc's own functions do not call the replaced POSIX functions.

SIM_CALL(int, thrd_create, pthread_t* handle, int (*start)(void*), void* argument) {
  // thrd_join converts the returned pointer back to an int, like the function of libc.
  using posix = void* (*)(void*);
  const int error =
      sim_pthread_create(handle, nullptr, reinterpret_cast<posix>(reinterpret_cast<void*>(start)), argument);
  return error == 0 ? 0 : error == ENOMEM || error == EAGAIN ? 3 : 2;
}

SIM_CALL(int, thrd_join, pthread_t handle, int* value) {
  void* found = nullptr;
  const int error = sim_pthread_join(handle, &found);
  if (value != nullptr) *value = static_cast<int>(reinterpret_cast<std::intptr_t>(found));
  return error == 0 ? 0 : 2;
}

}  // namespace sim
