// src/trace/recorder.cpp: stores the records of each thread in chunks, oldest first, and writes them to a file on
// request.
#include "recorder.hpp"

#include "../platform/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <ranges>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace braid::detail {
namespace {

// docs/design/constants.md explains how these values were chosen.
constexpr std::size_t chunk_records = 1024;
constexpr std::uint64_t chunks_in_span = 8;  // no chunk covers a longer part of the kept time
constexpr std::uint64_t max_files = 10;

auto record_ticks(const trace_record& record) noexcept -> std::uint64_t { return record.when_kind >> 8U; }
auto kind_of(const trace_record& record) noexcept -> trace_kind {
  return static_cast<trace_kind>(record.when_kind & 0xffU);
}

/// Returns whether one time is before another. Compares 56 bits, because records store only the low 56 bits of the
/// counter.
auto is_before(std::uint64_t ticks, std::uint64_t other) noexcept -> bool {
  return static_cast<std::int64_t>((other - ticks) << 8U) > 0;
}

/// A file that is written under a temporary name, and renamed when it is complete.
class file_in_progress {
 public:
  explicit file_in_progress(std::string path)
      : path_(std::move(path)),
        unfinished_(path_ + ".part"),
        file_(create_file(unfinished_.c_str(), file_access::write, true)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), unfinished_);
  }
  file_in_progress(const file_in_progress&) = delete;
  auto operator=(const file_in_progress&) -> file_in_progress& = delete;
  ~file_in_progress() {
    ::close(file_);
    if (!is_complete_) ::unlink(unfinished_.c_str());
  }

  [[nodiscard]] auto write(std::string_view bytes) noexcept -> bool { return write_whole(file_, bytes); }
  void complete() {
    if (::rename(unfinished_.c_str(), path_.c_str()) != 0)
      throw std::system_error(errno, std::generic_category(), path_);
    is_complete_ = true;
  }

 private:
  std::string path_;
  std::string unfinished_;
  int file_;
  bool is_complete_ = false;
};

}  // namespace

flight_recorder::flight_recorder(trace_session& session) : session_(session), line_(session.clock()) {}

auto flight_recorder::take_new(std::uint64_t now) -> bool {
  if (!std::exchange(is_measured_, true)) line_.measure(session_.clock());
  for (auto& [number, name] : session_.take_tasks()) names_.insert_or_assign(number, std::move(name));
  for (thread_ring* const ring : session_.take_rings()) {
    auto made = std::make_unique<thread_state>();
    made->ring = ring;
    made->id = ring->thread;
    threads_.push_back(std::move(made));
  }
  bool found = false;
  for (const auto& each : threads_) found = drain(*each) || found;
  drop_old(now);
  return found;
}

/// Moves the new records of a thread from its ring to chunks. If the thread had ended before this call, these are its
/// last records.
auto flight_recorder::drain(thread_state& state) -> bool {
  if (state.ring == nullptr) return false;
  const bool has_ended =
      state.ring->ended.load(acquire);  // edge trace.thread_end: observe, all of its records are seen
  const std::uint64_t span = line_.ticks_in(session_.settings().last_ns) / chunks_in_span;
  const std::size_t count = state.ring->records.drain([&](const trace_record& record) {
    const bool is_full = state.chunks.empty() || state.chunks.back().size() == chunk_records ||
                         is_before(record_ticks(state.chunks.back().front()) + span, record_ticks(record));
    if (is_full) state.chunks.emplace_back().reserve(chunk_records);
    state.chunks.back().push_back(record);
    ++kept_;
  });
  state.lost = state.ring->records.lost();
  if (has_ended) {
    state.name = thread_name(*state.ring, true);
    unmap_memory(std::exchange(state.ring, nullptr), sizeof(thread_ring));
  }
  return count != 0;
}

/// Drops the chunks whose last record is too old. If the remaining chunks exceed the memory limit, also drops the
/// oldest of them.
void flight_recorder::drop_old(std::uint64_t now) {
  const std::uint64_t horizon = now - line_.ticks_in(session_.settings().last_ns);
  const auto is_old = [&](const chunk& each) { return is_before(record_ticks(each.back()), horizon); };
  std::vector<task_state> tasks;
  for (const auto& each : threads_)
    while (!each->chunks.empty() && is_old(each->chunks.front())) drop_first(*each, tasks);
  const std::uint64_t room = session_.settings().max_bytes / sizeof(trace_record);
  while (kept_ > room) {
    auto with_chunks = threads_ | std::views::filter([](const auto& each) { return !each->chunks.empty(); });
    const auto oldest = std::ranges::min_element(
        with_chunks, {}, [](const auto& each) { return record_ticks(each->chunks.front().back()); });
    drop_first(**oldest, tasks);
  }
  keep_states(std::move(tasks), now);
  std::erase_if(threads_, [](const auto& each) { return each->ring == nullptr && each->chunks.empty(); });
}

