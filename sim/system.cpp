// sim/system.cpp: replaces system calls by number, the calls for entropy, CPUs and thread numbers, and the calls that
// the simulator refuses.
#include <sim/disk.hpp>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim {
namespace {

// --- futexes ---

auto wait_on_futex(const std::uint32_t* word, std::uint32_t expected, nanoseconds deadline, std::uint32_t bits)
    -> long {
  point(call::futex_wait);
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != expected) return fail(EAGAIN);
  switch (block({.kind = call::futex_wait, .address = word, .deadline = deadline, .bits = bits})) {
    case woken::called: return 0;
    case woken::timed_out: return fail(ETIMEDOUT);
    case woken::interrupted: return fail(EINTR);
  }
  return 0;
}

/// Moves up to `count` threads that wait for one futex to another futex. Returns their number.
auto requeue(const void* from, const void* to, int count) -> int {
  int moved = 0;
  for_each_thread([&](thread& each) {
    const bool waits = each.is == state::blocked && each.waits.kind == call::futex_wait && each.waits.address == from;
    if (!waits || moved == count) return;
    each.waits.address = to;
    ++moved;
  });
  return moved;
}

auto futex_deadline(int operation, const timespec* limit) -> nanoseconds {
  if (limit == nullptr) return never;
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT) return after(*limit);
  return moment((operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, *limit);
}

auto wake_futex(const void* word, int count, std::uint32_t bits) -> long {
  const int found = wake(call::futex_wait, word, count, bits);
  point(call::futex_wake);
  return found;
}

}  // namespace

/// Simulates the futex system call. `words` are its arguments.
auto futex(const long* words) -> long {
  const auto* word = reinterpret_cast<const std::uint32_t*>(words[0]);
  const int operation = static_cast<int>(words[1]);
  const auto value = static_cast<std::uint32_t>(words[2]);
  const auto bits = static_cast<std::uint32_t>(words[5]);
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      const bool has_bits = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
      const auto* limit = reinterpret_cast<const timespec*>(words[3]);
      if (limit != nullptr && (!is_valid(*limit) || limit->tv_sec < 0)) return fail(EINVAL);
      return wait_on_futex(word, value, futex_deadline(operation, limit), has_bits ? bits : ~0U);
    }
    case FUTEX_WAKE: return wake_futex(word, static_cast<int>(value), ~0U);
    case FUTEX_WAKE_BITSET: return wake_futex(word, static_cast<int>(value), bits);
    case FUTEX_CMP_REQUEUE:
      if (*word != bits) return fail(EAGAIN);
      [[fallthrough]];
    case FUTEX_REQUEUE: {
      const int moved = wake(call::futex_wait, word, static_cast<int>(value));
      return moved + requeue(word, reinterpret_cast<const void*>(words[4]), static_cast<int>(words[3]));
    }
    default: return fail(ENOSYS);
  }
}

// --- entropy ---

void fill_with_entropy(void* memory, std::size_t size) {
  auto* place = static_cast<char*>(memory);
  while (size > 0) {
    const std::uint64_t number = entropy();
    const std::size_t part = std::min(size, sizeof(number));
    std::memcpy(place, &number, part);
    place += part;
    size -= part;
  }
}

/// Replaces the function of std::random_device that returns random values, because libstdc++ gets these values from the
/// processor.
extern "C" __attribute__((visibility("default"))) auto sim_device_value(void* device)
    -> unsigned asm("_ZNSt13random_device9_M_getvalEv");
extern "C" auto sim_device_value(void* device) -> unsigned {
  if (on()) return static_cast<unsigned>(entropy());
  static void* found = nullptr;
  if (found == nullptr) found = ::dlsym(RTLD_NEXT, "_ZNSt13random_device9_M_getvalEv");
  return reinterpret_cast<decltype(&sim_device_value)>(found)(device);
}

SIM_CALL(ssize_t, getrandom, void* memory, size_t size, unsigned flags) {
  if (!on()) return REAL(getrandom)(memory, size, flags);
  point(call::entropy);
  fill_with_entropy(memory, size);
  return static_cast<ssize_t>(size);
}

SIM_CALL(int, getentropy, void* memory, size_t size) {
  if (!on()) return REAL(getentropy)(memory, size);
  if (size > 256) return fail(EIO);
  fill_with_entropy(memory, size);
  return 0;
}

SIM_CALL(void, arc4random_buf, void* memory, size_t size) {
  if (!on()) return REAL(arc4random_buf)(memory, size);
  fill_with_entropy(memory, size);
}

