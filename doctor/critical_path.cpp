// doctor/critical_path.cpp: walks back from the end of a request, from each slice to the event that woke it.
#include <doctor/critical_path.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

namespace braid::doctor {
namespace {

/// A span of time during which the innermost slice of a thread did not change.
struct piece {
  std::uint64_t begin;
  std::uint64_t end;
  std::size_t slice;
};

/// Returns the spans of a thread from `from` to `to`, without gaps.
auto find_pieces(const recorded_thread& thread, std::uint64_t from, std::uint64_t to) -> std::vector<piece> {
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  const auto& slices = thread.slices;
  std::vector<piece> found;
  std::size_t current = thread.innermost(from);
  auto next =
      static_cast<std::size_t>(std::ranges::upper_bound(slices, from, {}, &recorded_slice::begin) - slices.begin());
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t ends = current != no_slice ? slices[current].end : never;
    const std::uint64_t begins = next < slices.size() ? slices[next].begin : never;
    const std::uint64_t until = std::max(at, std::min({ends, begins, to}));
    if (until > at) found.push_back({at, until, current});
    at = until;
    if (ends <= at)
      current = slices[current].parent;
    else if (begins <= at)
      current = next++;
  }
  return found;
}

/// Returns the kind of step for a wait with this name. Returns nothing if the wait is for another task or thread,
/// because the walk then continues in that task or thread.
auto kind_of_wait(std::string_view name) -> std::optional<path_kind> {
  if (name == "sleep") return path_kind::timer;
  if (name == "I/O" || name == "readiness" || name == "Redis reply") return path_kind::io;
  if (name == "semaphore") return path_kind::lock;
  return std::nullopt;
}

class path_walk {
 public:
  path_walk(const trace_file& trace, const traced_request& request)
      : trace_(trace), bounds_{request.first}, place_(request.last) {}

  /// Returns the steps of the critical path. Each step of the walk leads back in time, or to the surrounding slice.
  auto steps() -> std::vector<path_step> {
    constexpr unsigned max_steps_at_a_time = 1000;  // the walk through a damaged trace may not end
    unsigned steps_here = 0;
    while (true) {
      const std::uint64_t before = place_.when;
      if (steps_here == max_steps_at_a_time) {
        give_up();
      } else if (before > bounds_.back().when) {
        step();
      } else if (bounds_.size() > 1) {
        place_ = bounds_.back();
        bounds_.pop_back();
      } else {
        std::ranges::reverse(steps_);
        return std::move(steps_);
      }
      steps_here = place_.when == before ? steps_here + 1 : 0;
    }
  }

 private:
  [[nodiscard]] auto bound() const noexcept -> std::uint64_t { return bounds_.back().when; }
  [[nodiscard]] auto thread(std::size_t index) const -> const recorded_thread& { return trace_.threads[index]; }
  [[nodiscard]] auto slice_at(const trace_place& place) const -> const recorded_slice& {
    return thread(place.thread).slices[place.slice];
  }
  [[nodiscard]] auto name(std::uint32_t index) const -> const std::string& { return trace_.names[index]; }

  /// Returns the innermost job or coroutine at a point in time, or `no_slice`.
  [[nodiscard]] auto unit_at(trace_place place) const -> std::size_t {
    while (place.slice != no_slice && slice_at(place).cause == 0) place.slice = slice_at(place).parent;
    return place.slice;
  }

  void step() {
    const std::size_t unit = unit_at(place_);
    if (unit == no_slice) return outside();
    const recorded_slice& of = thread(place_.thread).slices[unit];
    if (!run(std::max(of.begin, bound()))) return;
    place_.when = std::max(of.begin, bound());
    place_.slice = of.parent;
    if (of.begin <= bound()) return;
    of.is_coroutine() ? before_coroutine(of) : before_job(of);
  }

  void give_up() {
    bounds_.resize(1);
    add(bound(), place_.when, path_kind::unknown, place_.thread,
        "unknown, because the arrows of the trace form a cycle");
    place_.when = bound();
  }

  /// Continues the walk from a point at which no job runs. Either code outside of any job began the work, or an event
  /// loop received an event from the kernel.
  void outside() {
    const std::uint64_t from = bound();
    const trace_place& begun = bounds_.back();
    if (begun.thread == place_.thread && unit_at(begun) == no_slice) {
      run(from);
    } else if (is_called(place_, "timers")) {
      add(from, place_.when, path_kind::timer, place_.thread, "a timer");
    } else if (last_call(place_.when, from) != nullptr) {
      polled(from, place_.when, place_.thread, "I/O");
    } else {
      add(from, place_.when, path_kind::unknown, place_.thread,
          "an unknown cause on thread " + thread(place_.thread).name);
    }
    place_.when = from;
  }

