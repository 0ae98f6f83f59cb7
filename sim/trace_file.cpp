// sim/trace_file.cpp: converts the switches of a run to tracks of Perfetto. Each machine is shown as a process, and
// each thread as a track with its states.
#include <braid/trace/detail/perfetto.hpp>
#include <sim/trace_file.hpp>
#include <sim/wire.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

using braid::detail::perfetto_writer;
using braid::detail::trace_event;
using kind = trace_event::kind;

constexpr std::int64_t step = 1'000;  // the time that a call takes
constexpr std::uint64_t ids_of_a_machine = 10'000'000;
constexpr std::uint64_t ids_of_a_process = 10'000;
constexpr std::uint64_t first_own_track = 0x2'0000'0000;  // of events of machines

/// The states of a thread: it runs, is ready, or waits.
class thread_track {
 public:
  explicit thread_track(std::uint32_t sequence) { sequence_.id = sequence; }

  auto sequence() -> perfetto_writer::sequence& { return sequence_; }
  [[nodiscard]] auto is(std::uint32_t state) const -> bool { return is_open_ && state_ == state; }

  void enter(perfetto_writer& out, std::int64_t time_ns, std::uint32_t state) {
    leave(out, time_ns);
    out.event(sequence_, static_cast<std::uint64_t>(time_ns), {.what = kind::begin, .name = state});
    state_ = state;
    is_open_ = true;
  }
  void leave(perfetto_writer& out, std::int64_t time_ns) {
    if (std::exchange(is_open_, false)) out.event(sequence_, static_cast<std::uint64_t>(time_ns), {.what = kind::end});
  }

 private:
  perfetto_writer::sequence sequence_;
  std::uint32_t state_ = 0;
  bool is_open_ = false;
};

class trace_writer {
 public:
  explicit trace_writer(const std::string& file) : file_(std::fopen(file.c_str(), "wb")), name_(file) { check(file_); }
  trace_writer(const trace_writer&) = delete;
  auto operator=(const trace_writer&) -> trace_writer& = delete;
  ~trace_writer() {
    if (file_ != nullptr) std::fclose(file_);
  }

  void write_machine(machine_number number, const traced_machine& machine, const run_log& log) {
    const std::uint64_t id = (number + 1) * ids_of_a_machine;
    out_.process(id, machine.name);
    std::uint64_t starts = 0;
    for (const process_log& each : log.processes())
      if (each.machine == number) write_process(each, machine, id, ++starts);
    write_notes(log, number, "events and packets");
  }

  /// Writes the events that belong to no machine.
  void write_world(const run_log& log) {
    const auto is_about_all = [](const world_note& each) { return !each.machine; };
    if (std::ranges::none_of(log.notes(), is_about_all)) return;
    out_.process(1, "world");
    write_notes(log, {}, "cuts and faults");
  }

  void end() {
    flush();
    const bool is_whole = std::fclose(std::exchange(file_, nullptr)) == 0;
    check(is_whole);
  }

 private:
  void check(bool is_good) const {
    if (!is_good) throw std::system_error(errno, std::generic_category(), "the trace `" + name_ + "`");
  }

  void flush() {
    check(std::fwrite(out_.bytes().data(), 1, out_.bytes().size(), file_) == out_.bytes().size());
    out_.clear();
  }

  auto name(const std::string& text) -> std::uint32_t {
    const auto [place, is_new] = names_.try_emplace(text, 0);
    if (is_new) place->second = out_.name(text);
    return place->second;
  }