SIM_CALL(std::uint32_t, arc4random, void) { return on() ? static_cast<std::uint32_t>(entropy()) : REAL(arc4random)(); }

SIM_CALL(std::uint32_t, arc4random_uniform, std::uint32_t bound) {
  if (!on()) return REAL(arc4random_uniform)(bound);
  return bound < 2 ? 0 : static_cast<std::uint32_t>(entropy() % bound);
}

/// Implements braid::sim::sometimes, which finds this function by its name. For each `place`, a quarter of the seeds
/// enables that place; the result is then 1 in a quarter of the calls. With all other seeds, the result is 0. So each
/// seed tries only some of the places.
extern "C" __attribute__((visibility("default"))) auto braid_sim_sometimes(const char* place) -> int {
  if (!on()) return 0;
  const auto calm_from = static_cast<nanoseconds>(page->wanted.calm_from_ns);
  if (calm_from != 0 && now() - start_time >= calm_from) return 0;
  std::uint64_t mixed = page->wanted.seed;
  for (const char each : std::string_view(place))
    mixed = (mixed ^ static_cast<unsigned char>(each)) * 0x9e3779b97f4a7c15U;
  return (mixed >> 60U) % 4 == 0 && entropy() % 4 == 0 ? 1 : 0;
}

// --- opening files: entropy devices, and folders of threads in /proc ---

namespace {

struct leading_number {
  std::int32_t value;
  const char* rest;
};

/// Returns the number after `prefix`, if the text begins with the prefix and a number.
auto number_after(std::string_view prefix, const char* text) -> std::optional<leading_number> {
  if (!std::string_view(text).starts_with(prefix)) return std::nullopt;
  const char* const from = text + prefix.size();
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(from, from + std::strlen(from), value);
  if (error != std::errc()) return std::nullopt;
  return leading_number{.value = value, .rest = end};
}

/// A path with a thread number of the kernel, in place of the thread number that the program has used.
class system_path {
 public:
  explicit system_path(const char* asked) : path_(asked) {
    if (const auto found = number_after("/proc/self/task/", asked)) {
      shown_ = std::strcmp(found->rest, "/stat") == 0 ? find_thread(found->value) : nullptr;
      std::snprintf(text_.data(), text_.size(), "/proc/self/task/%d%s", to_kernel_id(found->value), found->rest);
      path_ = text_.data();
    } else if (const auto process = number_after("/proc/", asked); process && process->value == first_id) {
      std::snprintf(text_.data(), text_.size(), "/proc/self%s", process->rest);
      path_ = text_.data();
    }
  }
  [[nodiscard]] auto get() const -> const char* { return path_; }
  /// Returns the thread whose state is in the file at this path. Returns null if the file is not such a file.
  [[nodiscard]] auto shown() const -> const thread* { return shown_; }

 private:
  const char* path_;
  const thread* shown_ = nullptr;
  std::array<char, 256> text_{};
};

auto is_entropy(const char* path) -> bool {
  return std::strcmp(path, "/dev/urandom") == 0 || std::strcmp(path, "/dev/random") == 0;
}

/// Opens a memory file with random bytes in place of an entropy device. The number of bytes is limited.
auto open_entropy() -> int {
  constexpr long size = 65'536;
  std::array<char, 4096> bytes{};
  const int made = static_cast<int>(kernel(SYS_memfd_create, reinterpret_cast<long>("entropy"), 0));
  for (long at = 0; made >= 0 && at < size; at += static_cast<long>(bytes.size())) {
    fill_with_entropy(bytes.data(), bytes.size());
    kernel(SYS_pwrite64, made, reinterpret_cast<long>(bytes.data()), static_cast<long>(bytes.size()), at);
  }
  return made;
}

/// Opens a memory file with the kernel's description of a thread. The thread's state is replaced by its simulated
/// state, because all threads but one sleep in the kernel's view.
auto open_state(const char* path, const thread& shown) -> int {
  std::array<char, 4096> text{};
  const int real = static_cast<int>(kernel(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY));
  if (real < 0) return real;
  const long size = kernel(SYS_read, real, reinterpret_cast<long>(text.data()), static_cast<long>(text.size() - 1));
  kernel(SYS_close, real);
  char* name_end = std::strrchr(text.data(), ')');
  if (size < 0 || name_end == nullptr) return fail(ESRCH);
  if (name_end[2] == 'R' || name_end[2] == 'S' || name_end[2] == 'D')
    name_end[2] = shown.is == state::blocked ? 'S' : 'R';
  const int made = static_cast<int>(kernel(SYS_memfd_create, reinterpret_cast<long>("stat"), 0));
  if (made >= 0) kernel(SYS_pwrite64, made, reinterpret_cast<long>(text.data()), size, 0);
  return made;
}

auto open_at(int folder, const char* path, int flags, unsigned mode) -> int {
  if (!on()) return static_cast<int>(kernel(SYS_openat, folder, reinterpret_cast<long>(path), flags, mode));
  if (is_entropy(path)) return open_entropy();
  const system_path found(path);
  if (found.shown() != nullptr) return open_state(found.get(), *found.shown());
  if (has_disk()) return open_on_disk(folder, found.get(), flags, mode);
  return static_cast<int>(kernel(SYS_openat, folder, reinterpret_cast<long>(found.get()), flags, mode));
}

auto read_mode(int flags, va_list arguments) -> unsigned {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, unsigned) : 0;
}

}  // namespace

