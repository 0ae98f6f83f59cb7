// src/task/outside_region.cpp: decides when a thread that is not a worker shares its loop with workers, and runs its
// part of the loop.
#include <braid/task/detail/outside_region.hpp>

#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/detail/region_offer.hpp>
#include <braid/task/detail/threadless.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

namespace braid::detail {

constinit thread_local std::uint32_t calls_handed_over = 0;

auto begins_here() -> bool {
  if (thread_runs_a_loop || runs_inline()) return false;
  static_cast<void>(default_pool());
  return true;
}

auto is_alone() -> bool {
  if (const worker* const self = worker_of_thread; self != nullptr) return self->victims.empty();
  return begins_here() && default_pool().size() == 1;
}

namespace {

constinit atomic<const pool*> pool_of_offers{nullptr};  // whose offers are counted; usually the only default pool
constinit atomic<std::int32_t> offers_in_queues{0};     // raised by callers, lowered by workers that process an offer

/// Returns whether a worker may be free to help. If as many offers as workers are queued, all workers are busy, and
/// further offers would only delay other jobs.
auto is_worth_an_offer(const pool& pool) noexcept -> bool {
  if (pool_of_offers.load(relaxed) != &pool) {  // another pool, or the pool of a child process
    pool_of_offers.store(&pool, relaxed);
    offers_in_queues.store(0, relaxed);
  }
  return offers_in_queues.load(relaxed) < static_cast<std::int32_t>(pool.size());
}

}  // namespace

/// An offer to the workers to run the rest of a loop. Its destructor waits until no worker uses the loop any more.
class outside_region::offered {
 public:
  explicit offered(outside_region& loop) noexcept : id_(loop.id_) {
    if (!is_worth_an_offer(loop.pool_)) return;
    offer_ = new (std::nothrow) region_offer(&help_with, &loop, offers_in_queues);
    if (offer_ != nullptr && !loop.pool_.try_post(*offer_)) std::exchange(offer_, nullptr)->refused();
  }
  offered(const offered&) = delete;
  auto operator=(const offered&) -> offered& = delete;
  ~offered() { static_cast<void>(close()); }

  /// Withdraws the offer. Returns the exception of the worker that accepted it, or null.
  /// Blocks: until that worker has ended.
  [[nodiscard]] auto close() noexcept -> std::exception_ptr {
    region_offer* const mine = std::exchange(offer_, nullptr);
    if (mine == nullptr || mine->try_withdraw()) return nullptr;
    // docs/design/constants.md says what this value rests on.
    constexpr int polls = 512;  // about seven microseconds: the worker usually has one part left
    for (int i = 0; i < polls && !mine->ended().is_set(); ++i) cpu_pause();
    block_until_set(mine->ended(), id_);
    return mine->take_failure();
  }

 private:
  static void help_with(void* loop) { static_cast<outside_region*>(loop)->help(); }

  const executor_id id_;
  region_offer* offer_ = nullptr;  // null if an offer was not worth it, was refused, or got no memory
};

/// Decides how many iterations a single thread runs before it reads the clock. These iterations take long enough to be
/// measured. But they are also few enough that a thread that suddenly becomes slow delays only a small part of the
/// loop.
class outside_region::part_size {
 public:
  part_size(const region_work& work, time_point begin) noexcept : max_(find_max(work)), last_(begin) {}

  [[nodiscard]] static auto find_max(const region_work& work) noexcept -> std::size_t {
    // docs/design/constants.md says what this value rests on.
    constexpr std::size_t parts = 16;
    return std::max({work.grain, work.count / parts, std::size_t{1}});
  }
  [[nodiscard]] auto get() const noexcept -> std::size_t { return count_; }

  void has_run(time_point now) noexcept {
    const duration taken = now - std::exchange(last_, now);
    if (taken < usual_part / 4) count_ = std::min(4 * count_, max_);
    if (taken > usual_part) count_ = std::max(count_ / 2, std::size_t{1});
  }

 private:
  const std::size_t max_;
  std::size_t count_ = 1;
  time_point last_;
};

/// Decides how many iterations each of two threads takes at a time. To take a part, a thread must fetch one cache line
/// from the other thread, and perhaps another line at the border of their parts. So a part is a quarter of the
/// remaining iterations, but at least long enough to hide this cost. A part also has a maximum length, so that the
/// other thread does not wait long at the end.
class outside_region::shared_part_size {
 public:
  explicit shared_part_size(time_point begin) noexcept : last_(begin) {}

  [[nodiscard]] auto of(std::size_t left) const noexcept -> std::size_t {
    if (ns_of_each_ <= 0) return 1;
    return std::clamp(left / 4, numbers_in(min_shared_part), numbers_in(max_shared_part));
  }