  /// Writes the states of the threads of a process. A call takes one microsecond, so a thread is shown as running from
  /// one microsecond before its call. The thread is shown as running until another thread or another machine runs.
  void write_process(const process_log& log, const traced_machine& machine, std::uint64_t id, std::uint64_t starts) {
    std::map<std::uint32_t, thread_track> threads;
    const auto to_time = [&](std::int64_t local) {
      return to_world(start_time + local, machine.clock_drift_ppm) - start_time;
    };
    const auto find = [&](std::uint32_t thread, std::int64_t time_ns) -> thread_track& {
      const auto [place, is_new] = threads.try_emplace(thread, sequences_ + 1);
      if (!is_new) return place->second;
      ++sequences_;
      std::string shown = thread <= log.thread_names.size() ? log.thread_names[thread - 1] : "";
      if (shown.empty()) shown = "thread " + std::to_string(thread);
      if (starts > 1) shown += ", start " + std::to_string(starts);
      out_.thread(place->second.sequence(), id, id + (starts - 1) * ids_of_a_process + thread - 1, shown,
                  static_cast<std::uint64_t>(time_ns));
      return place->second;
    };
    const std::uint32_t runs = name("runs");
    const std::uint32_t ready = name("ready");
    std::int64_t last = 0;
    std::uint32_t runner = 0;
    for (const record& each : log.records) {
      const std::int64_t now = to_time(each.time);
      const std::int64_t begin = std::max(last, now - (each.is_wait != 0 ? 0 : step));
      thread_track& thread = find(each.thread, begin);
      if (runner != 0 && (runner != each.thread || begin > last))
        if (thread_track& before = threads.at(runner); before.is(runs)) before.enter(out_, last, ready);
      if (!thread.is(runs)) thread.enter(out_, begin, runs);
      if (each.is_wait != 0) thread.enter(out_, now, name(std::string("waits: ") + sim::name(each.kind)));
      if (each.kind == call::thread_end) thread.leave(out_, now);
      runner = each.kind == call::thread_end ? 0 : each.thread;
      last = now;
      if (out_.bytes().size() > 1'000'000) flush();
    }
    for (auto& [number, thread] : threads) thread.leave(out_, last);
    if (!log.is_complete && !threads.empty())
      out_.event(threads.begin()->second.sequence(), static_cast<std::uint64_t>(last),
                 {.name = name("earlier switches are missing")});
  }

  void write_notes(const run_log& log, std::optional<machine_number> machine, const char* title) {
    perfetto_writer::sequence sequence{.id = ++sequences_, .last_ns = 0, .known_names = {}};
    const std::uint64_t track = first_own_track + sequence.id;
    out_.track(track, title);
    out_.begin(sequence, track, 0);
    for (const world_note& each : log.notes()) {
      if (each.machine != machine) continue;
      const bool is_received = each.way == direction::received;
      out_.event(
          sequence, static_cast<std::uint64_t>(each.time_ns),
          {.name = name(each.text), .flow = is_received ? 0 : each.packet, .flow_end = is_received ? each.packet : 0});
      if (out_.bytes().size() > 1'000'000) flush();
    }
  }

  std::FILE* file_;
  std::string name_;
  perfetto_writer out_;
  std::map<std::string, std::uint32_t> names_;
  std::uint32_t sequences_ = 1;
};

}  // namespace

auto check_trace(const std::string& file) -> std::string {
  struct stat known{};
  const bool is_new = ::stat(file.c_str(), &known) != 0;
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
  if (opened < 0 && errno != ENXIO)  // a pipe may get its reader later
    return "--trace must name a file that can be written, got `" + file + "`: " + std::strerror(errno) +
           "; the folder of the file must exist";
  if (opened >= 0) ::close(opened);
  if (opened >= 0 && is_new) ::unlink(file.c_str());
  return {};
}

void prepare_trace(run_options& options) {
  if (options.trace.empty()) return;
  options.wanted.records = traced_records;
  options.wanted.keeps_last = 1;
}

void write_trace(const std::string& file, const std::vector<traced_machine>& machines, const run_log& log) {
  trace_writer writer(file);
  for (machine_number at = 0; at < machines.size(); ++at) writer.write_machine(at, machines[at], log);
  writer.write_world(log);
  writer.end();
  std::fprintf(stderr, "braid-sim: the trace is in %s; open it at https://ui.perfetto.dev\n", file.c_str());
}

}  // namespace sim