void flight_recorder::drop_first(thread_state& state, std::vector<task_state>& tasks) {
  pass(state.chunks.front(), state.dropped, tasks);
  kept_ -= state.chunks.front().size();
  state.chunks.pop_front();
}

void flight_recorder::pass(std::span<const trace_record> records, past& state, std::vector<task_state>& tasks) {
  using enum trace_kind;
  for (const trace_record& record : records) {
    const trace_kind kind = kind_of(record);
    const std::uint64_t subject = std::exchange(state.subject, kind == trace_kind::subject ? record.what : 0);
    switch (kind) {
      case job_begin:
      case slice_begin:
      case coroutine_begin: state.open.push_back({subject, record}); break;
      case slice_end:
        if (!state.open.empty()) state.open.pop_back();
        break;
      case task_waits: tasks.push_back({record_ticks(record), subject, kind, record.what}); break;
      case task_begin:
      case task_runs:
      case task_ready:
      case task_end: tasks.push_back({record_ticks(record), record.what, kind, 0}); break;
      default: break;
    }
  }
}

/// Stores the last state of each task. A task moves between threads, so the state with the latest time is kept.
void flight_recorder::merge(std::vector<task_state> tasks, task_states& into) {
  std::ranges::sort(tasks, {}, &task_state::ticks);
  for (const task_state& each : tasks) {
    const auto known = into.find(each.number);
    if (known != into.end() && is_before(each.ticks, known->second.ticks)) continue;
    into.insert_or_assign(each.number, each);
  }
}

void flight_recorder::keep_states(std::vector<task_state> tasks, std::uint64_t now) {
  merge(std::move(tasks), states_);
  if (is_before(now, forget_at_)) return;
  forget_at_ = now + line_.ticks_in(session_.settings().last_ns) / chunks_in_span;
  // The state of an ended task is kept for twice the recorded time, because another thread may still have an older
  // record of this task. No chunk covers more than the recorded time.
  const std::uint64_t old = now - 2 * line_.ticks_in(session_.settings().last_ns);
  std::erase_if(states_, [&](const auto& entry) {
    const bool is_over = entry.second.kind == trace_kind::task_end && is_before(entry.second.ticks, old);
    if (is_over) names_.erase(entry.first);
    return is_over;
  });
}

auto flight_recorder::name_of(std::uint64_t task) -> std::string {
  const auto known = names_.find(task);
  return known == names_.end() ? std::string() : known->second;
}

void flight_recorder::save(std::string_view reason, std::uint64_t asked_ns, bool by_hand) {
  if (!by_hand && asked_ns < quiet_until_ns_) return;
  const std::string path = session_.settings().file + "." + std::to_string(files_++ % max_files + 1);
  try {
    const std::uint64_t records = write_file(path, reason);
    std::fprintf(stderr, "braid: trace of the last %g s in %s (%llu records): %.*s\n",
                 static_cast<double>(session_.settings().last_ns) / 1e9, path.c_str(),
                 static_cast<unsigned long long>(records), static_cast<int>(reason.size()), reason.data());
  } catch (const std::bad_alloc&) {
    throw;  // the counts of kept records may be inconsistent
  } catch (const std::exception& error) {
    std::fprintf(stderr, "braid: the trace of the last seconds cannot be written: %s\n", error.what());
  }
  quiet_until_ns_ = boot_nanoseconds() + session_.settings().last_ns;
}

auto flight_recorder::write_file(const std::string& path, std::string_view reason) -> std::uint64_t {
  file_in_progress file(path);
  line_.move_to_now(session_.clock());
  trace_encoder out({.file = path,
                     .max_bytes = ~std::uint64_t{0},
                     .write = [&file](std::string_view bytes) { return file.write(bytes); },
                     .take_name = [this](std::uint64_t task) { return name_of(task); }},
                    line_, symbols_);
  const std::uint64_t records = kept_;
  encode(out, reason, std::nullopt);
  out.flush();
  file.complete();
  return records;
}

