// braid/task/detail/pool_impl.hpp: how the workers of a pool find jobs, sleep, wake each other and stop.
#pragma once

#include <braid/task/pool.hpp>

#include <utility>

namespace braid {

namespace detail {

/// For pools without an error callback: the exception's message on stderr.
BRAID_API void report_job_exception(std::exception_ptr error) noexcept;

inline auto worker_total(unsigned wanted) -> std::size_t {
  return wanted != 0 ? wanted : default_worker_count().workers;
}

}  // namespace detail

template <scheduling_policy Policy>
basic_pool<Policy>::basic_pool(pool_options options)
    : options_(std::move(options)), idle_(detail::worker_total(options_.workers)) {
  const std::size_t total = detail::worker_total(options_.workers);
  workers_.reserve(total);
  for (std::size_t index = 0; index < total; ++index)
    workers_.push_back(std::make_unique<worker>(*this, index));
  start_threads();
}

template <scheduling_policy Policy>
void basic_pool<Policy>::start_threads() {
  threads_.reserve(workers_.size());
  try {
    for (const auto& self : workers_) threads_.emplace_back([this, &self] { work(*self); });
  } catch (...) {
    stop_and_join();
    throw;
  }
}

template <scheduling_policy Policy>
basic_pool<Policy>::~basic_pool() {
  BRAID_EXPECTS(!is_current(), "a pool is not destroyed by one of its own workers");
  static_cast<void>(shutdown(shutdown_mode::drain));
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::try_post(job& work) noexcept -> bool {
  if (!policy_.place(work)) return false;
  if (searching_.load(relaxed) == 0) wake_one();
  return true;
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::is_current() const noexcept -> bool {
  const worker* self = current_worker();
  return self != nullptr && self->pool == this;
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::wait_idle() -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  while (true) {
    const auto key = became_idle_.prepare();
    if (policy_.empty() && idle_.all()) {
      became_idle_.cancel();
      return {};
    }
    became_idle_.wait(key);
  }
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  policy_.close();
  if (mode == shutdown_mode::drop_pending) {
    auto pending = policy_.take_all();
    while (job* item = pending.pop()) item->drop();
  }
  stop_and_join();
  return {};
}

template <scheduling_policy Policy>
void basic_pool<Policy>::stop_and_join() noexcept {
  const std::lock_guard lock(join_mutex_);
  policy_.close();
  phase_.store(phase::stopping, release);  // edge pool.stopping: publish
  for (const auto& self : workers_) self->sleep.unpark();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

template <scheduling_policy Policy>
void basic_pool<Policy>::work(worker& self) noexcept {
  const detail::worker_scope here(self);
  static_cast<void>(this_thread::set_name(indexed_thread_name(options_.name, self.index)));
  for (auto woken = wake_cause::own; woken != wake_cause::stop;) {
    job* item = next_job(self);
    if (woken == wake_cause::picked) end_search(item);
    woken = wake_cause::own;
    if (item != nullptr) run(self, *item);
    else woken = sleep(self);
  }
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::next_job(worker& self) noexcept -> job* {
  constexpr std::uint64_t jobs_between_ticks = 61;
  if (self.jobs_run % jobs_between_ticks == 0)
    if (job* fair = policy_.tick(self)) return fair;
  return policy_.refill(self);
}

template <scheduling_policy Policy>
void basic_pool<Policy>::run(worker& self, job& item) noexcept {
  ++self.jobs_run;
  try {
    item.run();
  } catch (...) {
    if (options_.on_error) options_.on_error(std::current_exception());
    else detail::report_job_exception(std::current_exception());
  }
}

template <scheduling_policy Policy>
void basic_pool<Policy>::wake_one() noexcept {
  const auto index = idle_.pick();
  if (!index) return;
  searching_.fetch_add(1, relaxed);  // for the worker that wakes; it takes this back in search_ended
  workers_[*index]->sleep.unpark();
}

/// A worker that was picked counts as searching until it has looked once; posts wake nobody meanwhile. So if it found a
/// job and more are there, it wakes the next worker before it starts.
template <scheduling_policy Policy>
void basic_pool<Policy>::end_search(const job* found) noexcept {
  searching_.fetch_sub(1, relaxed);
  if (found != nullptr && !policy_.empty()) wake_one();
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::sleep(worker& self) noexcept -> wake_cause {
  if (phase_.load(acquire) == phase::stopping)  // edge pool.stopping: observe
    return policy_.empty() ? wake_cause::stop : wake_cause::own;
  idle_.announce(self.index);
  if (!policy_.may_park(self) && idle_.try_retract(self.index)) return wake_cause::own;
  if (idle_.all()) became_idle_.notify_all();
  self.sleep.park();
  return idle_.try_retract(self.index) ? wake_cause::own : wake_cause::picked;
}

}  // namespace braid