  void has_run(std::size_t count, time_point now) noexcept {
    ns_of_each_ = static_cast<double>((now - std::exchange(last_, now)).count()) / static_cast<double>(count);
  }

 private:
  [[nodiscard]] auto numbers_in(duration span) const noexcept -> std::size_t {
    return std::max(static_cast<std::size_t>(static_cast<double>(span.count()) / ns_of_each_), std::size_t{1});
  }

  double ns_of_each_ = 0;  // the time of each number; 0 if it is not known
  time_point last_;
};

void outside_region::run() {
  if (pool_.size() == 1) return run_without_help();
  const time_point begin = clock_.now();
  const bool is_long = pace_.exceeds(worth_help, work_.count * work_.elements_of_each);
  if (is_long || !run_alone(begin)) share();
}

/// Runs the loop on this thread, beginning with a single iteration. If that iteration itself passes work to workers,
/// the workers run the whole rest of the loop.
void outside_region::run_without_help() {
  const std::uint32_t handed_over = calls_handed_over;
  for (std::size_t count = 1; const auto mine = take(count); count = part_size::find_max(work_)) {
    if (!run_part(*mine, region_part::whole)) return;
    if (calls_handed_over != handed_over) return run_on_workers();
  }
}

/// Runs iterations on this thread alone. Returns false if the remaining work is large enough to wake a worker.
auto outside_region::run_alone(time_point begin) -> bool {
  const std::uint32_t handed_over = calls_handed_over;
  part_size size(work_, begin);
  while (const auto mine = take(size.get())) {
    if (!run_part(*mine, region_part::whole)) return true;
    if (calls_handed_over != handed_over) return run_on_workers(), true;
    const time_point now = clock_.now();
    size.has_run(now);
    const auto elapsed = static_cast<double>((now - begin).count());
    const auto left = static_cast<double>(work_.count - mine->last);
    const auto done = static_cast<double>(mine->last);
    const bool is_worth_help =
        now - begin >= first_look && elapsed * left >= done * static_cast<double>(duration(worth_help).count());
    if (is_worth_help || mine->last == work_.count) pace_.note(now - begin, mine->last * work_.elements_of_each);
    if (is_worth_help) return false;
  }
  return true;
}

/// Shares the rest of the loop with a worker. If this thread ran only few of the iterations, their time does not show
/// how long the whole loop takes. The loop is then recorded as short, so that the next call of the loop begins on one
/// thread.
void outside_region::share() {
  const executor_use pool_stays(id_);
  if (!pool_stays) return run_rest();
  const std::uint32_t handed_over = calls_handed_over;
  offered rest(*this);
  const time_point begin = clock_.now();
  time_point now = begin;
  std::size_t done = 0;
  shared_part_size size(begin);
  while (const auto mine = take(size.of(left()))) {
    if (!run_part(*mine, region_part::whole)) break;
    done += mine->last - mine->first;
    if (calls_handed_over != handed_over) {
      run_on_workers();
      break;
    }
    now = clock_.now();
    size.has_run(mine->last - mine->first, now);
  }
  pace_.note(now - begin >= first_look ? now - begin : duration(),
             std::max(done, std::size_t{1}) * work_.elements_of_each);
  if (const std::exception_ptr thrown = rest.close()) std::rethrow_exception(thrown);
}

/// Runs the rest of the loop on this thread, because the pool no longer exists.
void outside_region::run_rest() {
  while (const auto mine = take(part_size::find_max(work_)))
    if (!run_part(*mine, region_part::whole)) return;
}

/// Runs the rest of the loop on workers, while this thread waits.
void outside_region::run_on_workers() {
  const executor_use pool_stays(id_);
  if (!pool_stays) return run_rest();
  run_in(pool_, [this] {
    if (const auto rest = take(work_.count)) static_cast<void>(run_part(*rest, region_part::divisible));
  });
}

/// Called by the worker that accepts the offer. The worker takes the whole rest of the loop, and other workers steal
/// from it, so the caller takes no more iterations. In a pool of two workers, the worker and the caller take small
/// parts alternately instead.
void outside_region::help() {
  if (pool_.size() > 2) {
    if (const auto rest = take(work_.count)) static_cast<void>(run_part(*rest, region_part::divisible));
    return;
  }
  shared_part_size size(clock_.now());
  while (const auto mine = take(size.of(left()))) {
    if (!run_part(*mine, region_part::whole)) return;
    size.has_run(mine->last - mine->first, clock_.now());
  }
}

auto outside_region::take(std::size_t max_count) noexcept -> std::optional<part> {
  std::size_t first = next_.load(relaxed);
  while (first < work_.count) {
    const std::size_t count = std::min(max_count, work_.count - first);
    if (next_.compare_exchange_weak(first, first + count, relaxed, relaxed)) return part{first, first + count};
  }
  return std::nullopt;
}

}  // namespace braid::detail
