// src/io/loop_timers.cpp: runs timers of other threads on a loop; one timer of the loop represents the earliest of
// them.
#include <braid/io/detail/loop_timers.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/job.hpp>

#include <utility>

namespace braid::detail {

/// An object that runs the shared timers on the loop. The object is both a job and a timer of the loop. If the job is
/// still in the loop's queue when the shared timers are destroyed, this object deletes itself later.
class loop_timers::server final : public clock_source, private job, private timer {
 public:
  explicit server(loop& loop) noexcept : job(&act), timer(&fired), loop_(loop) {}
  ~server() override = default;

  [[nodiscard]] auto now() const noexcept -> time_point override { return loop_.now(); }

  /// Starts to serve the timers. Called on the loop's thread, or when the loop no longer runs.
  void begin(shared_timers& timers) noexcept {
    timers_ = &timers;
    serve();  // from now on it is woken
  }
  void end() noexcept {
    loop_.disarm(*this);
    timers_ = nullptr;
    if (!posted_.load(relaxed)) delete this;  // no thread posts after the timers were closed
  }

  /// Posts the job to the loop. A loop that refuses has stopped or is stopping, so its timers no longer matter.
  static void wake(void* self) noexcept {
    server& mine = *static_cast<server*>(self);
    // edge loop_timers.step: observe, the job has left the queue and may be queued again
    if (mine.posted_.exchange(true, acquire)) return;
    if (!mine.loop_.try_post(mine)) mine.posted_.store(false, relaxed);
  }

 private:
  static void act(job& self, action requested) {
    auto& mine = static_cast<server&>(self);
    if (mine.timers_ == nullptr) {
      delete &mine;
      return;
    }
    // edge loop_timers.step: publish, the job has left the queue before it is queued again
    mine.posted_.store(false, release);
    if (requested == action::run) mine.serve();
  }
  static void fired(timer& self) noexcept { static_cast<server&>(self).serve(); }

  void serve() noexcept {
    if (const auto next = timers_->run_once()) return loop_.arm(*this, *next);
    loop_.disarm(*this);
  }

  loop& loop_;
  shared_timers* timers_ = nullptr;  // null after the timers were destroyed; written on the loop's thread
  atomic<bool> posted_{false};       // the job is queued in the loop; set under the timers' lock, cleared by the job
};

auto loop_timers::serve_on(loop& loop) -> std::unique_ptr<server> {
  BRAID_EXPECTS(loop.is_current(), "the timers of a loop must be created on its thread");
  return std::make_unique<server>(loop);
}

loop_timers::loop_timers(loop& loop) : loop_timers(serve_on(loop)) {}

loop_timers::loop_timers(std::unique_ptr<server> service)
    : shared_timers(*service, &server::wake, service.get()), server_(service.release()) {
  server_->begin(*this);
}

loop_timers::~loop_timers() {
  BRAID_EXPECTS(close(), "a function that a timer calls must not destroy the timers");
  server_->end();
}

}  // namespace braid::detail
