// src/trace/encoder.cpp: converts each kind of trace record to Perfetto events.
#include "encoder.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

namespace braid::detail {
namespace {

constexpr std::uint64_t first_task_track = 0x2'0000'0000;
constexpr std::uint64_t first_counter_track = 0x3'0000'0000;

auto own_process() -> std::uint64_t { return static_cast<std::uint64_t>(::getpid()); }

/// Returns the first line of a file in /proc.
auto format_line(const std::string& path) -> std::string {
  std::string line;
  std::ifstream in(path);
  std::getline(in, line);
  return line;
}

}  // namespace

auto thread_name(const thread_ring& ring, bool has_ended) -> std::string {
  if (has_ended) return ring.name.data();
  return format_line("/proc/self/task/" + std::to_string(ring.thread) + "/comm");
}

void tick_line::measure(const trace_clock& clock) {
  constexpr std::uint64_t min_ns = 1'000'000;
  std::uint64_t now = boot_nanoseconds();
  while (now - first_ns_ < min_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(min_ns));
    now = boot_nanoseconds();
  }
  const std::uint64_t ticks = clock.ticks() - first_ticks_;
  ns_per_tick_ = static_cast<double>(now - first_ns_) / static_cast<double>(std::max<std::uint64_t>(ticks, 1));
}

void tick_line::move_to_now(const trace_clock& clock) noexcept {
  first_ticks_ = clock.ticks();
  first_ns_ = boot_nanoseconds();
  const std::uint64_t ticks = std::max<std::uint64_t>(first_ticks_ - made_ticks_, 1);
  ns_per_tick_ = static_cast<double>(first_ns_ - made_ns_) / static_cast<double>(ticks);
}

auto tick_line::nanoseconds(std::uint64_t ticks) const noexcept -> std::uint64_t {
  // The difference is sign-extended from 56 bits, because a record stores only the low 56 bits of the counter.
  const auto since = static_cast<double>(static_cast<std::int64_t>((ticks - first_ticks_) << 8U) >> 8);
  return first_ns_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(since * ns_per_tick_));
}

auto tick_line::ticks_in(std::uint64_t nanoseconds) const noexcept -> std::uint64_t {
  return static_cast<std::uint64_t>(static_cast<double>(nanoseconds) / ns_per_tick_);
}

trace_encoder::trace_encoder(trace_output to, const tick_line& line, symbol_table& symbols)
    : output_(std::move(to)), process_(output_.of ? output_.of->id : own_process()), line_(line), symbols_(symbols) {
  out_.process(process_, output_.process_name.empty() ? format_line("/proc/self/comm") : output_.process_name);
  if (output_.of)
    for (const auto& [track, open] : output_.of->open_states)
      if (track >= first_task_track) tasks_.emplace(track - first_task_track, open);
  flush();
}

void trace_encoder::begin(thread& thread, ::pid_t id, std::string_view name, std::uint64_t ticks) {
  thread.sequence.id = ++last_sequence_;
  out_.thread(thread.sequence, process_, static_cast<std::uint64_t>(id), name, line_.nanoseconds(ticks));
}

void trace_encoder::go_on(thread& thread, const ring_state& from) {
  thread.sequence.id = from.sequence;
  thread.open = from.open;
  thread.hidden = from.hidden;
  last_sequence_ = std::max(last_sequence_, from.sequence);
  out_.begin(thread.sequence, perfetto_writer::thread_track(from.sequence), from.last_ns);
}

void trace_encoder::add(thread& thread, const trace_record& record) {
  using enum trace_kind;
  using event = trace_event::kind;
  const std::uint64_t when = line_.nanoseconds(record.when_kind >> 8U);
  const auto kind = static_cast<trace_kind>(record.when_kind & 0xffU);
  const std::uint64_t first = std::exchange(thread.subject, kind == trace_kind::subject ? record.what : 0);
  switch (kind) {
    case trace_kind::subject: return;
    case job_begin:
      return emit(thread, when, {.what = event::begin, .name = name_of_code(record.what), .flow_end = first});
    case slice_begin: return emit(thread, when, {.what = event::begin, .name = name_of_text(record.what)});
    case coroutine_begin:
      return emit(thread, when, {.what = event::begin, .name = name_of_code(record.what), .flow_end = first});
    case slice_end: return emit(thread, when, {.what = event::end});
    case mark: return emit(thread, when, {.name = name_of_text(record.what)});
    case counter:
      return emit(
          thread, when,
          {.what = event::counter, .track = counter_track(first), .value = static_cast<std::int64_t>(record.what)});
    case posted: return emit(thread, when, {.name = own_name("post"), .flow = record.what});
    case wakes: return emit(thread, when, {.name = own_name("wake"), .flow = record.what});
    case woken: return emit(thread, when, {.name = own_name("woken"), .flow_end = record.what});
    case wait_begin: return emit(thread, when, {.name = name_of_text(record.what), .flow = first});
    case wait_due: return emit(thread, when, {.name = own_name("due"), .flow = first, .due = record.what});
    case wait_ready: return emit(thread, when, {.name = own_name("ready"), .flow = record.what});
    case wait_end: return emit(thread, when, {.name = own_name("goes on"), .flow_end = record.what});
    case task_waits: return task(thread, kind, when, first, find_state(kind, record.what));
    case task_begin:
    case task_runs:
    case task_ready:
    case task_end: return task(thread, kind, when, record.what, find_state(kind, 0));
  }
}

