// src/trace/writer.cpp: what each kind of record becomes in the file.
#include "writer.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

namespace braid::detail {
namespace {

constexpr std::uint64_t first_task_track = 0x2'0000'0000;
constexpr std::uint64_t first_counter_track = 0x3'0000'0000;

/// The first line of a file in /proc.
auto line_of(const std::string& path) -> std::string {
  std::string line;
  std::ifstream in(path);
  std::getline(in, line);
  return line;
}

auto thread_name(const thread_ring& ring, bool has_ended) -> std::string {
  if (has_ended) return ring.name.data();
  return line_of("/proc/self/task/" + std::to_string(ring.thread) + "/comm");
}

}  // namespace

struct trace_writer::thread_state {
  thread_ring* ring = nullptr;
  perfetto_writer::sequence sequence;
  std::uint64_t subject = 0;  // of the next record
  std::uint64_t open = 0;     // slices in the file without an end
  std::uint64_t hidden = 0;   // slices, inside of those, that the full file does not have
  std::uint64_t lost_reported = 0;
  std::uint64_t lost_here = 0;  // records that the file had no room for
};

trace_writer::trace_writer(trace_session& of)
    : session_(of), first_ticks_(of.clock().ticks()), first_ns_(boot_nanoseconds()) {
  out_.process(static_cast<std::uint64_t>(::getpid()), line_of("/proc/self/comm"));
  flush();
}

trace_writer::~trace_writer() {
  for (const thread_state* each : threads_) delete each;
}

/// Once, over ten milliseconds or what a shorter program has: all threads' times are by the same measure, so that what
/// it is wrong by moves all alike.
void trace_writer::measure_clock() {
  constexpr std::uint64_t min_ns = 1'000'000;
  std::uint64_t now = boot_nanoseconds();
  while (now - first_ns_ < min_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(min_ns));
    now = boot_nanoseconds();
  }
  const std::uint64_t ticks = session_.clock().ticks() - first_ticks_;
  ns_per_tick_ = static_cast<double>(now - first_ns_) / static_cast<double>(std::max<std::uint64_t>(ticks, 1));
}

auto trace_writer::nanoseconds(std::uint64_t ticks) const noexcept -> std::uint64_t {
  // A record has the low 56 bits of the counter.
  const auto since = static_cast<double>(static_cast<std::int64_t>((ticks - first_ticks_) << 8U) >> 8);
  return first_ns_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(since * ns_per_tick_));
}

auto trace_writer::write_new() -> bool {
  if (ns_per_tick_ == 0) measure_clock();
  if (is_full()) static_cast<void>(session_.take_tasks());  // their names are not needed any more
  for (thread_ring* const ring : session_.take_rings()) {
    auto made = std::make_unique<thread_state>();
    made->ring = ring;
    made->sequence.id = ++last_sequence_;
    threads_.push_back(made.get());
    static_cast<void>(made.release());
  }
  bool found = false;
  for (thread_state* const each : threads_) found = drain(*each) || found;
  std::erase_if(threads_, [](thread_state* each) {
    if (each->ring != nullptr) return false;
    delete each;
    return true;
  });
  flush();
  return found;
}

/// Whether the thread has ended is asked first: then there is nothing more after this.
auto trace_writer::drain(thread_state& of) -> bool {
  const bool has_ended = of.ring->ended.load(acquire);  // edge trace.thread_end: observe, all of its records are seen
  const std::size_t count = of.ring->records.drain([&](const trace_record& record) {
    if (of.sequence.last_ns == 0)
      out_.thread(of.sequence, static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(of.ring->thread),
                  thread_name(*of.ring, has_ended), nanoseconds(record.when_kind >> 8U));
    encode(of, record);
  });
  report_losses(of);
  if (has_ended) {
    close_open(of, of.sequence.last_ns);
    ::munmap(std::exchange(of.ring, nullptr), sizeof(thread_ring));
  }
  return count != 0;
}

void trace_writer::encode(thread_state& of, const trace_record& record) {
  using enum trace_kind;
  using event = trace_event::kind;
  const std::uint64_t when = nanoseconds(record.when_kind >> 8U);
  const auto kind = static_cast<trace_kind>(record.when_kind & 0xffU);
  const std::uint64_t first = std::exchange(of.subject, kind == trace_kind::subject ? record.what : 0);
  switch (kind) {
    case trace_kind::subject: return;
    case job_begin: return emit(of, when, {.what = event::begin, .name = name_of_code(record.what), .flow_end = first});
    case slice_begin: return emit(of, when, {.what = event::begin, .name = name_of_text(record.what)});
    case coroutine_begin: return emit(of, when, {.what = event::begin, .name = name_of_code(record.what)});
    case slice_end: return emit(of, when, {.what = event::end});
    case mark: return emit(of, when, {.name = name_of_text(record.what)});
    case counter:
      return emit(
          of, when,
          {.what = event::counter, .track = counter_track(first), .value = static_cast<std::int64_t>(record.what)});
    case posted: return emit(of, when, {.name = own_name("post"), .flow = record.what});
    case wakes: return emit(of, when, {.name = own_name("wake"), .flow = record.what});
    case woken: return emit(of, when, {.name = own_name("woken"), .flow_end = record.what});
    case task_waits: return encode_task(of, kind, when, first, name_of_text(record.what));
    case task_begin:
    case task_runs: return encode_task(of, kind, when, record.what, own_name("running"));
    case task_ready: return encode_task(of, kind, when, record.what, own_name("ready"));
    case task_end: return encode_task(of, kind, when, record.what, 0);
  }
}

