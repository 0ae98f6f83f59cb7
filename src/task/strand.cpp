// src/task/strand.cpp: a serial executor: its drains, one at a time, on another executor.
#include <braid/task/executors.hpp>

#include <braid/base/config.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/end_signal.hpp>

#include <exception>
#include <utility>

namespace braid {
namespace {

/// What strands this thread runs jobs of, the innermost first.
struct strand_run {
  explicit strand_run(const strand& of) noexcept;
  strand_run(const strand_run&) = delete;
  auto operator=(const strand_run&) -> strand_run& = delete;
  ~strand_run();

  const strand* where;
  strand_run* outer;
};

constinit thread_local strand_run* innermost = nullptr;

strand_run::strand_run(const strand& of) noexcept : where(&of), outer(std::exchange(innermost, this)) {}
strand_run::~strand_run() { innermost = outer; }

/// Reports when all jobs before it have been run or dropped.
struct last_job final : job {
  last_job() noexcept : job([](job& self, action) { static_cast<last_job&>(self).ended.set(); }) {}
  detail::end_signal ended;
};

}  // namespace

void strand::drain_job::act(job& self, action what) {
  strand& owner = static_cast<drain_job&>(self).owner;
  if (what == action::run)
    owner.drain();
  else
    owner.drop_all_jobs();
}

/// The last job of all says that the others have run; then its thread gives the strand up within a few steps.
strand::~strand() {
  BRAID_EXPECTS(!is_current(), "a strand is not destroyed by one of its own jobs");
  if (last_job last; !queue_.is_idle() && try_post(last)) detail::block_until_set(last.ended, where_);
  detail::block_until([this] { return queue_.is_idle(); }, where_);
  retire();
}

auto strand::try_post(job& work) noexcept -> bool {
  detail::trace_post(&work);
  const detail::strand_push became = queue_.try_push(work);
  if (became != detail::strand_push::first) return became == detail::strand_push::queued;
  if (detail::try_post_to(where_, drain_job_)) return true;
  // The caller holds the strand, and its job the oldest. The posters of others know that theirs were accepted.
  job* behind = queue_.close()->next;
  while (behind != nullptr) std::exchange(behind, behind->next)->drop();
  static_cast<void>(queue_.try_release());
  return false;
}

auto strand::is_current() const noexcept -> bool {
  const strand_run* found = innermost;
  while (found != nullptr && found->where != this) found = found->outer;
  return found != nullptr;
}

auto strand::needs_polls() const noexcept -> bool {
  const detail::executor_use use(where_);
  return use && use->needs_polls();
}

auto strand::poll() noexcept -> bool {
  const detail::executor_use use(where_);
  return use && use->poll();
}

auto strand::stop_token() const noexcept -> std::stop_token {
  const detail::executor_use use(where_);
  return use ? use->stop_token() : std::stop_token();
}

/// An executor that is gone cannot be notified.
void strand::report(std::exception_ptr error) noexcept {
  if (const detail::executor_use use(where_); use) return use->report(std::move(error));
  executor::report(std::move(error));
}

/// Once `has_more` is false, or the next drain is posted, the strand may be in other hands, or gone.
void strand::drain() noexcept {
  const strand_run here(*this);
  const auto run_until = [this](auto is_over) {
    for (std::size_t ran = 0; has_more(); ++ran) {
      if (yields_ && is_over(ran)) {
        if (detail::try_post_to(where_, drain_job_)) return;
        yields_ = false;  // what was accepted runs now, and nothing else is accepted, so that it ends
        ready_.push_chain(queue_.close());
      }
      run(*ready_.pop());
    }
  };
  length_.in_drain([this] { return clock_.now(); }, run_until);
}

void strand::drop_all_jobs() noexcept {
  ready_.push_chain(queue_.close());
  while (job* const next = ready_.pop()) next->drop();
  static_cast<void>(queue_.try_release());
}

void strand::run(job& work) noexcept {
  try {
    detail::run_job(work);
  } catch (...) {
    report(std::current_exception());
  }
}

/// False when the drain was handed on.
auto strand::has_more() noexcept -> bool {
  while (ready_.empty()) {
    if (job* const arrived = queue_.take(); arrived != nullptr)
      ready_.push_chain(arrived);
    else if (queue_.try_release())
      return false;
  }
  return true;
}

}  // namespace braid
