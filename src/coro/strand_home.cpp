// src/coro/strand_home.cpp: a home as a serial executor on another executor: its drains, its timer and its end.
#include <braid/coro/strand_home.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/scheduled.hpp>

#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace braid {
namespace {

/// The homes whose steps this thread runs, the innermost first: steps nest where a worker helps while it waits, or
/// where an executor has refused a job.
struct home_run {
  explicit home_run(const strand_home& of) noexcept;
  home_run(const home_run&) = delete;
  auto operator=(const home_run&) -> home_run& = delete;
  ~home_run();

  const strand_home* where;
  home_run* outer;
};

constinit thread_local home_run* innermost __attribute__((tls_model("initial-exec"))) = nullptr;

home_run::home_run(const strand_home& of) noexcept : where(&of), outer(std::exchange(innermost, this)) {}
home_run::~home_run() { innermost = outer; }

constexpr std::size_t steps_between_looks = 16;  // into the queue, while there are steps of the home's own

}  // namespace

strand_home::strand_home(executor& where, detail::shared_timers* timers)
    : where_(where.id()), timers_(timers), end_(*this, &stop_all), root_(*this) {}

/// A home that runs alone; the caller holds it until it has run its first drain.
strand_home::strand_home(executor& where, begin_fn begin, void* context)
    : where_(where.id()),
      timers_(nullptr),
      queue_(detail::strand_queue<job>::held()),
      end_(*this, &begin_alone),
      is_alone_(true),
      begin_(begin),
      begin_context_(context),
      root_(*this) {
  ready_.push(end_);
}

strand_home::~strand_home() {
  BRAID_EXPECTS(!is_current(), "a home is not destroyed by a task that lives there");
  if (is_alone_) return;
  post_resumption(end_);
  await_idle();
  disarm_wake_timer();
  detail::home_list::remove(*this);
  retire();
  await_idle();
}

/// Waits for the last drain: afterwards no other thread touches the home.
void strand_home::await_idle() noexcept {
  // edge strand_home.ended: observe, all that the tasks did is seen
  detail::block_until([this] { return ended_.load(acquire) && queue_.is_idle(); }, where_);
}

auto strand_home::run_alone(executor& where, task<void> first) -> bool {
  auto begin = [&where, first = std::move(first)]() mutable {
    run_here(
        where, [](scope& root, void* task) noexcept { root.spawn(std::move(*static_cast<braid::task<>*>(task))); },
        &first);
  };
  return post(where, std::move(begin)).has_value();
}

/// On the thread that is to run the task: its memory is near there, and no other task knows of the home before it
/// waits.
void strand_home::run_here(executor& where, begin_fn begin, void* context) {
  (new strand_home(where, begin, context))->drain();
}

auto strand_home::is_current() const noexcept -> bool {
  const home_run* found = innermost;
  while (found != nullptr && found->where != this) found = found->outer;
  return found != nullptr;
}

auto strand_home::try_post(job& work) noexcept -> bool {
  if (refused_.load(relaxed)) return false;
  post_resumption(work);
  return true;
}

void strand_home::post_resumption(job& step) noexcept {
  detail::trace_post(&step);
  if (is_current()) return ready_.push(step);
  if (queue_.try_push(step) != detail::strand_push::first) return;
  if (!repost_drain()) drain();
}

/// False where the executor refuses: then the caller has to run the drain itself.
auto strand_home::repost_drain() noexcept -> bool {
  if (!refused_.load(relaxed) && detail::try_post_to(where_, drain_step_)) return true;
  refused_.store(true, relaxed);
  return false;
}

void strand_home::drain_due(job& self, job::action what) {
  strand_home& home = *static_cast<step&>(self).owner;
  if (what == job::action::drop) home.refused_.store(true, relaxed);
  home.drain();
}

void strand_home::drain() noexcept {
  if (run_drain() == after_drain::end) delete this;
}

/// Once `try_release` has succeeded, or the next drain is posted, the home may be in other hands, or gone.
auto strand_home::run_drain() noexcept -> after_drain {
  return length_.in_drain([this] { return now(); }, [this](auto is_over) { return run_steps(is_over); });
}

template <typename Fn>
auto strand_home::run_steps(Fn& is_over) noexcept -> after_drain {
  const home_run here(*this);
  for (std::size_t ran = 0;; ++ran) {
    if (refused_.load(relaxed)) root_.request_stop();
    if (ready_.empty() || ran % steps_between_looks == 0) ready_.push_chain(queue_.take());
    if (!ready_.empty()) {
      if (is_over(ran) && repost_drain()) return after_drain::leave;
      run(*ready_.pop());
    } else if (is_alone_ && ended_.load(relaxed) && root_.tasks() == 0) {  // a job may have begun another task here
      if (std::exchange(is_retired_, true)) return after_drain::end;
      disarm_wake_timer();
      detail::home_list::remove(*this);
      retire();  // what the wake timer, and threads with a future of this home, have posted is in the queue by now
    } else {
      if (!is_listed() && !ended_.load(relaxed)) detail::home_list::add(*this);
      if (queue_.try_release()) return after_drain::leave;
    }
  }
}

