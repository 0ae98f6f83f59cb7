// src/trace/writer.cpp: moves records from the rings of threads to the trace file until the process ends.
#include "ring_file.hpp"
#include "writer.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace braid::detail {

struct trace_writer::thread_state {
  thread_ring* ring = nullptr;
  trace_encoder::thread out;
  std::uint64_t lost_reported = 0;
  bool has_ended = false;
};

trace_writer::trace_writer(trace_session& traced)
    : session_(traced),
      line_(traced.clock()),
      out_({.file = traced.settings().file,
            .max_bytes = traced.settings().max_bytes,
            .write = [&traced](std::string_view bytes) { return traced.write(bytes); },
            .take_name = [this](std::uint64_t task) { return take_name(task); },
            .process_name = traced.rings() != nullptr ? traced.rings()->process_name() : std::string()},
           line_, symbols_) {}

trace_writer::~trace_writer() {
  for (const thread_state* each : threads_) delete each;
}

auto trace_writer::take_name(std::uint64_t task) -> std::string {
  for (auto& [number, name] : session_.take_tasks()) task_names_.insert_or_assign(number, std::move(name));
  auto name = task_names_.extract(task);
  return name.empty() ? std::string() : std::move(name.mapped());
}

auto trace_writer::write_new() -> bool {
  if (!std::exchange(is_measured_, true)) {
    line_.measure(session_.clock());
    if (session_.rings() != nullptr)
      session_.rings()->set_line(line_.first_ticks(), line_.first_ns(), line_.ns_per_tick());
  }
  if (out_.is_full()) static_cast<void>(session_.take_tasks());  // their names are not needed any more
  for (thread_ring* const ring : session_.take_rings()) {
    auto made = std::make_unique<thread_state>();
    made->ring = ring;
    threads_.push_back(made.get());
    static_cast<void>(made.release());
  }
  bool found = false;
  for (thread_state* const each : threads_) found = drain(*each) || found;
  out_.flush();
  commit();
  std::erase_if(threads_, [this](thread_state* each) {
    if (!each->has_ended) return false;
    session_.close_ring(each->ring);
    delete each;
    return true;
  });
  return found;
}

/// Commits the state of all rings if they are in a file, so that the ring file always says which records the trace
/// contains.
void trace_writer::commit() {
  ring_file* const rings = session_.rings();
  if (rings == nullptr) return;
  rings->note_objects();
  for (const thread_state* const each : threads_)
    each->ring->states[rings->next_state()] = {.read = each->ring->records.read(),
                                               .lost = each->lost_reported,
                                               .open = each->out.open,
                                               .last_ns = each->out.sequence.last_ns,
                                               .hidden = each->out.hidden,
                                               .sequence = each->out.sequence.id};
  session_.commit_rings();
}

/// Writes the new records of a thread. If the thread had ended before this call, these are its last records.
auto trace_writer::drain(thread_state& state) -> bool {
  const bool has_ended =
      state.ring->ended.load(acquire);  // edge trace.thread_end: observe, all of its records are seen
  const std::size_t count = state.ring->records.drain([&](const trace_record& record) {
    if (!state.out.has_begun())
      out_.begin(state.out, state.ring->thread, thread_name(*state.ring, has_ended), record.when_kind >> 8U);
    out_.add(state.out, record);
  });
  const std::uint64_t lost = state.ring->records.lost();
  out_.lost(state.out, lost - std::exchange(state.lost_reported, lost));
  if (has_ended) out_.end(state.out, state.out.sequence.last_ns);
  state.has_ended = has_ended;
  return count != 0;
}

void trace_writer::finish() {
  write_new();
  const std::uint64_t now = boot_nanoseconds();
  thread_state* any = nullptr;
  for (thread_state* const each : threads_) {
    if (!each->out.has_begun()) continue;
    out_.end(each->out, now);
    any = each;
  }
  if (any != nullptr) out_.end_tasks(any->out, now);
  out_.flush();
}

}  // namespace braid::detail
