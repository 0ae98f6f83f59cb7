// src/runtime/stall_watch.cpp: checks whether workers and loops make progress, and reports those that do not.
#include <braid/runtime/detail/stall_watch.hpp>

#include "../platform/system.hpp"
#include "metrics_reader.hpp"
#include "stack_sample.hpp"

#include <braid/sync/detail/user_code.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/trace/detail/hooks.hpp>
#include <braid/base/detail/number_in.hpp>
#include <braid/base/detail/symbols.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md explains how these values were chosen.
constexpr duration min_interval = 50ms;
constexpr duration answer_limit = 100ms;

constexpr std::size_t max_functions = 24;

void print(const runtime::stall& report) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(report.at_least).count();
  std::string text = "braid: ";
  text += report.where == runtime::stall::place::loop ? "loop " : "worker ";
  text += report.thread + " has run the same job for " + std::to_string(ms) + " ms\n";
  for (const std::string& each : report.functions) text += "    " + each + "\n";
  std::fputs(text.c_str(), stderr);
}

/// Returns the names of the functions on a stack. A return address points behind the call instruction. So 1 is
/// subtracted from all addresses except the first, which is not a return address.
auto list_names(const std::vector<std::uintptr_t>& frames) -> std::vector<std::string> {
  symbol_table symbols;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(frames.size(), max_functions); ++i)
    names.push_back(symbols.name(frames[i] - (i == 0 ? 0 : 1)));
  return names;
}

}  // namespace

stall_watch::stall_watch(std::vector<stall_target> targets, duration limit, report_fn report, const clock_source& clock)
    : targets_(std::move(targets)),
      limit_(limit),
      interval_(std::max(limit / 2, min_interval)),
      report_(std::move(report)),
      clock_(&clock),
      looked_(clock.now()) {}

stall_watch::~stall_watch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void stall_watch::start() {
  thread_ = std::thread([this] { work(); });
}

void stall_watch::work() {
  static_cast<void>(this_thread::set_name("braid-watch"));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval_, [this] { return ends_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

/// Checks all workers and loops for progress. If the watchdog's thread itself was late, the machine was busy or
/// suspended. Therefore, each check adds at most one interval to the time without progress.
void stall_watch::look() {
  const time_point now = clock_->now();
  const duration since = std::min(now - std::exchange(looked_, now), interval_);
  for (stall_target& each : targets_) {
    const stall_progress seen = metrics_reader::progress(each);
    const bool stands = seen.is_busy && seen == each.last;
    each.last = seen;
    each.seen = stands ? each.seen + since : duration::zero();
    if (!stands) each.is_reported = false;
    if (each.seen < limit_ || std::exchange(each.is_reported, true)) continue;
    count_.store(count_.load(relaxed) + 1, relaxed);
    report(each);
  }
}

/// Reports a stalled worker or loop. If an allocation fails, there is no report.
void stall_watch::report(const stall_target& target) {
  trace_save("a stall");
  try {
    runtime::stall made{
        .where = target.of_worker != nullptr ? runtime::stall::place::worker : runtime::stall::place::loop,
        .thread = target.thread,
        .at_least = target.seen,
        .functions = list_names(sample_stack(metrics_reader::thread(target), answer_limit))};
    const user_code_section section;
    if (report_) return report_(made);
    print(made);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "braid: a stall cannot be reported: %s\n", error.what());
  }
}

auto stall_targets_of(const runtime& runtime) -> std::vector<stall_target> { return metrics_reader::targets(runtime); }

auto is_busy(const stall_target& target) noexcept -> bool { return metrics_reader::progress(target).is_busy; }

auto stall_limit_of_environment() -> std::optional<duration> {
  const char* const asked = trusted_environment("BRAID_STALL");
  if (asked == nullptr) return std::nullopt;
  const auto limit = duration_in(asked);
  if (!limit)
    std::fprintf(stderr, "braid: BRAID_STALL is ignored: \"%s\" is not a duration such as 500ms or 2s\n", asked);
  return limit;
}

}  // namespace braid::detail