  void before_job(const recorded_slice& job) {
    const trace_place* const post = last(trace_.posts, job.cause, job.begin);
    if (post == nullptr) return;  // the surrounding slice calls it
    queued(post->when, job.begin, place_.thread);
    place_ = *post;
  }

  void before_coroutine(const recorded_slice& coroutine) {
    const recorded_wait* const wait = last_wait(coroutine.cause, coroutine.begin);
    if (wait == nullptr) return;
    const trace_place* const ready = last(trace_.readies, coroutine.cause, coroutine.begin);
    if (ready != nullptr && ready->when >= wait->at.when) {
      queued(ready->when, coroutine.begin, place_.thread);
      place_ = *ready;
    }
    if (place_.when <= bound()) return;
    const std::string& waits_for = name(wait->name);
    const std::uint64_t from = std::max(wait->at.when, bound());
    const std::string what = waits_for + " in " + name(coroutine.name);
    if (is_called(place_, "stop")) return stopped(*wait, from, what);
    switch (kind_of_wait(waits_for).value_or(path_kind::unknown)) {
      case path_kind::timer: slept(*wait, from, what); break;
      case path_kind::io: polled(from, place_.when, place_.thread, what); break;
      case path_kind::lock:
        add(from, place_.when, path_kind::lock, wait->at.thread, what + ", had by " + doer(place_));
        break;
      default: return follow(*wait);
    }
    place_ = wait->at;
  }

  /// Follows a wait. The walk continues in the work that ended the wait. When the walk has come back to the time at
  /// which the wait began, it continues at that point in the waiting work.
  void follow(const recorded_wait& wait) {
    if (wait.at.when > bound()) bounds_.push_back(wait.at);
  }

  /// Adds the cause of a stop. If a timer of the loop caused the stop, such as a deadline, adds a step for that timer.
  /// If other code caused the stop, continues the walk in that code.
  void stopped(const recorded_wait& wait, std::uint64_t from, const std::string& text) {
    const bool by_timer =
        unit_at(place_) == no_slice && is_called({place_.thread, place_.when, around(place_)}, "timers");
    if (!by_timer) return follow(wait);
    add(from, place_.when, path_kind::timer, place_.thread, "a timer that stopped " + text);
    place_ = wait.at;
  }

  /// Returns the parent of the innermost slice at a point in time.
  [[nodiscard]] auto around(const trace_place& place) const -> std::size_t { return slice_at(place).parent; }

  /// Returns whether the innermost slice at a point in time is a slice of the library with this name.
  [[nodiscard]] auto is_called(const trace_place& place, std::string_view text) const -> bool {
    return place.slice != no_slice && slice_at(place).cause == 0 && name(slice_at(place).name) == text;
  }

  void slept(const recorded_wait& wait, std::uint64_t from, const std::string& text) {
    const std::uint64_t due = wait.due != 0 ? wait.at.when + wait.due : place_.when;
    const std::uint64_t until = std::clamp(due, from, place_.when);
    queued(until, place_.when, place_.thread);
    add(from, until, path_kind::timer, place_.thread, text);
  }

  /// Adds the wait for an event from the kernel. The event may have been pending since the loop's previous call to the
  /// kernel. If the loop ran other work after that call, the step names that work. Otherwise the whole time counts as
  /// I/O.
  void polled(std::uint64_t from, std::uint64_t to, std::size_t thread_index, const std::string& text) {
    const recorded_slice* const call = last_call(to, from);
    if (call == nullptr) return add(from, to, path_kind::io, thread_index, text);
    const recorded_slice* const before = last_call(call->begin, 0);
    queued(call->end, to, thread_index);
    add(std::max(from, call->begin), call->end, path_kind::io, thread_index, text);
    if (call->begin <= from) return;
    const std::uint64_t asked = std::clamp(before != nullptr ? before->end : from, from, call->begin);
    const auto [busy, name] = busiest(thread_index, asked, call->begin);
    const bool is_held_up = busy != 0;
    add(asked, call->begin, is_held_up ? path_kind::unknown : path_kind::io, thread_index,
        is_held_up ? text + ", or behind " + name : text);
    add(from, asked, path_kind::io, thread_index, text);
  }