auto flight_recorder::read(std::string_view reason, std::uint64_t asked, std::uint64_t span_ns) -> std::string {
  std::string bytes;
  line_.move_to_now(session_.clock());
  trace_encoder out({.file = "the last seconds",
                     .max_bytes = ~std::uint64_t{0},
                     .write =
                         [&bytes](std::string_view more) {
                           bytes += more;
                           return true;
                         },
                     .take_name = [this](std::uint64_t task) { return name_of(task); }},
                    line_, symbols_);
  encode(out, reason, asked - line_.ticks_in(std::min(span_ns, session_.settings().last_ns)));
  out.flush();
  return bytes;
}

/// Selects the stored records of a thread from the time `from` on, which is in ticks. Without `from`, selects all
/// stored records.
auto flight_recorder::part_from(thread_state& state, std::optional<std::uint64_t> from, std::vector<task_state>& tasks)
    -> thread_part {
  thread_part out{.of = &state, .before = state.dropped, .is_all = !from};
  if (!from) return out;
  const auto is_old = [&](const trace_record& record) { return is_before(record_ticks(record), *from); };
  while (out.chunk < state.chunks.size()) {
    const chunk& records = state.chunks[out.chunk];
    out.record = static_cast<std::size_t>(std::ranges::partition_point(records, is_old) - records.begin());
    pass(std::span(records).first(out.record), out.before, tasks);
    const bool goes_on = out.record == records.size() && out.chunk + 1 < state.chunks.size();
    if (!goes_on) break;
    ++out.chunk;
    out.record = 0;
  }
  return out;
}

/// Returns the first record of the selected part, or null if the part is empty.
auto flight_recorder::find_first(const thread_part& part) -> const trace_record* {
  const std::deque<chunk>& all = part.of->chunks;
  if (part.chunk < all.size() && part.record < all[part.chunk].size()) return &all[part.chunk][part.record];
  return part.chunk + 1 < all.size() ? &all[part.chunk + 1].front() : nullptr;
}

void flight_recorder::encode(trace_encoder& encoder, std::string_view reason, std::optional<std::uint64_t> from) {
  const std::uint64_t now = boot_nanoseconds();
  std::vector<task_state> passed;
  std::vector<thread_part> parts;
  for (const auto& each : threads_) parts.push_back(part_from(*each, from, passed));
  task_states states = states_;
  merge(std::move(passed), states);
  trace_encoder::thread own;
  std::vector<task_state> before;
  for (const auto& entry : states)
    if (entry.second.kind != trace_kind::task_end) before.push_back(entry.second);
  std::ranges::sort(before, {}, &task_state::ticks);
  encoder.begin(own, own_thread_id(), "braid-trace", before.empty() ? session_.clock().ticks() : before.front().ticks);
  for (const task_state& each : before) encoder.begin_task(own, each.ticks, each.number, each.kind, each.wait);
  for (const thread_part& each : parts) {
    trace_encoder::thread out;
    encode_thread(encoder, out, each);
    if (out.has_begun()) encoder.end(out, std::max(now, out.sequence.last_ns));
  }
  const std::uint64_t end = std::max(boot_nanoseconds(), own.sequence.last_ns);
  encoder.end_tasks(own, end);
  encoder.mark(own, end, "saved: " + std::string(reason));
}

/// Writes the selected records of a thread. Empties the rings between two chunks, so that fewer new records are lost
/// during the write. The new records are added to later chunks, or to the end of the last chunk.
void flight_recorder::encode_thread(trace_encoder& encoder, trace_encoder::thread& out, const thread_part& part) {
  thread_state& of = *part.of;
  const std::size_t chunks = of.chunks.size();
  const trace_record* const first = part.before.open.empty() ? find_first(part) : &part.before.open.front().record;
  if (first == nullptr) return;
  const std::string name = of.ring == nullptr ? of.name : thread_name(*of.ring, false);
  encoder.begin(out, of.id, name, record_ticks(*first));
  for (const begun_slice& each : part.before.open) {
    out.subject = each.subject;
    encoder.add(out, each.record);
  }
  out.subject = part.before.subject;
  for (std::size_t i = part.chunk; i < chunks; ++i) {
    for (const trace_record& record : std::span(of.chunks[i]).subspan(i == part.chunk ? part.record : 0))
      encoder.add(out, record);
    for (const auto& each : threads_) drain(*each);
  }
  encoder.lost(out, of.lost - of.lost_saved);
  if (part.is_all) of.lost_saved = of.lost;
}

}  // namespace braid::detail