auto trace_encoder::find_state(trace_kind kind, std::uint64_t wait) -> std::uint32_t {
  switch (kind) {
    case trace_kind::task_waits: return name_of_text(wait);
    case trace_kind::task_ready: return own_name("ready");
    case trace_kind::task_end: return 0;
    default: return own_name("running");
  }
}

void trace_encoder::begin_task(thread& thread, std::uint64_t ticks, std::uint64_t number, trace_kind kind,
                               std::uint64_t wait) {
  task(thread, trace_kind::task_begin, line_.nanoseconds(ticks), number, find_state(kind, wait));
}

void trace_encoder::mark(thread& thread, std::uint64_t ns, std::string text) {
  emit(thread, ns, {.name = out_.name(std::move(text))});
}

/// Writes the change of a task's state. A new state ends the previous one. Records of different threads are not written
/// in the order of their times. So the event for a record must not depend on earlier records of the task.
void trace_encoder::task(thread& thread, trace_kind kind, std::uint64_t time, std::uint64_t number,
                         std::uint32_t state) {
  if (is_full()) {
    ++thread.lost_here;
    return;
  }
  const std::uint64_t track = task_track(number);
  std::int64_t& open = tasks_[number];
  if (kind != trace_kind::task_begin) {
    --open;
    emit(thread, time, {.what = trace_event::kind::end, .track = track});
  }
  if (kind != trace_kind::task_end) {
    ++open;
    emit(thread, time, {.what = trace_event::kind::begin, .name = state, .track = track});
  }
}

/// Writes one event. Once the file has reached its maximum size, only the ends of open slices are written.
void trace_encoder::emit(thread& thread, std::uint64_t time, const trace_event& event) {
  using kind = trace_event::kind;
  const bool is_end = event.what == kind::end;
  if (event.track == 0 && is_end && thread.hidden != 0) {
    --thread.hidden;
    ++thread.lost_here;
    return;
  }
  if (event.track == 0 && is_end && thread.open == 0) return;  // its begin was lost with the process
  if (is_full() && !is_end) {
    if (event.what == kind::begin && event.track == 0) ++thread.hidden;
    ++thread.lost_here;
    return;
  }
  if (event.track == 0 && event.what == kind::begin) ++thread.open;
  if (event.track == 0 && is_end) --thread.open;
  out_.event(thread.sequence, time, event);
  // docs/design/constants.md explains how this value was chosen.
  constexpr std::size_t chunk = 1U << 18U;
  if (out_.bytes().size() >= chunk) flush();
}

void trace_encoder::lost(thread& thread, std::uint64_t records) {
  if (records == 0 || !thread.has_begun()) return;
  out_.event(thread.sequence, thread.sequence.last_ns, {.name = own_name("lost"), .lost = records});
}

void trace_encoder::end(thread& thread, std::uint64_t ns) {
  for (; thread.open != 0; --thread.open) out_.event(thread.sequence, ns, {.what = trace_event::kind::end});
  if (thread.lost_here != 0)
    out_.event(thread.sequence, ns, {.name = own_name("lost"), .lost = std::exchange(thread.lost_here, 0)});
}

void trace_encoder::end_tasks(thread& thread, std::uint64_t ns) {
  for (auto& [number, open] : tasks_)
    for (; open > 0; --open)
      out_.event(thread.sequence, ns, {.what = trace_event::kind::end, .track = task_track(number)});
}

void trace_encoder::flush() {
  if (out_.bytes().empty()) return;
  if (!output_.write(out_.bytes())) throw std::system_error(errno, std::generic_category(), output_.file);
  written_ += out_.bytes().size();
  out_.clear();
}

auto trace_encoder::name_of_code(std::uint64_t address) -> std::uint32_t {
  const auto [known, is_new] = names_.try_emplace(address, 0);
  if (is_new) known->second = out_.name(symbols_.name(address));
  return known->second;
}

auto trace_encoder::name_of_text(std::uint64_t address) -> std::uint32_t {
  const auto [known, is_new] = names_.try_emplace(address, 0);
  if (is_new) known->second = out_.name(text_at(address));
  return known->second;
}

auto trace_encoder::text_at(std::uint64_t address) const -> std::string {
  if (!output_.of) return reinterpret_cast<const char*>(address);
  std::string text = output_.of->text_at(address);
  return text.empty() ? "unknown name" : text;
}

auto trace_encoder::own_name(const char* literal) -> std::uint32_t {
  const auto [known, is_new] = own_names_.try_emplace(literal, 0);
  if (is_new) known->second = out_.name(literal);
  return known->second;
}

auto trace_encoder::task_track(std::uint64_t number) -> std::uint64_t {
  const std::uint64_t track = first_task_track + number;
  if (tasks_.contains(number)) return track;
  const std::string name = output_.take_name(number);
  const bool is_task = number < first_activity;
  const std::string by_number =
      is_task ? "task " + std::to_string(number) : "activity " + std::to_string(number - first_activity + 1);
  const std::string suffix = is_task ? " (" + by_number + ")" : "";
  out_.track(track, !name.empty() ? name + suffix : by_number);
  tasks_.emplace(number, 0);
  return track;
}

auto trace_encoder::counter_track(std::uint64_t name) -> std::uint64_t {
  constexpr std::uint64_t above_those_of_the_process = std::uint64_t{1} << 20U;
  const std::uint64_t first = first_counter_track + (output_.of ? above_those_of_the_process : 0);
  const auto [known, is_new] = counters_.try_emplace(name, first + counters_.size());
  if (is_new) out_.counter_track(known->second, text_at(name));
  return known->second;
}

}  // namespace braid::detail