  /// Returns the last call of the loop to the kernel that ended after `from` and before `to`, or null.
  [[nodiscard]] auto last_call(std::uint64_t to, std::uint64_t from) const -> const recorded_slice* {
    const auto& slices = thread(place_.thread).slices;
    auto at = std::ranges::lower_bound(slices, to, {}, &recorded_slice::begin);
    while (at != slices.begin()) {
      --at;
      const std::string& called = name(at->name);
      const bool is_call = at->cause == 0 && (called == "wait" || called == "poll");
      if (is_call && at->end <= to) return at->end > from ? &*at : nullptr;
      if (at->begin < from && at->parent == no_slice) return nullptr;
    }
    return nullptr;
  }

  /// Adds steps for what the thread did since `from`, and returns true. If another thread has woken this thread in the
  /// meantime, adds only the steps after that and returns false; the walk then continues in the other thread.
  bool run(std::uint64_t from) {
    const recorded_thread& on = thread(place_.thread);
    auto all = find_pieces(on, from, place_.when);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      const std::string& shown = at->slice != no_slice ? name(on.slices[at->slice].name) : on.name;
      const bool is_own = at->slice == no_slice || on.slices[at->slice].cause == 0;
      if (is_own && shown == "parked" && follow_wake(*at)) return false;
      path_kind kind = path_kind::cpu;
      if (is_own && shown == "parked") kind = path_kind::unknown;
      if (is_own && shown == "blocked") kind = path_kind::blocked;
      if (is_own && (shown == "wait" || shown == "poll")) kind = path_kind::io;
      add(at->begin, at->end, kind, place_.thread, shown);
    }
    return true;
  }

  auto follow_wake(const piece& parked) -> bool {
    const recorded_thread& on = thread(place_.thread);
    const auto woken = on.woken.lower_bound(parked.end);
    if (woken == on.woken.end()) return false;
    const trace_place* const wake = last(trace_.wakes, woken->second, woken->first);
    if (wake == nullptr || wake->when < parked.begin || wake->when > parked.end) return false;
    add(wake->when, parked.end, path_kind::queued, place_.thread, "the wake of " + on.name);
    if (parked.begin > bound()) bounds_.push_back({place_.thread, parked.begin, on.slices[parked.slice].parent});
    place_ = *wake;
    return true;
  }

  void queued(std::uint64_t from, std::uint64_t to, std::size_t thread_index) {
    from = std::max(from, bound());
    if (from >= to) return;
    const auto [busy, name] = busiest(thread_index, from, to);
    const bool is_busy = 2 * busy >= to - from;
    add(from, to, path_kind::queued, thread_index,
        is_busy ? "behind " + name : "until " + thread(thread_index).name + " came to it");
  }

  /// Returns the total busy time of a thread in this span, and the name of the slice that ran longest.
  [[nodiscard]] auto busiest(std::size_t thread_index, std::uint64_t from, std::uint64_t to) const
      -> std::pair<std::uint64_t, std::string> {
    std::unordered_map<std::uint32_t, std::uint64_t> times;
    std::uint64_t all = 0;
    std::pair<std::uint64_t, std::string> most;
    for (const piece& each : find_pieces(thread(thread_index), from, to)) {
      if (each.slice == no_slice) continue;
      const recorded_slice& slice = thread(thread_index).slices[each.slice];
      const std::string& shown = name(slice.name);
      constexpr std::array idle{"wait", "poll", "parked", "tick", "timers"};
      if (slice.cause == 0 && std::ranges::find(idle, shown) != idle.end()) continue;
      all += each.end - each.begin;
      std::uint64_t& time = times[slice.name] += each.end - each.begin;
      if (time > most.first) most = {time, shown};
    }
    return {all, most.second};
  }

  /// Returns the name of the job that runs at a point in time, and the name of its thread.
  [[nodiscard]] auto doer(const trace_place& place) const -> std::string {
    const std::size_t unit = unit_at(place);
    if (unit == no_slice) return "thread " + thread(place.thread).name;
    return name(thread(place.thread).slices[unit].name) + " on " + thread(place.thread).name;
  }

