// braid/task/found_job.hpp: a job that a scheduler has found for a worker, wherever it lay.
#pragma once

#include <braid/sync/detail/inbox.hpp>
#include <braid/task/job.hpp>

#include <utility>

namespace braid {

/// What a scheduler found for a worker: nothing, a job, or a callable in an inbox. The owner of this object runs it, on
/// the worker that it was found for; else the destructor drops it.
class found_job {
 public:
  found_job() = default;
  found_job(job* item) noexcept : item_(item) {}
  found_job(detail::inbox<>::work posted) noexcept : posted_(std::move(posted)) {}
  found_job(found_job&& other) noexcept
      : item_(std::exchange(other.item_, nullptr)), posted_(std::move(other.posted_)) {}
  auto operator=(found_job&&) -> found_job& = delete;
  ~found_job() {
    if (item_ != nullptr) item_->drop();
  }

  explicit operator bool() const noexcept { return item_ != nullptr || static_cast<bool>(posted_); }

  /// Runs it, once. Threads: the worker that it was found for. Errors: what the user's code throws.
  void run() {
    if (item_ != nullptr) return detail::run_job(*std::exchange(item_, nullptr));
    posted_.run();
  }

 private:
  job* item_ = nullptr;
  detail::inbox<>::work posted_;
};

}  // namespace braid
