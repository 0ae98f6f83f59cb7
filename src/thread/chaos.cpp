// src/thread/chaos.cpp: perturbs schedules in tests. A thread changes the affinity and nice values of other threads,
// and restores them later.
#include <braid/thread/chaos.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>

#include <algorithm>
#include <system_error>
#include <utility>
#include <variant>

namespace braid {
namespace {

auto pick_some(const cpu_set& cpus, random_source& random) -> cpu_set {
  cpu_set some;
  for (const unsigned cpu : cpus)
    if (random.below(2) == 0) some.add(cpu);
  if (!some.empty() || cpus.empty()) return some;
  std::size_t steps = random.below(cpus.size());
  for (const unsigned cpu : cpus)
    if (steps-- == 0) some.add(cpu);
  return some;
}

auto with_nice(const scheduling& policy, nice_value nice) -> scheduling {
  if (policy.is<scheduling::other>()) return scheduling::other{nice};
  if (policy.is<scheduling::batch>()) return scheduling::batch{nice};
  return policy;
}

auto to_nice(int value) -> nice_value { return *nice_value::from(std::min(value, nice_value::largest)); }

/// Returns whether the system permits restoring this nice value after it was increased. Tries this on the calling
/// thread; if the system refuses, the thread keeps the increased value.
auto can_return_to(nice_value nice) -> bool {
  return this_thread::set_nice(to_nice(nice.value() + 1)) && this_thread::set_nice(nice);
}

}  // namespace

namespace detail {

/// A setting of another thread: its original value, and the last value that chaos has set.
template <typename T>
struct disturbed_setting {
  T before;
  T now;             // the last value that chaos set
  bool ours = true;  // no other code has changed it

  explicit disturbed_setting(const T& value) : before(value), now(value) {}
};

/// A thread that chaos disturbs, with its settings.
struct disturbed_thread {
  thread_info thread;
  chaos_sequence sequence;
  disturbed_setting<cpu_set> affinity;
  disturbed_setting<braid::scheduling> scheduling;
};

}  // namespace detail

namespace {

auto has_ended(std::error_code error) -> bool { return error == std::errc::no_such_process; }

/// Sets a thread's setting to `wanted`, unless other code has changed the setting since the last call. Returns false if
/// the system refuses.
template <typename T, typename Get, typename Set>
auto change(const thread_info& thread, detail::disturbed_setting<T>& setting, const T& wanted, Get get, Set set)
    -> bool {
  if (!setting.ours) return true;
  const auto current = (thread.*get)();
  if (!current) return has_ended(current.error());
  setting.ours = *current == setting.now;
  if (!setting.ours || wanted == setting.now) return true;
  const auto changed = (thread.*set)(wanted);
  // The system may have set another value: Windows has five priorities, and a cpuset of Linux removes CPUs.
  if (changed) setting.now = (thread.*get)().value_or(wanted);
  return changed || has_ended(changed.error());
}

auto give(detail::disturbed_thread& to, const detail::disturbed_settings& wanted) -> std::size_t {
  const bool moved =
      change(to.thread, to.affinity, wanted.affinity, &thread_info::affinity, &thread_info::set_affinity);
  const bool weighed =
      change(to.thread, to.scheduling, wanted.scheduling, &thread_info::scheduling, &thread_info::set_scheduling);
  return (moved ? 0U : 1U) + (weighed ? 0U : 1U);
}

}  // namespace

detail::chaos_sequence::chaos_sequence(std::uint64_t seed, std::size_t index) noexcept
    : random_(random_source(seed)() ^ random_source(~std::uint64_t{index})()) {}

auto detail::chaos_sequence::next(const detail::disturbed_settings& before) -> detail::disturbed_settings {
  detail::disturbed_settings given{.affinity = pick_some(before.affinity, random_), .scheduling = before.scheduling};
  const std::uint64_t more = random_();  // always drawn, so that a policy does not change the later numbers
  if (const auto nice = before.scheduling.nice()) {
    const auto room = static_cast<std::uint64_t>(nice_value::largest - nice->value()) + 1;
    given.scheduling = with_nice(before.scheduling, to_nice(nice->value() + static_cast<int>(more % room)));
  }
  return given;
}

struct chaos::state {
  auto look_for() -> result<void>;
  auto look_at_others(const std::vector<thread_info>& threads) -> result<void>;
  void look_at(const std::vector<thread_info>& threads);
  void run(duration interval);
  void step();
  void restore();