/// A task is in one state after the other: where one begins, the one before ends. Threads are written one after the
/// other, so that each record must say all by itself.
void trace_writer::encode_task(thread_state& of, trace_kind kind, std::uint64_t when, std::uint64_t number,
                               std::uint32_t state) {
  if (is_full()) {
    ++of.lost_here;
    return;
  }
  const std::uint64_t track = task_track(number);
  int& open = tasks_[number];
  if (kind != trace_kind::task_begin) {
    --open;
    emit(of, when, {.what = trace_event::kind::end, .track = track});
  }
  if (kind != trace_kind::task_end) {
    ++open;
    emit(of, when, {.what = trace_event::kind::begin, .name = state, .track = track});
  }
}

/// Once the file is as large as it may become, only the ends of what has begun are written.
void trace_writer::emit(thread_state& of, std::uint64_t when, const trace_event& what) {
  using event = trace_event::kind;
  const bool is_end = what.what == event::end;
  if (what.track == 0 && is_end && of.hidden != 0) {
    --of.hidden;
    ++of.lost_here;
    return;
  }
  if (is_full() && !is_end) {
    if (what.what == event::begin && what.track == 0) ++of.hidden;
    ++of.lost_here;
    return;
  }
  if (what.track == 0 && what.what == event::begin) ++of.open;
  if (what.track == 0 && is_end) --of.open;
  out_.event(of.sequence, when, what);
  constexpr std::size_t chunk = 1U << 18U;
  if (out_.bytes().size() >= chunk) flush();
}

auto trace_writer::is_full() const noexcept -> bool { return written_ >= session_.settings().max_bytes; }

void trace_writer::report_losses(thread_state& of) {
  const std::uint64_t lost = of.ring->records.lost();
  const std::uint64_t more = lost - std::exchange(of.lost_reported, lost);
  if (more == 0 || of.sequence.last_ns == 0) return;
  out_.event(of.sequence, of.sequence.last_ns, {.name = own_name("lost"), .lost = more});
}

void trace_writer::close_open(thread_state& of, std::uint64_t when) {
  for (; of.open != 0; --of.open) out_.event(of.sequence, when, {.what = trace_event::kind::end});
  if (of.lost_here != 0)
    out_.event(of.sequence, when, {.name = own_name("lost"), .lost = std::exchange(of.lost_here, 0)});
}

void trace_writer::finish() {
  write_new();
  const std::uint64_t now = boot_nanoseconds();
  thread_state* any = nullptr;
  for (thread_state* const each : threads_) {
    if (each->sequence.last_ns == 0) continue;
    close_open(*each, now);
    any = each;
  }
  for (auto& [number, open] : tasks_)
    for (; any != nullptr && open > 0; --open)
      out_.event(any->sequence, now, {.what = trace_event::kind::end, .track = task_track(number)});
  flush();
}

void trace_writer::flush() {
  if (out_.bytes().empty()) return;
  if (!session_.write(out_.bytes())) throw std::system_error(errno, std::generic_category(), session_.settings().file);
  written_ += out_.bytes().size();
  out_.clear();
}

auto trace_writer::name_of_code(std::uint64_t address) -> std::uint32_t {
  const auto [known, is_new] = names_.try_emplace(address, 0);
  if (is_new) known->second = out_.name(symbols_.name(address));
  return known->second;
}

auto trace_writer::name_of_text(std::uint64_t address) -> std::uint32_t {
  const auto [known, is_new] = names_.try_emplace(address, 0);
  if (is_new) known->second = out_.name(reinterpret_cast<const char*>(address));
  return known->second;
}

auto trace_writer::task_track(std::uint64_t number) -> std::uint64_t {
  const std::uint64_t track = first_task_track + number;
  if (tasks_.contains(number)) return track;
  for (auto& [task, name] : session_.take_tasks()) task_names_.insert_or_assign(task, std::move(name));
  const auto name = task_names_.extract(number);
  const bool is_named = !name.empty() && !name.mapped().empty();
  const bool is_task = number < first_activity;
  const std::string by_number =
      is_task ? "task " + std::to_string(number) : "activity " + std::to_string(number - first_activity + 1);
  const std::string suffix = is_task ? " (" + by_number + ")" : "";
  out_.track(track, is_named ? name.mapped() + suffix : by_number);
  tasks_.emplace(number, 0);
  return track;
}

auto trace_writer::counter_track(std::uint64_t name) -> std::uint64_t {
  const auto [known, is_new] = counters_.try_emplace(name, first_counter_track + counters_.size());
  if (is_new) out_.counter_track(known->second, reinterpret_cast<const char*>(name));
  return known->second;
}

}  // namespace braid::detail
