// src/task/job_slab.cpp: implements the slots of jobs, the queues of jobs, and the threads that run jobs
// (docs/design/job_slab.md).
#include <braid/task/job_slab.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/this_thread.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

namespace braid {
namespace {

using detail::destroy_callable;
using detail::no_slot;
using detail::slab_access;
using detail::slab_action;
using detail::slab_context;
using detail::slab_phase;
using detail::slab_slot;
using detail::slab_step;

// docs/design/constants.md says what these values rest on.
constexpr unsigned looks_before_search = 64;
constexpr unsigned looks_at_a_time = 16;  // the number of polls between two reads of the clock
constexpr unsigned pauses_beside_others = 64;
constexpr std::uint64_t fair_every = 64;  // a thread takes a shared job after this number of its own jobs

constinit thread_local std::uint64_t own_number __attribute__((tls_model("initial-exec"))) = 0;

constinit atomic<std::uint64_t> slabs{0};
constinit atomic<std::uint64_t> numbered_threads{0};

/// Returns a number that identifies this thread. No other thread of the process has or ever had the same number.
auto number_of_thread() noexcept -> std::uint64_t {
  if (own_number == 0) own_number = numbered_threads.fetch_add(1, relaxed) + 1;
  return own_number;
}

auto threads_wanted(const job_slab::options& options) -> unsigned {
  return options.threads == job_slab::options::all_threads ? default_worker_count().workers - 1 : options.threads;
}

using failure = std::exception_ptr;

auto failure_in(slab_slot& slot) noexcept -> failure& {
  return *std::launder(reinterpret_cast<failure*>(slot.payload.data()));
}

void act_on_failure(slab_slot& slot, slab_action) { std::destroy_at(&failure_in(slot)); }

/// Stores the exception of a job in its slot, in place of the callable.
void keep_failure(slab_slot& slot, failure thrown) noexcept {
  destroy_callable(slot);
  std::construct_at(reinterpret_cast<failure*>(slot.payload.data()), std::move(thrown));
  slot.act = &act_on_failure;
  slot.owns = 1;
}

}  // namespace

constinit thread_local detail::known_slab_context detail::known_context
    __attribute__((tls_model("initial-exec"))){0, nullptr};

job_slab::job_slab(job_slab::options options)
    : threads_(threads_wanted(options)),
      per_thread_(static_cast<std::uint32_t>(options.jobs_per_thread)),
      slot_count_(per_thread_ * (threads_ + 2)),
      idle_sleep_(options.idle_sleep),
      full_(options.full),
      id_(slabs.fetch_add(1, relaxed) + 1),
      own_barrier_(std::make_unique<detail::asymmetric_barrier>()),
      barrier_(*own_barrier_) {
  BRAID_EXPECTS(options.jobs_per_thread != 0, "a job slab must have a slot for each thread");
  BRAID_EXPECTS(full_ != when_full::wait, "`full` of a job slab must be refuse or run_inline");
  BRAID_EXPECTS(options.jobs_per_thread < (std::size_t{1} << 31U) / (std::size_t{threads_} + 2),
                "a job slab must have fewer than 2^31 slots");
  slots_ = std::make_unique<slab_slot[]>(slot_count_);
  shared_next_ = per_thread_ * (threads_ + 1);
  for (std::uint32_t slot = shared_next_; slot < slot_count_; ++slot) slots_[slot].share();
  for (unsigned context = 0; context <= threads_; ++context)
    contexts_.push_back(std::make_unique<slab_context>(context * per_thread_, per_thread_, barrier_));
  contexts_.back()->thread.store(number_of_thread(), relaxed);
  running_.reserve(threads_);
}

job_slab::~job_slab() {
  stop(job_slab::stop_mode::drop);
  BRAID_EXPECTS(join().has_value(), "a job slab must not be destroyed by one of its jobs");
  for (std::uint32_t slot = 0; slot < slot_count_; ++slot) destroy_callable(slots_[slot]);
}

// --- the context of the calling thread ---

auto job_slab::look_up_context() const noexcept -> slab_context* {
  const std::uint64_t number = number_of_thread();
  const auto own = std::ranges::find_if(
      contexts_, [number](const auto& context) { return context->thread.load(relaxed) == number; });
  detail::known_context = {id_, own == contexts_.end() ? nullptr : own->get()};
  return detail::known_context.context;
}

/// Returns whether the calling thread is the slot's bias owner: the thread that has allocated the job and has not
/// released it yet.
auto job_slab::standing(std::uint32_t slot) const noexcept -> slab_access {
  const slab_context* const self = find_context();
  const bool own = self != nullptr && self->owns(slot);
  return own && slab_slot::phase_of(slots_[slot].word()) == slab_phase::allocated ? slab_access::bias_owner
                                                                                  : slab_access::other;
}

auto job_slab::check(job_slab::handle job) const noexcept -> std::error_code {
  if (job.generation_ == 0) return errc::invalid_argument;
  if (job.slot_ >= slot_count_ && !was_inline(job)) return errc::invalid_argument;
  return {};
}

job_slab::looking::looking(job_slab& slab, job_slab::handle job) noexcept
    : slab_(slab),
      own_([&] {
        slab_context* const self = slab.find_context();
        return self != nullptr && self->owns(job.slot_) ? self : nullptr;
      }()),
      frame_{job.slot_, nullptr} {
  if (own_ == nullptr) {
    refused_ = slot().pin(slab_.barrier_, job.generation_, slab_access::other);
    return;
  }
  frame_.outer = std::exchange(own_->frames, &frame_);
  if (slab_slot::generation_of(slot().word()) != job.generation_) refused_ = errc::stale;
}

job_slab::looking::~looking() {
  if (own_ != nullptr)
    own_->frames = frame_.outer;
  else if (refused_ == errc{})
    slot().unpin(slab_.barrier_);
}

// --- the slots of jobs ---

auto job_slab::reserve_shared() noexcept -> reserved {
  std::unique_lock lock(shared_ring_);
  const std::uint32_t number = shared_next_;
  slab_slot& slot = slots_[number];
  const std::uint64_t generation = slot.try_reuse(barrier_, slab_access::other);
  if (generation == 0) return {};
  shared_next_ = number + 1 == slot_count_ ? per_thread_ * (threads_ + 1) : number + 1;
  lock.unlock();
  destroy_callable(slot);
  return {&slot, {number, generation}};
}

// --- dependencies between jobs ---

auto job_slab::schedule_slowly(job_slab::handle job) -> braid::result<void> {
  if (is_closed()) return fail(errc::closed);
  if (const std::error_code wrong = check(job)) return fail(wrong);
  if (was_inline(job)) return {};
  const errc refused = slots_[job.slot_].claim(barrier_, job.generation_, slab_phase::queued, standing(job.slot_));
  if (refused != errc{}) return fail(refused);
  push(find_context(), job.slot_);
  if (is_closed()) finish_late();
  return {};
}

/// Drops a job that was not scheduled. Once this thread has claimed the job, no other thread uses the callable, as if
/// this thread ran the job.
auto job_slab::discard(job_slab::handle job) -> braid::result<void> {
  if (is_closed()) return fail(errc::closed);
  if (const std::error_code wrong = check(job)) return fail(wrong);
  if (was_inline(job)) return fail(errc::finished);
  slab_slot& slot = slots_[job.slot_];
  const errc refused = slot.claim(barrier_, job.generation_, slab_phase::queued, standing(job.slot_));
  if (refused != errc{}) return fail(refused);
  destroy_callable(slot);
  const slab_step step = slot.end_body(barrier_, slab_slot::dropped);
  if (step.finished && step.is_more()) settle(job.slot_, step);
  if (is_closed()) finish_late();
  return {};
}

auto job_slab::continue_with(job_slab::handle first, job_slab::handle next) -> braid::result<void> {
  if (is_closed()) return fail(errc::closed);
  if (const std::error_code wrong = check(first)) return fail(wrong);
  if (const std::error_code wrong = check(next)) return fail(wrong);
  if (was_inline(next)) return fail(errc::finished);
  if (was_inline(first)) return schedule(next);
  if (first == next) return fail(errc::cycle);
  slab_slot& after = slots_[next.slot_];
  const errc refused = after.claim(barrier_, next.generation_, slab_phase::promised, standing(next.slot_));
  if (refused != errc{}) return fail(refused);
  if (leads_to(next.slot_, first.slot_)) {
    after.unclaim(barrier_);
    return fail(errc::cycle);
  }
  const slab_step step =
      slots_[first.slot_].append(barrier_, first.generation_, next.slot_, slots_.get(), standing(first.slot_));
  if (step.refused != errc{}) {
    after.unclaim(barrier_);
    return fail(step.refused);
  }
  if (!step.followed) return {};
  push(find_context(), first.slot_);
  if (is_closed()) finish_late();
  return {};
}

auto job_slab::finish_with(job_slab::handle child, job_slab::handle parent) -> braid::result<void> {
  if (is_closed()) return fail(errc::closed);
  if (const std::error_code wrong = check(child)) return fail(wrong);
  if (const std::error_code wrong = check(parent)) return fail(wrong);
  if (was_inline(parent)) return fail(errc::finished);
  if (was_inline(child)) return {};
  if (child == parent) return fail(errc::cycle);
  errc refused = slots_[parent.slot_].add_child(barrier_, parent.generation_, standing(parent.slot_));
  if (refused != errc{}) return fail(refused);
  // The parent cannot finish before the new child. So, from here on, the set of jobs that depend on the parent does not
  // change.
  refused = leads_to(parent.slot_, child.slot_)
                ? errc::cycle
                : slots_[child.slot_].add_parent(barrier_, child.generation_, parent.slot_, standing(child.slot_));
  if (refused == errc{}) return {};
  count_ended_child(parent.slot_);
  if (refused == errc::finished) return {};
  return fail(refused);
}

/// Returns whether the end of job `to` depends on the end of job `from`, directly or through other unfinished jobs.
auto job_slab::leads_to(std::uint32_t from, std::uint32_t to) const noexcept -> bool {
  constexpr std::size_t max_count = 64;
  std::array<std::uint32_t, max_count> open{from};
  std::size_t count = 1;
  const auto add = [&](std::uint32_t slot) {
    if (slot != no_slot && count < max_count) open[count++] = slot;
  };
  for (std::size_t seen = 0; seen < count; ++seen) {
    if (open[seen] == to) return true;
    const slab_slot& slot = slots_[open[seen]];
    for (std::uint32_t next = slot.first_follower(); next != no_slot && count < max_count; next = slots_[next].link())
      add(next);
    add(slot.parent(0));
    add(slot.parent(1));
  }
  return false;
}

// --- the queues of jobs ---

void job_slab::push_shared(std::uint32_t slot) noexcept {
  const std::lock_guard lock(shared_queue_);
  slots_[slot].set_link(no_slot);
  if (shared_first_ == no_slot)
    shared_first_ = slot;
  else
    slots_[shared_last_].set_link(slot);
  shared_last_ = slot;
  shared_size_.store(shared_size_.load(relaxed) + 1, relaxed);
}

auto job_slab::take_shared(std::uint32_t& slot) noexcept -> bool {
  if (shared_size_.load(relaxed) == 0) return false;
  const std::lock_guard lock(shared_queue_);
  if (shared_first_ == no_slot) return false;
  slot = std::exchange(shared_first_, slots_[shared_first_].link());
  shared_size_.store(shared_size_.load(relaxed) - 1, relaxed);
  return true;
}

/// Takes a job from this thread's queue. Occasionally, takes a shared job first, so that shared jobs are not starved
/// while this thread always has jobs of its own.
auto job_slab::take_own(slab_context& self, std::uint32_t& slot) noexcept -> bool {
  if (self.ran.load(relaxed) % fair_every == 0 && take_shared(slot)) [[unlikely]]
    return true;
  return self.jobs.pop(slot);
}

auto job_slab::find(slab_context& self, std::uint32_t& slot) noexcept -> bool {
  return take_own(self, slot) || take_shared(slot) || steal(self, slot);
}

/// Steals half of another thread's queued jobs. Stores the oldest of these jobs in `slot`, and the other jobs in this
/// thread's queue.
auto job_slab::steal(slab_context& self, std::uint32_t& slot) noexcept -> bool {
  std::array<std::uint32_t, 256> taken;
  const std::size_t first = self.watch.find_first(contexts_.size());
  for (std::size_t step = 0; step < contexts_.size(); ++step) {
    const std::size_t other = (first + step) % contexts_.size();
    slab_context& victim = *contexts_[other];
    if (&victim == &self || victim.jobs.size() == 0) continue;
    if (self.watch.is_quick(other, victim.ran.load(relaxed), victim.jobs.bottom())) {
      self.leaves_alone = true;
      continue;
    }
    const time_point begin = steady_time().now();
    const std::size_t count = victim.jobs.steal_half(taken);
    if (count == 0) continue;
    self.watch.has_stolen(begin);
    for (std::size_t i = 1; i < count; ++i)
      if (!self.jobs.try_push(taken[i])) push_shared(taken[i]);
    slot = taken[0];
    barrier_.light();
    if (count > 1 && sleepers_.wants_wake()) sleepers_.wake_one();
    return true;
  }
  return false;
}

/// Takes a queued job from the queue of any thread. Called by a thread that is about to run or drop all queued jobs.
auto job_slab::take_anything(std::uint32_t& slot) noexcept -> bool {
  if (take_shared(slot)) return true;
  return std::ranges::any_of(contexts_,
                             [&slot](const auto& context) { return context->jobs.steal_half({&slot, 1}) != 0; });
}

/// Returns whether any job is queued. Finds all jobs that were queued before this call and are not taken.
auto job_slab::anything_queued() noexcept -> bool {
  if (shared_size_.load(relaxed) != 0) return true;
  return std::ranges::any_of(contexts_, [](const auto& context) { return !context->jobs.empty(); });
}

/// Returns true if no job is queued or running. In that case, no job can be queued any more, and waiting threads must
/// give up. Requires that the slab is closed.
auto job_slab::nothing_will_come() noexcept -> bool {
  const auto works = [](const auto& context) {
    return context->working.load(acquire) != 0;  // edge slab_context.working: observe what its last job queued
  };
  barrier_.heavy();
  if (anything_queued() || std::ranges::any_of(contexts_, works)) return false;
  // edge job_slab.swept: observe, jobs that sweeping threads have queued are seen below
  if (sweepers_.load(acquire) != 0) return false;
  return !anything_queued();
}

// --- running jobs ---

void job_slab::run(std::uint32_t slot) noexcept {
  if (slab_slot::phase_of(slots_[slot].word()) == slab_phase::followed) [[unlikely]]
    return run_followers(slot);
  run_body(slot);
}

void job_slab::run_followers(std::uint32_t slot) noexcept {
  for (;;) {
    std::uint32_t next = slots_[slot].take_followers(barrier_);
    if (next == no_slot) return;
    while (next != no_slot) {
      const std::uint32_t behind = slots_[next].link();
      run_body(next);
      next = behind;
    }
  }
}

void job_slab::run_body(std::uint32_t slot) noexcept {
  slab_slot& job = slots_[slot];
  std::uint64_t marks = 0;
  if (mode_.load(relaxed) == mode::dropping) [[unlikely]] {
    dropped_.fetch_add(1, relaxed);
    marks = slab_slot::dropped;
  } else {
    if (slab_context* const self = find_context()) self->ran.store(self->ran.load(relaxed) + 1, relaxed);
    try {
      job.act(job, slab_action::run);
    } catch (...) {
      keep_failure(job, std::current_exception());
      marks = slab_slot::failed;
    }
  }
  const slab_step step = job.end_body(barrier_, marks);
  if (step.finished && step.is_more()) [[unlikely]]
    settle(slot, step);
}

void job_slab::settle(std::uint32_t slot, const slab_step& step) noexcept {
  if (step.followed) push(find_context(), slot);
  if (step.waited) sleepers_.wake_all();
  for (const std::uint32_t parent : step.parents)
    if (parent != no_slot) count_ended_child(parent);
}

/// Counts an ended child in its parent. If the parent finishes as a result, continues with the parent's own parents.
/// The function follows the chain of first parents in a loop, because recursion could overflow the stack if the chain
/// is long.
void job_slab::count_ended_child(std::uint32_t parent) noexcept {
  while (parent != no_slot) {
    const slab_step step = slots_[parent].end_child(barrier_);
    if (!step.finished) return;
    if (step.followed) push(find_context(), parent);
    if (step.waited) sleepers_.wake_all();
    if (step.parents[1] != no_slot) count_ended_child(step.parents[1]);
    parent = step.parents[0];
  }
}

// --- the threads of the slab ---

auto job_slab::start() -> braid::result<void> {
  const std::lock_guard lock(join_lock_);
  if (is_closed()) return fail(errc::closed);
  if (std::exchange(started_, true)) return fail(errc::invalid_argument);
  for (unsigned context = 0; context < threads_; ++context) contexts_[context]->working.store(1, relaxed);
  try {
    for (unsigned context = 0; context < threads_; ++context)
      running_.emplace_back([this, context] {
        static_cast<void>(this_thread::set_name("slab-" + std::to_string(context)));
        work(*contexts_[context]);
      });
  } catch (...) {
    for (std::size_t context = running_.size(); context < threads_; ++context)
      contexts_[context]->working.store(0, relaxed);
    stop(job_slab::stop_mode::drop);
    throw;
  }
  return {};
}

void job_slab::work(slab_context& self) noexcept {
  self.thread.store(number_of_thread(), relaxed);
  detail::known_context = {id_, &self};
  self.depth = 1;
  const detail::user_code_section section;
  std::uint32_t slot = 0;
  while (true) {
    section.pass();
    if (!take_own(self, slot)) {
      const detail::user_code_pause idle(section.marker());
      if (!await_work(self, nullptr, slot)) return;
    }
    run(slot);
  }
}

/// Polls for a job up to `looks` times. Returns early if it finds a job or if `until` has finished.
auto job_slab::look_around(slab_context& self, const slab_slot* until, std::uint32_t& slot, unsigned looks) noexcept
    -> poll_result {
  for (unsigned look = 0; look < looks; ++look) {
    if (until != nullptr && slab_slot::is_finished(until->word())) return poll_result::finished;
    if (find(self, slot)) return poll_result::job;
    // If this thread has just left a victim its short jobs, it pauses longer, because each poll takes a cache line away
    // from the victim.
    for (unsigned rest = std::exchange(self.leaves_alone, false) ? pauses_beside_others : 1; rest > 0; --rest)
      detail::cpu_pause();
  }
  return poll_result::nothing;
}

/// Waits for a job, and stores the job in `slot`. Returns false if `until` has finished, or if the slab is closed and
/// no job is left.
auto job_slab::await_work(slab_context& self, slab_slot* until, std::uint32_t& slot) noexcept -> bool {
  poll_result seen = look_around(self, until, slot, looks_before_search);
  if (seen != poll_result::nothing) return seen == poll_result::job;
  sleepers_.begin_search();
  bool announced = until == nullptr;
  while (true) {
    const time_point limit = detail::later(steady_time().now(), idle_sleep_).value_or(time_point::max());
    do seen = look_around(self, until, slot, looks_at_a_time);
    while (seen == poll_result::nothing && !is_closed() && steady_time().now() < limit);
    if (seen != poll_result::nothing) break;
    if (!std::exchange(announced, true)) static_cast<void>(until->announce_waiter(barrier_));
    bool over = false;
    sleepers_.sleep(self, barrier_, [&] {
      if (until != nullptr && slab_slot::is_finished(until->word())) return true;
      if (anything_queued()) return true;
      over = is_closed() && nothing_will_come();
      return over;
    });
    if (over) break;
  }
  end_search();
  if (seen != poll_result::nothing) return seen == poll_result::job;
  self.working.store(0, release);  // edge slab_context.working: publish what the last job queued
  sleepers_.wake_all();
  return false;
}

/// Ends the search of this thread for jobs. Wakes another thread if jobs are queued. The thread that queued these jobs
/// may have woken no thread because it relied on this search, and the search may have found a different job.
void job_slab::end_search() noexcept {
  if (!sleepers_.end_search()) return;
  barrier_.heavy();
  if (anything_queued()) sleepers_.wake_one();
}

auto job_slab::wait_slowly(job_slab::handle job) -> braid::result<void> {
  if (const std::error_code wrong = check(job)) return fail(wrong);
  if (was_inline(job)) return {};
  const looking place(*this, job);
  if (place.refused() != errc{}) return fail(place.refused());
  slab_slot& slot = place.slot();
  if (slab_slot::is_finished(slot.word())) return outcome(slot.word(), slot);
  if (slab_context* const self = find_context())
    help_until(*self, slot);
  else
    block_until(slot);
  return slab_slot::is_finished(slot.word()) ? outcome(slot.word(), slot) : fail(errc::dropped);
}

void job_slab::help_until(slab_context& self, slab_slot& slot) noexcept {
  if (self.depth++ == 0) {
    self.working.store(1, relaxed);
    barrier_.light();
  }
  std::uint32_t found = 0;
  while (!slab_slot::is_finished(slot.word())) {
    if (!take_own(self, found) && !await_work(self, &slot, found)) break;
    run(found);
  }
  if (--self.depth != 0) {
    self.working.store(1, relaxed);  // the waiting job continues
    return;
  }
  self.working.store(0, release);  // edge slab_context.working: publish what the last job queued
  if (is_closed()) [[unlikely]]
    sleepers_.wake_all();
}

void job_slab::block_until(slab_slot& slot) noexcept {
  static_cast<void>(slot.announce_waiter(barrier_));
  while (true) {
    const auto key = sleepers_.outside.prepare();
    if (slab_slot::is_finished(slot.word())) return sleepers_.outside.cancel();
    if (is_closed() && nothing_will_come()) return sleepers_.outside.cancel();
    sleepers_.outside.wait(key);
  }
}

auto job_slab::outcome(std::uint64_t word, const slab_slot& slot) -> braid::result<void> {
  if ((word & slab_slot::dropped) != 0) return fail(errc::dropped);
  if ((word & slab_slot::failed) != 0) std::rethrow_exception(failure_in(const_cast<slab_slot&>(slot)));
  return {};
}

// --- the end of the slab ---

auto job_slab::stop(job_slab::stop_mode requested) -> std::size_t {
  const mode wanted = requested == job_slab::stop_mode::drop ? mode::dropping : mode::draining;
  mode seen = mode_.load(relaxed);
  while (seen < wanted && !mode_.compare_exchange_weak(seen, wanted, relaxed, relaxed)) {}
  barrier_.heavy();  // a job that is posted by a thread that has not seen the new mode is found by the scans below
  if (wanted == mode::dropping) run_what_is_left();
  sleepers_.wake_all();
  return dropped();
}

/// Runs or drops queued jobs. Called after this thread has queued a job while the slab was being stopped, because
/// perhaps no other thread is left to take that job. Does nothing if this thread is running a job, because it polls the
/// queues after that job.
void job_slab::finish_late() noexcept {
  const slab_context* const self = find_context();
  if (self != nullptr && self->depth != 0) return;
  run_what_is_left();
  sleepers_.wake_all();
}

/// Runs or drops all queued jobs, depending on how the slab was stopped.
void job_slab::run_what_is_left() noexcept {
  sweepers_.fetch_add(1, relaxed);
  barrier_.light();
  for (std::uint32_t slot = 0; take_anything(slot);) run(slot);
  // edge job_slab.swept: publish, jobs that this thread has queued are seen together with the count
  sweepers_.fetch_sub(1, release);
}

auto job_slab::join() -> braid::result<void> {
  const slab_context* const self = find_context();
  if (self != nullptr && self->depth != 0) return fail(errc::would_deadlock);
  const std::lock_guard lock(join_lock_);
  for (std::thread& each : running_) each.join();
  running_.clear();
  while (!is_closed()) {
    const auto key = sleepers_.outside.prepare();
    if (is_closed()) {
      sleepers_.outside.cancel();
      break;
    }
    sleepers_.outside.wait(key);
  }
  run_what_is_left();
  sleepers_.wake_all();
  return {};
}

}  // namespace braid
