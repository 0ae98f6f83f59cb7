// sim/scheduler.cpp: passes the token, moves virtual time, and records every switch.
#include <sim/machine.hpp>
#include <sim/network.hpp>
#include <sim/real.hpp>
#include <sim/scheduler.hpp>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <span>
#include <utility>

#include <execinfo.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim {

constinit thread_local thread* self __attribute__((tls_model("initial-exec"))) = nullptr;
shared_page* page = nullptr;
live_threads live;
std::array<last_switch, last_switch_count> last_switches;

namespace {

constexpr nanoseconds step = 1000;        // the virtual time of each switch
constexpr std::uint64_t max_hold = 5000;  // switches under PCT, so that a polling loop delays others only so long
constexpr nanoseconds outside_limit = 5 * second;  // the real time without any event after which the run ends
constexpr std::uint64_t base_priority = 1'000'000;
constexpr std::size_t max_changes = 64;

/// A splitmix64 random number generator.
struct generator {
  std::uint64_t state;
  auto next() -> std::uint64_t {
    std::uint64_t z = state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  auto below(std::uint64_t bound) -> std::uint64_t { return next() % bound; }
};

struct run_state {
  generator orders{};
  generator chances{};
  nanoseconds time = start_time;
  std::span<record> records;
  std::array<std::uint64_t, max_changes> changes{};  // switches at which PCT lowers the priority of the running thread
  std::uint64_t lowest = base_priority;              // the next lowered thread gets this priority minus one
  std::uint32_t last_id = 0;
  bool descriptors_changed = false;
  bool keeps_stacks = false;  // from when the library that unwinds stacks is loaded
  std::int32_t dying = 0;  // the ended thread that has passed the token, and must no longer exist before the next step
  nanoseconds alarm = never;
  nanoseconds alarm_interval = 0;
  enum class phase : std::uint8_t { before, off, on } now = phase::before;
};
run_state run;
std::array<thread, max_threads> threads;

/// The threads from which the next thread to run is chosen. These lists are global, because they are too large for the
/// stack of a thread.
struct choice {
  std::array<thread*, max_threads> all;
  std::size_t count;
};
choice runnable;  // used by go_on() and the functions that it calls
choice waiters;   // used by wake()

auto kernel_poll(pollfd* descriptors, nfds_t count, nanoseconds limit) -> int {
  const timespec time = to_timespec(limit);
  return static_cast<int>(kernel(SYS_ppoll, reinterpret_cast<long>(descriptors), static_cast<long>(count),
                                 reinterpret_cast<long>(&time), 0, 8));
}

auto real_time() -> nanoseconds {
  timespec time{};
  kernel(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time));
  return to_nanoseconds(time);
}

void keep_last(const record& latest) {
  last_switch& place = last_switches[page->switches.load(std::memory_order_relaxed) % last_switch_count];
  place.what = latest;
  place.frame_count = 0;
  if (!run.keeps_stacks) return;
  const inside guard;
  place.frame_count = ::backtrace(place.frames.data(), max_frames);
}

void add_record(call kind, std::uint16_t is_wait = 0) {
  const record latest{.time = run.time - start_time, .thread = self->id, .kind = kind, .is_wait = is_wait};
  const std::uint64_t at = page->switches.load(std::memory_order_relaxed);
  keep_last(latest);
  if (at < run.records.size() || (page->wanted.keeps_last != 0 && !run.records.empty()))
    run.records[at % run.records.size()] = latest;
  std::uint64_t mixed = page->hash ^ static_cast<std::uint64_t>(latest.time);
  mixed = (mixed ^ (std::uint64_t{latest.thread} << 32U) ^ (std::uint64_t{is_wait} << 16U) ^
           static_cast<std::uint64_t>(kind)) *
          0x9e3779b97f4a7c15U;
  page->hash = mixed ^ (mixed >> 29U);
  page->time = latest.time;
  page->switches.store(at + 1, std::memory_order_relaxed);
  if (page->wanted.max_switches != 0 && at >= page->wanted.max_switches)
    report_and_exit("the program still runs after the maximum number of switches (--max-switches)");
}

void end_wait(thread& waiter, woken outcome) {
  waiter.is = state::runnable;
  waiter.end = outcome;
}

auto earliest_deadline() -> nanoseconds {
  nanoseconds earliest = std::min(run.alarm, next_event());
  for_each_thread([&](const thread& each) {
    if (each.is == state::blocked) earliest = std::min(earliest, each.waits.deadline);
  });
  return earliest;
}

void expire_alarm() {
  if (run.alarm > run.time) return;
  run.alarm = run.alarm_interval > 0 ? run.time + run.alarm_interval : never;
  send_to_process(SIGALRM);
}

void check_descriptors() {
  run.descriptors_changed = false;
  for_each_thread([](thread& each) {
    if (each.is != state::blocked || each.waits.descriptor_count == 0) return;
    if (poll_now({each.waits.descriptors, each.waits.descriptor_count}) > 0) end_wait(each, woken::called);
  });
}

/// Delivers all due events, and lists the threads that can run now.
void collect() {
  page->time = run.time - start_time;  // time may have jumped, and the program may end before its next call
  expire_alarm();
  run_events();
  if (run.descriptors_changed) check_descriptors();
  runnable.count = 0;
  for_each_thread([&](thread& each) {
    if (each.is == state::blocked && each.signals.load(std::memory_order_relaxed) != 0)
      end_wait(each, woken::interrupted);
    if (each.is == state::blocked && each.waits.deadline <= run.time) end_wait(each, woken::timed_out);
    if (each.is == state::runnable) runnable.all[runnable.count++] = &each;
  });
}

/// Waits until an event outside of the process lets a thread continue. This wait is not deterministic, but otherwise no
/// thread could run.
void wait_for_outside() {
  std::array<pollfd, 256> all{};
  std::size_t count = 0;
  bool is_any = false;
  for_each_thread([&](const thread& each) {
    if (each.is != state::blocked) return;
    is_any = is_any || each.waits.is_outside;
    for (nfds_t at = 0; at < each.waits.descriptor_count && count < all.size(); ++at) {
      const pollfd& waits = each.waits.descriptors[at];
      if (has_real_events(waits.fd)) all[count++] = waits;
    }
  });
  if (!is_any && count == 0) report_and_exit("deadlock: every thread waits, and nothing can wake any of them");
  page->idle.store(1, std::memory_order_relaxed);
  kernel_poll(all.data(), count, second / 100);
  page->idle.store(0, std::memory_order_relaxed);
  for_each_thread([](thread& each) {
    if (each.is == state::blocked && each.waits.is_outside) end_wait(each, woken::called);
  });
}

/// Returns the token to the coordinator of the world. When the token is back, finds the threads that can run.
void visit_world() {
  run.time = std::max(run.time, return_token(runnable.count, earliest_deadline()));
  read_mail();
  collect();
}

/// Lets time jump to the next deadline, because no thread can run.
void find_event() {
  static nanoseconds idle_since = 0;
  static std::uint64_t idle_at = 0;
  check_descriptors();
  collect();
  while (in_world() && runnable.count == 0) visit_world();
  while (runnable.count == 0) {
    const nanoseconds next = earliest_deadline();
    if (next != never) {
      run.time = std::max(run.time, next);
    } else {
      const std::uint64_t at = page->switches.load(std::memory_order_relaxed);
      if (idle_since == 0 || at > idle_at + 4 * live.count) idle_since = real_time();
      idle_at = at;
      if (real_time() - idle_since > outside_limit)
        report_and_exit(
            "deadlock: every thread waits, and nothing outside the program has woken any of them "
            "for 5 s");
      wait_for_outside();
      check_descriptors();
    }
    collect();
  }
}

void lower(thread& falls) {
  falls.priority = --run.lowest;
  falls.hold_length = 0;
}

auto choose(const choice& from) -> thread& {
  if (from.count == 1) return *from.all[0];
  if (page->wanted.kind == order::uniform) return *from.all[run.orders.below(from.count)];
  const auto among = std::span(from.all).first(from.count);
  return **std::ranges::max_element(among, {}, [](const thread* each) { return each->priority; });
}

void apply_changes() {
  if (page->wanted.kind != order::pct) return;
  const std::uint64_t at = page->switches.load(std::memory_order_relaxed);
  const auto changes = std::span(run.changes).first(std::min<std::size_t>(page->wanted.changes, max_changes));
  if (std::ranges::find(changes, at) != changes.end() || ++self->hold_length > max_hold) lower(*self);
}

/// Waits until an ended thread no longer exists. An ended thread still frees memory after it has passed the token.
/// Meanwhile the next thread must not run.
void wait_for_the_dying() {
  if (run.dying == 0) return;
  while (kernel(SYS_tgkill, kernel(SYS_getpid), run.dying, 0) == 0) {
    const timespec moment{0, 10'000};
    kernel(SYS_nanosleep, reinterpret_cast<long>(&moment));
  }
  run.dying = 0;
}

void wait_for_token(thread& waiter) {
  while (waiter.token.load(std::memory_order_acquire) == 0)
    kernel(SYS_futex, reinterpret_cast<long>(&waiter.token), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0);
  waiter.token.store(0, std::memory_order_relaxed);
  wait_for_the_dying();
  page->runner.store(waiter.kernel_id.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void give_token(thread& next) {
  next.token.store(1, std::memory_order_release);
  kernel(SYS_futex, reinterpret_cast<long>(&next.token), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

/// Chooses the next thread, and passes the token to it unless it is the calling thread.
void go_on() {
  count_turn();
  const bool is_over = is_turn_over();
  if (!is_over && live.count == 1 && self->is == state::runnable && earliest_deadline() > run.time) return;
  collect();
  if (is_over) visit_world();
  if (runnable.count == 0) find_event();
  thread& next = choose(runnable);
  if (&next == self) return;
  next.hold_length = 0;
  give_token(next);
  if (self->is != state::finished) wait_for_token(*self);
}

/// Decides whether a switch to another thread may happen at this call. With the option --every, most calls cause no
/// switch.
auto may_switch(call kind) -> bool {
  return page->wanted.every == 1 || kind == call::yield || run.orders.below(page->wanted.every) == 0;
}

// --- the start of a simulation ---

void choose_changes() {
  const std::uint64_t reach = std::max<std::uint64_t>(page->wanted.reach, 1);
  for (std::uint64_t& change : run.changes) change = 1 + run.orders.below(reach);
}

/// Maps the file that braid-sim shares with the process. Without this file the process is not simulated, and the
/// function returns false.
auto map_file() -> bool {
  const char* file = std::getenv(file_variable);  // NOLINT(concurrency-mt-unsafe): there is one thread
  if (file == nullptr) return false;
  const int descriptor =
      static_cast<int>(kernel(SYS_openat, AT_FDCWD, reinterpret_cast<long>(file), O_RDWR | O_CLOEXEC));
  if (descriptor < 0) return false;
  settings wanted;
  kernel(SYS_pread64, descriptor, reinterpret_cast<long>(&wanted), sizeof(wanted), 0);
  const std::size_t size = records_offset + wanted.records * sizeof(record);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  kernel(SYS_close, descriptor);
  if (memory == MAP_FAILED) return false;
  page = static_cast<shared_page*>(memory);
  run.records = {reinterpret_cast<record*>(static_cast<char*>(memory) + records_offset), wanted.records};
  return true;
}

/// Initializes the program's allocator. At its first call, an allocator such as jemalloc reads the number of CPUs and
/// the clock. The allocator must see the simulated values. So this call is made as a call of the program, because the
/// simulator's own calls see the values of the real machine.
void begin_allocator() {
  void* volatile first = std::malloc(1);
  std::free(first);
}

void begin() {
  run.now = run_state::phase::off;
  if (!map_file()) return;
  run.orders.state = page->wanted.seed;
  run.orders.state = run.orders.next();
  run.chances.state = page->wanted.seed ^ 0x5851f42d4c957f2dU;
  choose_changes();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
  ::mallopt(M_ARENA_MAX, static_cast<int>(8 * page->wanted.cpus));
  page->hash = 0;
  page->switches.store(0, std::memory_order_relaxed);
  thread* main = add_thread();
  main->handle = ::pthread_self();
  main->kernel_id.store(static_cast<std::int32_t>(kernel(SYS_gettid)), std::memory_order_relaxed);
  kernel_mask(SIG_SETMASK, nullptr, &main->mask);
  page->runner.store(main->kernel_id.load(std::memory_order_relaxed), std::memory_order_relaxed);
  run.now = run_state::phase::on;
  self = main;
  {
    const inside guard;
    auto* bytes = reinterpret_cast<unsigned char*>(::getauxval(AT_RANDOM));
    if (bytes != nullptr) fill_with_entropy(bytes, 16);
    prepare_reports();
    page->started.store(1, std::memory_order_relaxed);
    if (in_world()) {
      run.time = to_local(page->wanted.start_ns, page->wanted.clock_drift_ppm);
      collect();
      visit_world();
    }
  }
  begin_allocator();
  const inside guard;
  prepare_stacks();
  run.keeps_stacks = page->wanted.keeps_stacks != 0;
}

__attribute__((constructor)) void begin_early() { static_cast<void>(on()); }

}  // namespace

auto on() -> bool {
  if (run.now == run_state::phase::before) begin();
  return self != nullptr && self->depth == 0;
}

auto now() -> nanoseconds { return run.time; }

auto entropy() -> std::uint64_t { return run.chances.next(); }

void descriptors_changed() { run.descriptors_changed = true; }

auto set_alarm(nanoseconds time, nanoseconds interval) -> nanoseconds {
  run.alarm_interval = interval;
  return std::exchange(run.alarm, time);
}

auto alarm_interval() -> nanoseconds { return run.alarm_interval; }

void point(call kind) {
  const int error = errno;
  run.time += step;
  self->cpu_time += step;
  add_record(kind);
  run_events();
  apply_changes();
  if (may_switch(kind) || is_turn_over()) go_on();
  run_handlers();
  errno = error;
}

void yield() {
  if (page->wanted.kind == order::pct) lower(*self);
  point(call::yield);
}

auto block(const wait& reason) -> woken {
  const int error = errno;
  if (self->signals.load(std::memory_order_relaxed) != 0) {
    run_handlers();
    errno = error;
    return woken::interrupted;
  }
  self->waits = reason;
  self->is = state::blocked;
  add_record(reason.kind, 1);
  go_on();
  const woken end = self->end;
  run_handlers();
  errno = error;
  return end;
}

auto wake(call kind, const void* address, int count, std::uint32_t bits) -> int {
  int woken_count = 0;
  while (woken_count < count) {
    waiters.count = 0;
    for_each_thread([&](thread& each) {
      const bool waits = each.is == state::blocked && each.waits.kind == kind && each.waits.address == address;
      if (waits && (each.waits.bits & bits) != 0) waiters.all[waiters.count++] = &each;
    });
    if (waiters.count == 0) break;
    end_wait(choose(waiters), woken::called);
    ++woken_count;
  }
  return woken_count;
}

auto add_thread() -> thread* {
  auto* place = std::ranges::find(threads, state::unused, &thread::is);
  if (place == threads.end()) return nullptr;
  thread& made = *place;
  made.token.store(0, std::memory_order_relaxed);
  made.is = state::runnable;
  made.id = ++run.last_id;
  made.priority = base_priority + run.orders.below(base_priority);
  made.hold_length = 0;
  made.cpu_time = 0;
  made.kernel_id.store(0, std::memory_order_relaxed);
  made.is_joined = false;
  made.name = {};
  made.signals.store(0, std::memory_order_relaxed);
  made.depth = 0;
  made.end_rounds = 0;
  made.cpus = {};
  for (std::uint32_t cpu = 0; cpu < page->wanted.cpus; ++cpu) made.cpus[cpu / 64] |= 1ULL << (cpu % 64);
  if (self != nullptr) {
    made.mask = self->mask;
    made.cpus = self->cpus;
  }
  live.all[live.count++] = &made;
  page->threads = std::max<std::uint32_t>(page->threads, run.last_id);
  return &made;
}

void remove_thread(thread& gone) {
  const auto all = std::span(live.all).first(live.count);
  const auto place = std::ranges::find(all, &gone);
  std::ranges::copy(place + 1, all.end(), place);
  --live.count;
  gone.is = state::unused;
}

void begin_thread(thread& started) {
  self = &started;
  started.kernel_id.store(static_cast<std::int32_t>(kernel(SYS_gettid)), std::memory_order_release);
  kernel(SYS_futex, reinterpret_cast<long>(&started.kernel_id), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX);
  wait_for_token(started);
  point(call::thread_begin);
}

void end_thread() {
  thread& gone = *self;
  add_record(call::thread_end);
  if (live.count == 1) return;  // the process ends
  wake(call::thread_join, &gone, INT_MAX);
  remove_thread(gone);
  if (!gone.is_joined) gone.is = state::finished;
  if (gone.id != 1) run.dying = gone.kernel_id.load(std::memory_order_relaxed);  // the main thread stays as a zombie
  collect();
  if (runnable.count == 0) find_event();
  thread& next = choose(runnable);
  next.hold_length = 0;
  self = nullptr;
  give_token(next);
}

auto find_thread(pthread_t handle) -> thread* {
  for (thread& each : threads)
    if (each.is != state::unused && !each.is_joined && ::pthread_equal(each.handle, handle) != 0) return &each;
  for (thread& each : threads)
    if (each.is != state::unused && each.is != state::finished && ::pthread_equal(each.handle, handle) != 0)
      return &each;
  return nullptr;
}

auto kernel_id(const thread& thread) -> std::int32_t {
  while (thread.kernel_id.load(std::memory_order_acquire) == 0)
    kernel(SYS_futex, reinterpret_cast<long>(&thread.kernel_id), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0);
  return thread.kernel_id.load(std::memory_order_relaxed);
}

auto find_thread(std::int32_t id) -> thread* {
  if (id == 0) return self;
  for (thread& each : threads)
    if (each.is != state::unused && program_id(each) == id) return &each;
  for (thread& each : threads)
    if (each.is != state::unused && kernel_id(each) == id) return &each;
  return nullptr;
}

auto to_kernel_id(std::int32_t id) -> std::int32_t {
  const thread* found = id == 0 ? nullptr : find_thread(id);
  return found == nullptr ? id : kernel_id(*found);
}

}  // namespace sim
