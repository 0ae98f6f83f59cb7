// src/task/observed_executor.cpp: measures and counts the jobs of an executor, and calls hooks before and after each
// job.
#include <braid/task/executors.hpp>

#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/detail/job_outcome.hpp>
#include <braid/base/detail/symbols.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace braid {

namespace detail {
namespace {

constinit thread_local job_outcome* innermost_outcome = nullptr;

}  // namespace

job_outcome::job_outcome(const job& observed) noexcept
    : job_(&observed), outer_(std::exchange(innermost_outcome, this)) {}
job_outcome::~job_outcome() { innermost_outcome = outer_; }

auto job_outcome::find(const job& work) noexcept -> job_outcome* {
  job_outcome* found = innermost_outcome;
  while (found != nullptr && found->job_ != &work) found = found->outer_;
  return found;
}

void job_outcome::note_failure(const job& work, const std::exception_ptr& error) noexcept {
  if (job_outcome* const observer = find(work); observer != nullptr) observer->error = error;
}

void job_outcome::note_stop(const job& work, errc reason) noexcept {
  job_outcome* const observer = find(work);
  if (observer == nullptr) return;
  observer->error = failure_of(reason);
  observer->is_stopped = true;
}

}  // namespace detail

auto observed_executor::job_report::function() const -> std::string {
  static detail::fork_safe_mutex lock;
  static detail::symbol_table names;
  const std::lock_guard guard(lock);
  return code != nullptr ? names.name(reinterpret_cast<std::uintptr_t>(code)) : std::string();
}

/// A proxy that is queued in the executor in place of a job, and that measures this job.
class observed_executor::seen_job final : public job {
 public:
  seen_job(observed_executor& owner, job& work) noexcept
      : job(&act),
        observer_(&owner),
        work_(&work),
        id_(owner.next_id_.fetch_add(1, relaxed)),
        posted_(owner.clock_.now()) {}

 private:
  static void act(job& self, action request) {
    auto& seen = static_cast<seen_job&>(self);
    observed_executor& owner = *seen.observer_;
    job& work = *seen.work_;
    const observed_executor::job_report report{
        .id = {seen.id_}, .code = work.code(), .queued = owner.clock_.now() - seen.posted_};
    detail::free_block<seen_job>(&seen);
    if (request == action::run) return run(owner, work, report);
    work.drop();
    owner.end(report, {}, observed_executor::ending::dropped, detail::failure_of(errc::dropped));
  }

  static void run(observed_executor& owner, job& work, observed_executor::job_report report) {
    owner.begin(report);
    const time_point began = owner.clock_.now();
    std::exception_ptr thrown;
    detail::job_outcome outcome(work);
    try {
      detail::run_job(work);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::exception_ptr& error = thrown != nullptr ? thrown : outcome.error;
    const observed_executor::ending ended_as = outcome.is_stopped ? observed_executor::ending::stopped
                                               : error != nullptr ? observed_executor::ending::failed
                                                                  : observed_executor::ending::finished;
    owner.end(report, owner.clock_.now() - began, ended_as, error);
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

  observed_executor* observer_;
  job* work_;
  std::uint64_t id_;
  time_point posted_;
};

/// A `blocking_wait` that is over when no job of this executor is queued or running.
class observed_executor::wait_for_all final : public detail::blocking_wait {
 public:
  explicit wait_for_all(observed_executor& owner) noexcept : executor_(&owner) {}

  [[nodiscard]] auto is_over() const noexcept -> bool override {
    const std::lock_guard lock(executor_->mutex_);
    return executor_->inside_ == 0;
  }
  void sleep(std::optional<time_point> /*deadline*/) noexcept override {
    std::unique_lock lock(executor_->mutex_);
    executor_->none_.wait(lock, [this] { return executor_->inside_ == 0; });
  }

 private:
  observed_executor* executor_;
};

observed_executor::observed_executor(executor& over, observed_executor::hooks hooks, const clock_source& clock)
    : executor_layer(over), clock_(clock), hooks_(std::make_shared<const observed_executor::hooks>(std::move(hooks))) {}

observed_executor::~observed_executor() {
  wait_for_all ended(*this);
  detail::block(ended, nullptr, std::nullopt, over().id());
}

auto observed_executor::try_post(job& work) noexcept -> bool {
  seen_job* const seen = detail::try_make_proxy<seen_job>(*this, work);
  if (seen == nullptr) return over().try_post(work);  // without memory the job is not observed
  {
    const std::lock_guard lock(mutex_);
    ++counts_.posted;
    ++counts_.pending;
    ++inside_;
  }
  if (over().try_post(*seen)) return true;
  detail::free_block<seen_job>(seen);
  const std::lock_guard lock(mutex_);
  --counts_.posted;
  --counts_.pending;
  ++counts_.refused;
  if (--inside_ == 0) none_.notify_all();
  return false;
}

void observed_executor::set_hooks(observed_executor::hooks hooks) {
  auto wanted = std::make_shared<const observed_executor::hooks>(std::move(hooks));
  const std::lock_guard lock(mutex_);
  hooks_.swap(wanted);
}

auto observed_executor::counts() const -> observed_executor::totals {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void observed_executor::begin(const observed_executor::job_report& report) noexcept {
  shared_hooks hooks;
  {
    const std::lock_guard lock(mutex_);
    --counts_.pending;
    ++counts_.running;
    counts_.queued += report.queued;
    counts_.max_queued = std::max(counts_.max_queued, report.queued);
    hooks = hooks_;
  }
  call(hooks->on_start, report);
}

/// Counts an ended job, and then calls the hook. The executor may be destroyed as soon as this function has released
/// the lock for the second time.
void observed_executor::end(observed_executor::job_report report, duration ran, observed_executor::ending ending,
                            const std::exception_ptr& error) noexcept {
  report.ran = ran;
  report.how = ending;
  report.error = error;
  shared_hooks hooks;
  {
    const std::lock_guard lock(mutex_);
    --(ending == observed_executor::ending::dropped ? counts_.pending : counts_.running);
    ++count_of(ending);
    counts_.ran += ran;
    counts_.max_ran = std::max(counts_.max_ran, ran);
    hooks = hooks_;
  }
  call(hooks->on_end, report);
  const std::lock_guard lock(mutex_);
  if (--inside_ == 0) none_.notify_all();
}

auto observed_executor::count_of(observed_executor::ending ending) noexcept -> std::uint64_t& {
  switch (ending) {
    case observed_executor::ending::failed: return counts_.failed;
    case observed_executor::ending::stopped: return counts_.stopped;
    case observed_executor::ending::dropped: return counts_.dropped;
    case observed_executor::ending::finished: break;
  }
  return counts_.finished;
}

void observed_executor::call(const std::function<void(const observed_executor::job_report&)>& hook,
                             const observed_executor::job_report& report) noexcept {
  if (!hook) return;
  try {
    hook(report);
  } catch (...) {
    this->report(std::current_exception());
  }
}

}  // namespace braid