auto strand_home::ask(job& question) noexcept -> detail::asked {
  if (refused_.load(relaxed)) return detail::asked::refused;
  return queue_.try_push(question) == detail::strand_push::first ? detail::asked::to_be_run : detail::asked::on_its_way;
}

void strand_home::run_asked() noexcept {
  if (!repost_drain()) drain();
}

auto strand_home::needs_polls() const noexcept -> bool {
  const detail::executor_use use(where_);
  return use && use->needs_polls();
}

auto strand_home::poll() noexcept -> bool {
  const detail::executor_use use(where_);
  return use && use->poll();
}

auto strand_home::stop_token() const noexcept -> std::stop_token {
  const detail::executor_use use(where_);
  return use ? use->stop_token() : std::stop_token();
}

void strand_home::report(std::exception_ptr error) noexcept {
  if (const detail::executor_use use(where_); use) return use->report(std::move(error));
  executor::report(std::move(error));
}

void strand_home::run(job& work) noexcept {
  try {
    detail::run_job(work);
  } catch (...) {
    report(std::current_exception());
  }
}

void strand_home::begin_alone(job& self, job::action /*what*/) {
  strand_home& home = *static_cast<step&>(self).owner;
  home.begin_(home.root_, home.begin_context_);
  home.root_.when_idle(&no_task_left, &home);
}

void strand_home::stop_all(job& self, job::action /*what*/) {
  strand_home& home = *static_cast<step&>(self).owner;
  home.root_.request_stop();
  home.root_.when_idle(&no_task_left, &home);
}

auto strand_home::no_task_left(void* self) noexcept -> std::coroutine_handle<> {
  // edge strand_home.ended: publish, the destroying thread sees all that the tasks did
  static_cast<strand_home*>(self)->ended_.store(true, release);
  return {};
}

/// False where there is neither memory nor a thread for those of the process.
auto strand_home::has_timers() noexcept -> bool {
  try {
    if (timers_ == nullptr) timers_ = &detail::timers_of_process();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

auto strand_home::now() const noexcept -> time_point {
  return timers_ != nullptr ? timers_->now() : steady_time().now();
}

void strand_home::arm(timer& item, time_point when) noexcept {
  BRAID_ASSERT(is_current(), "timers are armed by the tasks of their home");
  try {
    if (timer_state_ == nullptr) timer_state_ = std::make_unique<timer_state>(*this);
  } catch (const std::bad_alloc&) {
    return refused_.store(true, relaxed);  // what would never wake is stopped, before the next step
  }
  timer_state_->wheel.arm(item, when);
  arm_wake_timer();
}

void strand_home::disarm(timer& item) noexcept {
  BRAID_ASSERT(is_current(), "timers are disarmed by the tasks of their home");
  if (timer_state_ != nullptr) timer_state_->wheel.disarm(item);
}

/// One timer of the service stands for all of the home.
void strand_home::arm_wake_timer() noexcept {
  const auto next = timer_state_->wheel.next_event();
  if (!next || *next >= timer_state_->armed_until) return;
  if (*next <= now()) return post_tick();
  if (!has_timers()) return refused_.store(true, relaxed);
  timer_state_->armed_until = *next;
  timers_->arm(timer_state_->wake_timer_, *next);
}

void strand_home::disarm_wake_timer() noexcept {
  if (timer_state_ != nullptr && timers_ != nullptr) timers_->disarm(timer_state_->wake_timer_);
}

void strand_home::wake_timer_fired(timer& self) noexcept { static_cast<wake_timer&>(self).owner->post_tick(); }

void strand_home::post_tick() noexcept {
  // edge strand_home.tick: observe, the node is queued again only after its dequeue
  if (!timer_state_->ticking.exchange(true, acquire)) post_resumption(timer_state_->tick);
}

void strand_home::ticked(job& self, job::action /*what*/) {
  strand_home& home = *static_cast<step&>(self).owner;
  timer_state& all = *home.timer_state_;
  // edge strand_home.tick: publish, the node has left the queue before it is queued again
  all.ticking.store(false, release);
  all.armed_until = time_point::max();
  all.wheel.advance(home.now(), all.due);
  while (timer* const item = all.due.pop_front()) item->fire();
  home.arm_wake_timer();
}

}  // namespace braid