#define SIM_OPEN(name, folder, ...)                    \
  SIM_CALL(int, name, __VA_ARGS__, int flags, ...) {   \
    va_list arguments;                                 \
    va_start(arguments, flags);                        \
    const unsigned mode = read_mode(flags, arguments); \
    va_end(arguments);                                 \
    return open_at(folder, path, flags, mode);         \
  }
SIM_OPEN(open, AT_FDCWD, const char* path)
SIM_OPEN(open64, AT_FDCWD, const char* path)
SIM_OPEN(openat, folder, int folder, const char* path)
SIM_OPEN(openat64, folder, int folder, const char* path)

SIM_CALL(int, __open_2, const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
SIM_CALL(int, __open64_2, const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }

SIM_CALL(int, creat, const char* path, mode_t mode) {
  return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
SIM_CALL(int, creat64, const char* path, mode_t mode) { return sim_creat(path, mode); }

namespace {

auto open_entropy_file() -> FILE* {
  cookie_io_functions_t functions{};
  functions.read = [](void* /*cookie*/, char* memory, std::size_t size) {
    fill_with_entropy(memory, size);
    return static_cast<ssize_t>(size);
  };
  return ::fopencookie(nullptr, "r", functions);
}

}  // namespace

SIM_CALL(FILE*, fopen, const char* path, const char* mode) {
  if (!on()) return REAL(fopen)(path, mode);
  if (is_entropy(path)) return open_entropy_file();
  const system_path found(path);
  if (found.shown() == nullptr)
    return has_disk() && writes(mode) ? open_stream(path, mode) : REAL(fopen)(found.get(), mode);
  const int state = open_state(found.get(), *found.shown());
  return state < 0 ? nullptr : ::fdopen(state, "r");
}

SIM_CALL(FILE*, fopen64, const char* path, const char* mode) { return sim_fopen(path, mode); }

namespace {

DIR* open_threads = nullptr;  // the folder of the process's threads, which names them by the kernel's numbers
dirent shown_entry{};

}  // namespace

SIM_CALL(DIR*, opendir, const char* path) {
  if (!on()) return REAL(opendir)(path);
  const system_path found(path);
  DIR* opened = REAL(opendir)(found.get());
  if (std::strcmp(path, "/proc/self/task") == 0) open_threads = opened;
  return opened;
}

SIM_CALL(dirent*, readdir, DIR* folder) {
  dirent* found = REAL(readdir)(folder);
  if (!on() || folder != open_threads || found == nullptr) return found;
  const auto id = number_after("", found->d_name);
  if (!id) return found;
  const thread* known = find_thread(id->value);
  shown_entry = *found;
  std::snprintf(shown_entry.d_name, sizeof(shown_entry.d_name), "%d",
                known == nullptr ? id->value : program_id(*known));
  return &shown_entry;
}

SIM_CALL(int, closedir, DIR* folder) {
  if (folder == open_threads) open_threads = nullptr;
  return REAL(closedir)(folder);
}

// --- CPUs ---

namespace {

/// Returns the size in bytes of a mask of all CPUs.
auto mask_size() -> std::size_t { return std::size_t{8} * ((page->wanted.cpus + 63) / 64); }

auto read_cpus(const thread* thread, std::size_t size, void* mask) -> long {
  if (thread == nullptr) return fail(ESRCH);
  if (size < mask_size()) return fail(EINVAL);
  std::memset(mask, 0, size);
  std::memcpy(mask, thread->cpus.data(), std::min(size, sizeof(thread->cpus)));
  return static_cast<long>(mask_size());
}

auto write_cpus(thread* thread, std::size_t size, const void* mask) -> long {
  if (thread == nullptr) return fail(ESRCH);
  decltype(thread->cpus) wanted{};
  std::memcpy(wanted.data(), mask, std::min(size, sizeof(wanted)));
  bool is_any = false;
  for (std::uint32_t cpu = 0; cpu < max_cpus; ++cpu) {
    const std::uint64_t bit = 1ULL << (cpu % 64);
    if (cpu >= page->wanted.cpus) wanted[cpu / 64] &= ~bit;
    is_any = is_any || (wanted[cpu / 64] & bit) != 0;
  }
  if (!is_any) return fail(EINVAL);
  thread->cpus = wanted;
  return 0;
}

}  // namespace

SIM_CALL(int, sched_getaffinity, pid_t id, size_t size, cpu_set_t* mask) {
  if (!on()) return REAL(sched_getaffinity)(id, size, mask);
  return read_cpus(find_thread(id), size, mask) < 0 ? -1 : 0;
}

SIM_CALL(int, sched_setaffinity, pid_t id, size_t size, const cpu_set_t* mask) {
  if (!on()) return REAL(sched_setaffinity)(id, size, mask);
  return static_cast<int>(write_cpus(find_thread(id), size, mask));
}

SIM_CALL(int, pthread_getaffinity_np, pthread_t handle, size_t size, cpu_set_t* mask) {
  if (!on()) return REAL(pthread_getaffinity_np)(handle, size, mask);
  return read_cpus(find_thread(handle), size, mask) < 0 ? errno : 0;
}

SIM_CALL(int, pthread_setaffinity_np, pthread_t handle, size_t size, const cpu_set_t* mask) {
  if (!on()) return REAL(pthread_setaffinity_np)(handle, size, mask);
  return write_cpus(find_thread(handle), size, mask) < 0 ? errno : 0;
}

SIM_CALL(int, get_nprocs, void) { return on() ? static_cast<int>(page->wanted.cpus) : REAL(get_nprocs)(); }

SIM_CALL(int, get_nprocs_conf, void) { return on() ? static_cast<int>(page->wanted.cpus) : REAL(get_nprocs_conf)(); }

SIM_CALL(long, sysconf, int name) {
  if (on() && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return page->wanted.cpus;
  return REAL(sysconf)(name);
}

SIM_CALL(int, sched_getcpu, void) {
  return on() ? static_cast<int>((self->id - 1) % page->wanted.cpus) : REAL(sched_getcpu)();
}

// --- thread numbers ---

SIM_CALL(pid_t, getpid, void) { return on() ? first_id : REAL(getpid)(); }

SIM_CALL(pid_t, getppid, void) { return on() ? 1 : REAL(getppid)(); }

SIM_CALL(pid_t, gettid, void) { return on() ? program_id(*self) : static_cast<pid_t>(kernel(SYS_gettid)); }

SIM_CALL(int, tgkill, pid_t process, pid_t id, int signal) {
  if (!on() || process != first_id) return static_cast<int>(kernel(SYS_tgkill, process, id, signal));
  thread* target = id == 0 ? nullptr : find_thread(id);
  if (target == nullptr || target->is == state::finished) return fail(ESRCH);
  if (signal < 0 || signal > 64) return fail(EINVAL);
  send_signal(*target, signal);
  point(call::signal_send);
  return 0;
}

SIM_CALL(int, setpriority, int which, id_t who, int priority) {
  const auto id = on() && which == PRIO_PROCESS ? static_cast<id_t>(to_kernel_id(static_cast<pid_t>(who))) : who;
  return REAL(setpriority)(which, id, priority);
}

SIM_CALL(int, getpriority, int which, id_t who) {
  const auto id = on() && which == PRIO_PROCESS ? static_cast<id_t>(to_kernel_id(static_cast<pid_t>(who))) : who;
  return REAL(getpriority)(which, id);
}

// --- refused calls ---

namespace {

constexpr const char* one_process = "the call creates another process; move this code out of the simulated program";

}  // namespace

SIM_CALL(pid_t, fork, void) {
  if (on()) refuse("fork", one_process);
  return REAL(fork)();
}

SIM_CALL(pid_t, vfork, void) {
  if (on()) refuse("vfork", one_process);
  return sim_fork();
}

SIM_CALL(int, clone, int (*start)(void*), void* stack, int flags, void* argument, void* a, void* b, void* c) {
  if (on()) refuse("clone", one_process);
  return REAL(clone)(start, stack, flags, argument, a, b, c);
}

SIM_CALL(int, posix_spawn, pid_t* id, const char* path, const void* actions, const void* attributes, char* const* words,
         char* const* variables) {
  if (on()) refuse("posix_spawn", one_process);
  return REAL(posix_spawn)(id, path, actions, attributes, words, variables);
}

SIM_CALL(int, posix_spawnp, pid_t* id, const char* path, const void* actions, const void* attributes,
         char* const* words, char* const* variables) {
  if (on()) refuse("posix_spawnp", one_process);
  return REAL(posix_spawnp)(id, path, actions, attributes, words, variables);
}

SIM_CALL(int, system, const char* command) {
  if (on()) refuse("system", one_process);
  return REAL(system)(command);
}

SIM_CALL(FILE*, popen, const char* command, const char* mode) {
  if (on()) refuse("popen", one_process);
  return REAL(popen)(command, mode);
}

// liburing makes its system calls without libc, so io_uring must be refused here.
SIM_CALL(int, io_uring_queue_init_params, unsigned entries, void* ring, void* parameters) {
  return on() ? -ENOSYS : REAL(io_uring_queue_init_params)(entries, ring, parameters);
}

SIM_CALL(int, io_uring_queue_init, unsigned entries, void* ring, unsigned flags) {
  return on() ? -ENOSYS : REAL(io_uring_queue_init)(entries, ring, flags);
}

// --- system calls by number ---

namespace {

auto get_time(const long* words) -> long {
  point(call::clock);
  *reinterpret_cast<timespec*>(words[1]) = to_timespec(clock_time(static_cast<clockid_t>(words[0])));
  return 0;
}

/// Makes a system call whose first argument is the number of a thread.
auto call_with_thread(long number, const long* words) -> long {
  return kernel(number, to_kernel_id(static_cast<std::int32_t>(words[0])), words[1], words[2], words[3], words[4],
                words[5]);
}

auto call_by_number(long number, const long* words) -> long {
  long result = 0;
  if (call_on_descriptor(number, words, result)) return result;
  switch (number) {
    case SYS_futex: return futex(words);
    case SYS_gettid: return sim_gettid();
    case SYS_getpid: return sim_getpid();
    case SYS_getrandom: return sim_getrandom(reinterpret_cast<void*>(words[0]), static_cast<std::size_t>(words[1]), 0);
    case SYS_clock_gettime: return get_time(words);
    case SYS_sched_yield: return yield(), 0;
    case SYS_tgkill:
      return sim_tgkill(static_cast<pid_t>(words[0]), static_cast<pid_t>(words[1]), static_cast<int>(words[2]));
    case SYS_tkill: return sim_tgkill(first_id, static_cast<pid_t>(words[0]), static_cast<int>(words[1]));
    case SYS_sched_getaffinity:
      return read_cpus(find_thread(static_cast<pid_t>(words[0])), static_cast<std::size_t>(words[1]),
                       reinterpret_cast<void*>(words[2]));
    case SYS_sched_setaffinity:
      return write_cpus(find_thread(static_cast<pid_t>(words[0])), static_cast<std::size_t>(words[1]),
                        reinterpret_cast<const void*>(words[2]));
    case SYS_sched_getattr:
    case SYS_sched_setattr:
    case SYS_sched_setparam:
    case SYS_sched_getparam:
    case SYS_sched_setscheduler:
    case SYS_sched_getscheduler: return call_with_thread(number, words);
    case SYS_getcpu: return fail(ENOSYS);
    case SYS_io_uring_setup:
    case SYS_io_uring_enter:
    case SYS_io_uring_register: return fail(ENOSYS);
    case SYS_membarrier: point(call::membarrier); break;
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
#endif
    case SYS_clone:
    case SYS_clone3: refuse("the system call clone", one_process); break;
    case SYS_nanosleep:
      return sleep_until(after(*reinterpret_cast<const timespec*>(words[0]))) == woken::interrupted ? fail(EINTR) : 0;
    default: break;
  }
  return kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // namespace

SIM_CALL(long, syscall, long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  std::array<long, 6> words{};
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  if (!on()) return kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  return call_by_number(number, words.data());
}

}  // namespace sim