  find_fn find;            // this and the next members are used only by the chaos thread once it runs
  std::uint64_t seed = 0;  // the seed of all sequences
  std::size_t found = 0;   // the number of attempts to examine a new thread
  std::vector<detail::disturbed_thread> targets;
  detail::parker sleep;      // unparked in order to stop
  atomic<bool> stop{false};  // written by the destructor, before it unparks
  atomic<std::size_t> steps{0};
  atomic<std::size_t> refusals{0};
  thread worker;  // the last member, because it uses the others
};

/// Updates the list of disturbed threads: restores and removes the threads that `find` no longer returns, and adds new
/// threads.
auto chaos::state::look_for() -> result<void> {
  const std::vector<thread_info> wanted = find();
  std::erase_if(targets, [&wanted](detail::disturbed_thread& each) {
    const bool has_left = std::ranges::find(wanted, each.thread) == wanted.end();
    if (has_left)
      static_cast<void>(give(each, {.affinity = each.affinity.before, .scheduling = each.scheduling.before}));
    return has_left;
  });
  return look_at_others(wanted);
}

/// Adds threads to the list of disturbed threads. Reads their settings on a temporary thread, because reading them may
/// increase the nice value of the reading thread (see `can_return_to`).
auto chaos::state::look_at_others(const std::vector<thread_info>& threads) -> result<void> {
  std::vector<thread_info> others;
  for (const thread_info& each : threads)
    if (std::ranges::find(targets, each, &detail::disturbed_thread::thread) == targets.end()) others.push_back(each);
  if (others.empty()) return {};
  auto looks = thread::create({}, [&] { look_at(others); });
  if (!looks) return fail(looks.error());
  static_cast<void>(looks->join());
  return {};
}

void chaos::state::look_at(const std::vector<thread_info>& threads) {
  for (const thread_info& each : threads) {
    const std::size_t index = found++;
    const auto affinity = each.affinity();
    const auto policy = each.scheduling();
    if (!affinity || !policy) continue;
    targets.push_back({.thread = each,
                       .sequence = detail::chaos_sequence(seed, index),
                       .affinity = detail::disturbed_setting(*affinity),
                       .scheduling = detail::disturbed_setting(*policy)});
    const auto nice = policy->nice();
    targets.back().scheduling.ours = nice && can_return_to(*nice);
  }
}

void chaos::state::run(duration interval) {
  constexpr duration max_length = 1000h;  // a longer time could not be represented as a point in time
  while (!stop.load(relaxed)) {
    if (find) static_cast<void>(look_for());  // threads that cannot be read now are read before the next step
    step();
    static_cast<void>(sleep.park_until(steady_time().now() + std::min(interval, max_length)));
  }
  restore();
}

void chaos::state::step() {
  for (detail::disturbed_thread& each : targets) {
    if (stop.load(relaxed)) return;
    const auto wanted = each.sequence.next({.affinity = each.affinity.before, .scheduling = each.scheduling.before});
    refusals.fetch_add(give(each, wanted), relaxed);
  }
  steps.fetch_add(1, relaxed);
}

void chaos::state::restore() {
  for (detail::disturbed_thread& each : targets)
    give(each, {.affinity = each.affinity.before, .scheduling = each.scheduling.before});
}

auto chaos::start(const std::vector<thread_info>& threads, chaos::options options) -> result<chaos> {
  if (options.interval <= duration::zero()) return fail(errc::invalid_argument);
  auto running = std::make_unique<state>();
  running->seed = options.seed;
  const auto looked = running->look_at_others(threads);
  if (!looked) return fail(looked.error());
  return begin(std::move(running), options);
}

auto chaos::start_finding(find_fn find, chaos::options options) -> result<chaos> {
  if (options.interval <= duration::zero()) return fail(errc::invalid_argument);
  auto running = std::make_unique<state>();
  running->seed = options.seed;
  running->find = std::move(find);
  return begin(std::move(running), options);
}

auto chaos::begin(std::unique_ptr<state> running, chaos::options options) -> result<chaos> {
  auto worker = thread::create({.name = "braid-chaos"}, [at = running.get(), options] { at->run(options.interval); });
  if (!worker) return fail(worker.error());
  running->worker = std::move(*worker);
  return chaos(std::move(running));
}

chaos::chaos(std::unique_ptr<state> running) noexcept : state_(std::move(running)) {}
chaos::chaos(chaos&& other) noexcept = default;
auto chaos::operator=(chaos&& other) noexcept -> chaos& {
  chaos ended(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

chaos::~chaos() {
  if (!state_) return;
  state_->stop.store(true, relaxed);
  state_->sleep.unpark();
  static_cast<void>(state_->worker.join());
}

auto chaos::info() const -> result<thread_info> { return state_->worker.info(); }
auto chaos::steps() const noexcept -> std::size_t { return state_->steps.load(relaxed); }
auto chaos::refusals() const noexcept -> std::size_t { return state_->refusals.load(relaxed); }

}  // namespace braid