  /// Returns the last of the `points` with this number at or before `time`. Returns null if there is no such point.
  static auto last(const std::unordered_map<std::uint64_t, std::vector<trace_place>>& points, std::uint64_t number,
                   std::uint64_t time) -> const trace_place* {
    const auto found = points.find(number);
    if (found == points.end()) return nullptr;
    const auto after = std::ranges::upper_bound(found->second, time, {}, &trace_place::when);
    return after != found->second.begin() ? &*std::prev(after) : nullptr;
  }

  [[nodiscard]] auto last_wait(std::uint64_t number, std::uint64_t time) const -> const recorded_wait* {
    const auto found = trace_.waits.find(number);
    if (found == trace_.waits.end()) return nullptr;
    const auto after =
        std::ranges::upper_bound(found->second, time, {}, [](const recorded_wait& wait) { return wait.at.when; });
    return after != found->second.begin() ? &*std::prev(after) : nullptr;
  }

  /// Adds a step before the steps that were added so far. The new step ends when the previously added step begins.
  void add(std::uint64_t from, std::uint64_t to, path_kind kind, std::size_t thread_index, std::string text) {
    from = std::max(from, bound());
    if (from >= to) return;
    const bool continues = !steps_.empty() && steps_.back().kind == kind && steps_.back().thread == thread_index &&
                           steps_.back().what == text;
    if (continues)
      steps_.back().begin = from;
    else
      steps_.push_back({from, to, kind, thread_index, std::move(text)});
  }

  const trace_file& trace_;
  std::vector<trace_place> bounds_;  // the walk stops at the last one and continues there
  trace_place place_;
  std::vector<path_step> steps_;
};

/// Returns whether the text is equal to `id` or contains it as a word.
auto has_word(std::string_view text, std::string_view id) -> bool {
  for (std::size_t at = text.find(id); at != std::string_view::npos; at = text.find(id, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ';
    const bool ends = at + id.size() == text.size() || text[at + id.size()] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

auto tracks_where(const trace_file& trace, auto fits) -> std::vector<traced_request> {
  std::vector<traced_request> found;
  for (const auto& [number, track] : trace.tracks)
    if (track.open == 0 && track.last.when > track.first.when && fits(track))
      found.push_back({track.name, track.first, track.last});
  return found;
}

auto spans_named(const trace_file& trace, std::string_view id) -> std::vector<traced_request> {
  std::vector<traced_request> found;
  for (std::size_t thread = 0; thread < trace.threads.size(); ++thread) {
    const auto& slices = trace.threads[thread].slices;
    for (std::size_t at = 0; at < slices.size(); ++at)
      if (trace.names[slices[at].name] == id && slices[at].end > slices[at].begin)
        found.push_back({std::string(id), {thread, slices[at].begin, slices[at].parent}, {thread, slices[at].end, at}});
  }
  return found;
}

auto is_request(const recorded_track& track) -> bool { return track.is_activity && track.name.starts_with("request "); }

/// Returns the requests with this id. Other tracks and spans with the id are returned only if there is no such request,
/// because the tracks of a request's nodes contain the id as well.
auto requests_called(const trace_file& trace, std::string_view id) -> std::vector<traced_request> {
  const auto has_id = [id](const recorded_track& track) { return has_word(track.name, id); };
  auto found = tracks_where(trace, [&](const recorded_track& track) { return is_request(track) && has_id(track); });
  if (found.empty()) found = tracks_where(trace, has_id);
  return !found.empty() ? found : spans_named(trace, id);
}

auto requests_in_any_order(const trace_file& trace, std::string_view id) -> std::vector<traced_request> {
  if (!id.empty()) return requests_called(trace, id);
  auto found = tracks_where(trace, is_request);
  if (found.empty()) found = tracks_where(trace, [](const recorded_track& track) { return track.is_activity; });
  if (found.empty()) found = tracks_where(trace, [](const recorded_track& /*track*/) { return true; });
  return found;
}

}  // namespace

auto find_requests(const trace_file& trace, std::string_view id) -> std::vector<traced_request> {
  auto found = requests_in_any_order(trace, id);
  std::ranges::sort(found, [](const traced_request& a, const traced_request& b) {
    return std::pair(b.length(), a.first.when) < std::pair(a.length(), b.first.when);
  });
  return found;
}

auto critical_path(const trace_file& trace, const traced_request& request) -> std::vector<path_step> {
  return path_walk(trace, request).steps();
}

auto name_of(path_kind kind) -> const char* {
  constexpr std::array<const char*, path_kinds> names{"cpu", "queued", "io", "lock", "timer", "blocked", "unknown"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace braid::doctor
