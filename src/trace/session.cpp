// src/trace/session.cpp: runs the trace that BRAID_TRACE requests, from the loading of the library to the end of the
// process.
#include "session.hpp"

#include "../platform/system.hpp"
#include "recorder.hpp"
#include "ring_file.hpp"
#include "writer.hpp"

#include <braid/sync/detail/futex.hpp>
#include <braid/thread/this_thread.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>

#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace braid::detail {

constinit decltype(trace_is_on) trace_is_on{false};

namespace {

constinit trace_session* session = nullptr;  // written before `trace_is_on` is set, which happens once
constinit thread_local thread_ring* ring_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool has_no_ring __attribute__((tls_model("initial-exec"))) = false;  // and will not get one

/// A guard that marks a thread's ring as ended when the thread ends. The writer thread then frees the ring.
struct ring_owner {
  thread_ring* ring = nullptr;
  ~ring_owner() {
    has_no_ring = true;
    ring_of_thread = nullptr;
    if (ring == nullptr || !is_traced()) return;
    copy_own_name(ring->name.data(), ring->name.size());
    ring->ended.store(true, release);  // edge trace.thread_end: publish, the writer sees the name and the last records
  }
};

auto is_counter_even() noexcept -> bool {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned power = 0x8000'0007;
  constexpr unsigned invariant_counter = 1U << 8U;
  return __get_cpuid(power, &a, &b, &c, &d) != 0 && (d & invariant_counter) != 0;
#else
  return false;
#endif
}

auto own_ring() noexcept -> thread_ring* {
  if (ring_of_thread != nullptr || has_no_ring) [[likely]]
    return ring_of_thread;
  thread_local ring_owner owner;  // here, because its first use registers the thread
  owner.ring = session->open_ring();
  has_no_ring = owner.ring == nullptr;
  return ring_of_thread = owner.ring;
}

auto make_record(trace_kind kind, std::uint64_t number) noexcept -> trace_record {
  return {.when_kind = session->clock().ticks() << 8U | static_cast<std::uint64_t>(kind), .what = number};
}

constexpr auto ends_to_come(trace_kind kind) noexcept -> std::uint64_t {
  switch (kind) {
    case trace_kind::job_begin:
    case trace_kind::slice_begin:
    case trace_kind::coroutine_begin: return 1;
    default: return 0;
  }
}

void refuse(const std::string& reason) noexcept {
  std::fprintf(stderr, "braid: BRAID_TRACE is ignored: %s\n", reason.c_str());
}

/// Opens, locks and empties the file. The lock is needed because child processes inherit BRAID_TRACE. If this fails,
/// returns -1 and prints the reason on stderr.
auto open_trace_file(const std::string& path) -> int {
  const int file = create_file(path.c_str(), file_access::write, false);
  if (file < 0) {
    refuse(path + " cannot be written: " + std::strerror(errno));
    return -1;
  }
  if (!lock_file(file)) {
    refuse(path + " is being written by another process");
    ::close(file);
    return -1;
  }
  static_cast<void>(::ftruncate(file, 0));  // a pipe cannot be truncated, and need not be
  return file;
}

/// Creates the ring file if BRAID_TRACE contains `recover`. Throws if the trace is not a regular file, because the
/// recovered records could not be appended.
auto open_rings(const trace_settings& settings, int file) -> std::unique_ptr<ring_file> {
  if (!settings.recovers) return nullptr;
  struct stat what{};
  if (::fstat(file, &what) != 0 || !S_ISREG(what.st_mode))
    throw std::runtime_error("recover needs a regular file, but " + settings.file + " is not a regular file");
  return std::make_unique<ring_file>(settings.file + ".rings");
}

void forget_session_in_child() noexcept {
  if (!is_traced()) return;
  trace_is_on.store(false, relaxed);
  ring_of_thread = nullptr;
  has_no_ring = true;
  if (session->settings().at_signal) restore_user_signal();
  session->forget();
}

/// Installs a handler of SIGUSR2 that requests a trace file. The handler calls only functions that are safe in signal
/// handlers.
void save_at_signal() noexcept {
  set_user_signal([](int /*number*/) {
    const int before = errno;
    if (is_traced()) session->save_for_signal();
    errno = before;
  });
}

void start_from_environment() {
  // In a setuid program, BRAID_TRACE is ignored, because its user could otherwise write files with the program's
  // rights.
  const char* const wanted = trusted_environment("BRAID_TRACE");
  if (wanted == nullptr || wanted[0] == 0) return;
  auto settings = parse_trace_settings(wanted);
  if (!settings) return refuse(settings.error());
  if (settings->last_ns != 0) settings->file = std::filesystem::absolute(settings->file).string();  // for later files
  const int file = open_trace_file(settings->file);
  if (file < 0) return;
  auto rings = open_rings(*settings, file);
  session = new trace_session(std::move(*settings), file, std::move(rings));
  trace_is_on.store(true, relaxed);  // before the start of the writer, which resets it if it cannot write
  if (!session->start()) {
    trace_is_on.store(false, relaxed);
    return refuse("no thread can be started");
  }
  call_at_fork(nullptr, nullptr, &forget_session_in_child);
  if (session->settings().at_signal) save_at_signal();
}

/// Starts the trace before static objects of the program are constructed, because the constructors of such objects may
/// start threads that use the library.
[[gnu::constructor(101)]] void begin_trace() noexcept {
  try {
    start_from_environment();
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

/// Ends the trace after static objects are destroyed, because pools among these objects may run jobs until then.
[[gnu::destructor(101)]] void end_trace() noexcept {
  if (is_traced()) session->finish();
}

}  // namespace

auto trace_note(trace_group group, trace_kind kind, std::uint64_t number) noexcept -> bool {
  if (!is_traced() || !session->settings().wants(group)) return false;
  thread_ring* const ring = own_ring();
  return ring != nullptr && ring->records.try_add(std::array{make_record(kind, number)}, ends_to_come(kind));
}

auto trace_note(trace_group group, trace_kind kind, std::uint64_t subject, std::uint64_t number) noexcept -> bool {
  if (!is_traced() || !session->settings().wants(group)) return false;
  thread_ring* const ring = own_ring();
  if (ring == nullptr) return false;
  const trace_record second = make_record(kind, number);
  const trace_record first{.when_kind = (second.when_kind & ~std::uint64_t{0xff}) | std::uint64_t{1}, .what = subject};
  static_assert(static_cast<int>(trace_kind::subject) == 1);
  return ring->records.try_add(std::array{first, second}, ends_to_come(kind));
}

void trace_note_end() noexcept {
  if (ring_of_thread != nullptr) ring_of_thread->records.add_end(make_record(trace_kind::slice_end, 0));
}

void trace_task_begin(std::uint64_t number, std::string_view name) noexcept {
  if (!is_traced() || !session->settings().wants(trace_group::tasks)) return;
  try {
    session->add_task(number, name);
  } catch (const std::bad_alloc&) {  // without memory, the task is shown by its number
  }
  trace_note(trace_group::tasks, trace_kind::task_begin, number);
}

auto trace_save(std::string_view reason) noexcept -> bool {
  if (!is_traced() || session->settings().last_ns == 0) return false;
  try {
    session->save(reason);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

auto trace_activity_begin(std::string_view name) noexcept -> std::uint64_t {
  static atomic<std::uint64_t> next{first_activity};
  if (!is_traced() || !session->settings().wants(trace_group::user)) return 0;
  const std::uint64_t number = next.fetch_add(1, relaxed);
  try {
    session->add_task(number, name);
  } catch (const std::bad_alloc&) {  // without memory, the task is shown by its number
  }
  return trace_note(trace_group::user, trace_kind::task_begin, number) ? number : 0;
}

trace_clock::trace_clock() noexcept : is_counter_even_(is_counter_even()) {}

auto trace_clock::ticks() const noexcept -> std::uint64_t {
#if defined(__x86_64__)
  if (is_counter_even_) [[likely]]
    return __rdtsc();
#endif
  return static_cast<std::uint64_t>(steady_time().now().time_since_epoch().count());
}

trace_session::trace_session(trace_settings settings, int file, std::unique_ptr<ring_file> rings) noexcept
    : settings_(std::move(settings)), file_(file), rings_(std::move(rings)) {}

auto boot_nanoseconds() noexcept -> std::uint64_t { return static_cast<std::uint64_t>(time_since_boot().count()); }

/// Starts the writer thread, which receives no signals, so that signals reach the program's own threads.
auto trace_session::start() -> bool { return start_without_signals(writer_, &run_writer, this) == 0; }

auto trace_session::run_writer(void* self) -> void* {
  static_cast<void>(braid::this_thread::set_name("braid-trace"));
  static_cast<trace_session*>(self)->write_until_stopped();
  return nullptr;
}

void trace_session::write_until_stopped() noexcept {
  try {
    settings_.last_ns == 0 ? write_all() : keep_last();
  } catch (const std::exception& error) {
    trace_is_on.store(false, relaxed);
    std::fprintf(stderr, "braid: the trace ends early: %s\n", error.what());
  }
  refuse_requests();
}

/// Fails all pending requests, because the writer ends. Threads that wait for bytes get an error.
void trace_session::refuse_requests() noexcept {
  std::vector<save_request> left;
  const std::lock_guard guard(lock_);
  has_ended_ = true;
  left.swap(requests_);
}

/// Calls `step` until the trace is stopped. `step` processes new records and returns whether there were any. If there
/// were none, the pause before the next step is longer.
template <typename Step>
void trace_session::step_until_stopped(const Step& step) {
  // docs/design/constants.md explains how these values were chosen.
  constexpr duration first_pause = 10ms;  // the speed of the clock is measured during this time
  constexpr duration min_pause = 1ms;
  constexpr duration max_pause = 16ms;
  duration pause = first_pause;
  std::uint32_t seen = calls_.load(relaxed);
  while (!stop_.load(relaxed)) {
    static_cast<void>(futex_wait(calls_, seen, steady_time().now() + pause));
    seen = calls_.load(relaxed);
    pause = step() ? min_pause : std::min(2 * pause, max_pause);
  }
}

void trace_session::write_all() {
  trace_writer writer(*this);
  step_until_stopped([&writer] { return writer.write_new(); });
  writer.finish();
  if (rings_ != nullptr) rings_->remove();
}

void trace_session::keep_last() {
  flight_recorder recorder(*this);
  const auto step = [&] {
    std::vector<save_request> requests;
    std::uint64_t now = clock_.ticks();
    {
      const std::lock_guard guard(lock_);
      requests.swap(requests_);
      if (!requests.empty()) now = requests.front().ticks;
    }
    // edge trace.signalled: observe the records from before the signal, which the next step then processes
    const bool by_signal = signalled_.exchange(0, acquire) != 0;
    const bool found = recorder.take_new(now);
    if (by_signal) recorder.save("SIGUSR2", boot_nanoseconds(), true);
    for (save_request& each : requests) {
      if (each.bytes)
        each.bytes->set_value(recorder.read(each.reason, each.ticks, each.span_ns));
      else
        recorder.save(each.reason, each.ns, false);
    }
    return found;
  };
  step_until_stopped(step);
  step();
  remove_lock();
}

/// Deletes FILE if it is empty and has not been replaced by another file. Such a file was needed only for its lock.
void trace_session::remove_lock() const noexcept {
  struct stat opened{};
  struct stat there{};
  if (::fstat(file_, &opened) != 0 || ::stat(settings_.file.c_str(), &there) != 0) return;
  const bool is_same = opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
  if (is_same && S_ISREG(there.st_mode) && there.st_size == 0) ::unlink(settings_.file.c_str());
}

void trace_session::wake_writer() noexcept {
  calls_.fetch_add(1, relaxed);
  futex_wake(calls_, 1);
}

void trace_session::save(std::string_view reason) {
  {
    const std::lock_guard guard(lock_);
    requests_.push_back({.reason = std::string(reason), .ticks = clock_.ticks(), .ns = boot_nanoseconds()});
  }
  wake_writer();
}

auto trace_session::read_last(std::uint64_t span_ns) -> result<std::string> {
  std::promise<std::string> bytes;
  std::future<std::string> made = bytes.get_future();
  {
    const std::lock_guard guard(lock_);
    if (has_ended_) return fail(errc::closed);
    requests_.push_back({.reason = "asked for",
                         .ticks = clock_.ticks(),
                         .ns = boot_nanoseconds(),
                         .span_ns = span_ns,
                         .bytes = std::move(bytes)});
  }
  wake_writer();
  try {
    return made.get();
  } catch (const std::future_error&) {
    return fail(errc::closed);
  }
}

void trace_session::save_for_signal() noexcept {
  signalled_.fetch_add(1, release);  // edge trace.signalled: publish, the file has what was noted before
  wake_writer();
}

void trace_session::finish() noexcept {
  trace_is_on.store(false, relaxed);
  stop_.store(true, relaxed);
  wake_writer();
  ::pthread_join(writer_, nullptr);
}

void trace_session::forget() noexcept {
  ::close(file_);
  file_ = -1;
}

/// Allocates a ring: private memory, whose pages the kernel provides at their first use, or a part of the ring file.
auto trace_session::open_ring() noexcept -> thread_ring* {
  const std::lock_guard guard(lock_);
  try {
    new_rings_.reserve(new_rings_.size() + 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  thread_ring* made = nullptr;
  if (rings_ != nullptr) {
    made = rings_->open_ring();
  } else {
    void* const place = map_memory(sizeof(thread_ring));
    if (place != nullptr) made = ::new (place) thread_ring;
  }
  if (made == nullptr) return nullptr;
  made->thread = own_thread_id();
  new_rings_.push_back(made);
  return made;
}

void trace_session::close_ring(thread_ring* ring) noexcept {
  if (rings_ == nullptr) return unmap_memory(ring, sizeof(thread_ring));
  const std::lock_guard guard(lock_);
  rings_->close_ring(*ring);
}

void trace_session::commit_rings() noexcept {
  if (rings_ != nullptr) rings_->commit(written_);
}

void trace_session::add_name(const char* text) noexcept {
  if (rings_ == nullptr) return;
  const std::lock_guard guard(lock_);
  rings_->add_name(trace_number(text), text);
}

void trace_session::add_task(std::uint64_t number, std::string_view name) {
  const std::lock_guard guard(lock_);
  if (rings_ != nullptr) rings_->add_task(number, name);
  new_tasks_.emplace_back(number, name);
}

auto trace_session::take_rings() -> std::vector<thread_ring*> {
  const std::lock_guard guard(lock_);
  return std::exchange(new_rings_, {});
}

auto trace_session::take_tasks() -> task_names {
  const std::lock_guard guard(lock_);
  return std::exchange(new_tasks_, {});
}

auto trace_session::write(std::string_view bytes) noexcept -> bool {
  written_ += bytes.size();
  return write_whole(file_, bytes);
}

void note_trace_name(const char* text) noexcept {
  if (is_traced()) session->add_name(text);
}

auto read_last_of_trace(std::uint64_t span_ns) -> result<std::string> {
  if (!is_traced() || session->settings().last_ns == 0) return fail(std::make_error_code(std::errc::not_supported));
  return session->read_last(span_ns);
}

}  // namespace braid::detail
