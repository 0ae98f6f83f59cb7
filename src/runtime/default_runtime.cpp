// src/runtime/default_runtime.cpp: implements the default runtime of the process: its creation, its end, and its state
// after a fork.
#include <braid/runtime/default_runtime.hpp>

#include <braid/base/detail/never_destroyed.hpp>

#include "../platform/system.hpp"
#include "top_socket.hpp"

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace braid {
namespace {

/// The state of the default runtime. It is constant-initialized and never destroyed, so that constructors and
/// destructors of static objects may use it.
struct process_runtime {
  enum class phase : std::uint8_t { none, running, ended, over };

  atomic<runtime*> made{nullptr};    // written under the lock
  atomic<std::uint64_t> workers{0};  // the id of its pool, as a word; written before `made`
  detail::constant_mutex mutex;
  phase at = phase::none;             // under the lock
  bool ends_with_process = false;     // `atexit` was called; under the lock
  unsigned finalizing = 0;            // the number of threads in a shutdown of the runtime; under the lock
  bool has_ended = false;             // it has ended with the process; used by the process's last thread
  atomic<bool> has_finalized{false};  // true if `at` is ended or over; written under the lock

  // A list of the runtimes that the program has created and not destroyed yet.
  detail::constant_mutex list_mutex;
  atomic<runtime*> first{nullptr};            // the oldest; written under the lock of the list
  atomic<unsigned> bounded{0};                // the number with a bounded queue; written under the lock of the list
  atomic<std::uint64_t> workers_of_first{0};  // the id of its pool, as a word; written before `first`, under the lock
};

constinit detail::never_destroyed<process_runtime> default_one;

/// Resets the state in the child of a fork, because all other threads, and the locks that they hold, belong to the
/// parent. Each layer of the library resets its own thread-local state.
void forget_parent() noexcept {
  const bool ends_with_process = default_one.value.ends_with_process;
  process_runtime& state = *::new (static_cast<void*>(&default_one.value)) process_runtime;
  state.ends_with_process = ends_with_process;
}

/// Ends the default runtime when the process exits, before static objects that are older than the runtime are
/// destroyed. If a job of the runtime has called `std::exit`, the runtime cannot wait for that job, and its threads
/// continue to run. If a thread forked during a call of `make`, this function is registered twice in the child, but
/// only its first call has an effect.
void end_with_process() noexcept {
  if (std::exchange(default_one.value.has_ended, true)) return;
  if (!finalize(shutdown_mode::drain)) return;
  {
    const std::lock_guard lock(default_one.value.mutex);
    default_one.value.at = process_runtime::phase::over;
  }
  if (runtime* const ended = default_one.value.made.load(relaxed); ended != nullptr) detail::runtime_end::close(*ended);
}

constinit thread_local bool is_in_start_hook = false;

/// Returns a function that calls the hook and, while the hook runs, marks the calling thread as being in a hook. `make`
/// waits for the hooks of the workers with the lock held, so a hook must not wait for the lock.
auto marked(std::function<void(std::size_t)> hook) -> std::function<void(std::size_t)> {
  if (!hook) return hook;
  return [hook = std::move(hook)](std::size_t worker) {
    struct mark {
      mark() noexcept { is_in_start_hook = true; }
      mark(const mark&) = delete;
      auto operator=(const mark&) -> mark& = delete;
      ~mark() { is_in_start_hook = false; }
    } const here;
    hook(worker);
  };
}

/// Creates the default runtime. The caller holds the lock.
auto make(process_runtime& state, runtime::options options) -> result<runtime*> {
  if (!state.ends_with_process) {
    if (std::atexit(&end_with_process) != 0) return fail(std::make_error_code(std::errc::not_enough_memory));
    state.ends_with_process = true;
  }
  options.on_worker_start = marked(std::move(options.on_worker_start));
  auto created = runtime::create(std::move(options));
  if (!created) return fail(created.error());
  state.at = process_runtime::phase::running;
  state.has_finalized.store(false, relaxed);
  state.workers.store((*created)->workers().id().to_word(), release);  // edge default_runtime.workers: publish the pool
  state.made.store(created->release(), release);                       // edge default_runtime.made: publish the runtime
  return state.made.load(relaxed);
}

/// Returns the default runtime, and creates it if necessary.
/// Errors: closed if the default runtime has ended, or if `finalize` was called before the default runtime existed;
/// would_deadlock in a hook that runs while the runtime is created.
auto find_or_make() -> result<runtime*> {
  process_runtime& state = default_one.value;
  runtime* const known = state.made.load(acquire);  // edge default_runtime.made: observe the runtime
  if (known != nullptr) return known;
  if (is_in_start_hook) return fail(errc::would_deadlock);
  const std::lock_guard lock(state.mutex);
  if (runtime* const found = state.made.load(relaxed); found != nullptr) return found;
  if (state.at != process_runtime::phase::none) return fail(errc::closed);
  return make(state, {});
}

/// Returns the pool of the default runtime. Throws if the runtime has ended: its pool still exists but refuses jobs.
/// Without the exception, a parallel algorithm would run on the calling thread alone, and nobody would notice.
auto workers_of_default() -> pool& {
  runtime* const found = detail::nearest_runtime();
  if (found == nullptr) return default_runtime().workers();  // throws the reason why there is no runtime
  if (default_one.value.has_finalized.load(relaxed) && found == default_one.value.made.load(relaxed))
    throw std::system_error(make_error_code(errc::closed), "the runtime of the process was finalized");
  return found->workers();
}

/// The fork handler is registered when the library is loaded, because a thread may create the runtime while another
/// thread forks.
[[maybe_unused]] const detail::default_pool_source earlier_source = detail::set_default_pool(&workers_of_default);
[[maybe_unused]] const int runtime_fork_handler = detail::call_at_fork(nullptr, nullptr, &forget_parent);

/// Ends the default runtime by calling `shut_down(runtime)`. If that call fails, the runtime has not ended, and
/// `finalize` can be called again.
template <typename Fn>
auto finalize_by(Fn shut_down) -> result<void> {
  using phase = process_runtime::phase;
  if (is_in_start_hook) return fail(errc::would_deadlock);
  process_runtime& state = default_one.value;
  runtime* ending = nullptr;
  {
    const std::lock_guard lock(state.mutex);
    ending = state.made.load(relaxed);
    if (ending == nullptr && state.at == phase::none) state.at = phase::ended;
    if (state.at != phase::running) return {};
    ++state.finalizing;
  }
  auto ended = shut_down(*ending);
  const std::lock_guard lock(state.mutex);
  --state.finalizing;
  if (!ended) return ended;
  state.at = phase::ended;
  state.has_finalized.store(true, relaxed);
  return ended;
}

}  // namespace

/// Creates the default runtime with the given options. An ended runtime is kept until the new runtime has replaced it.
/// The ended runtime is destroyed without the lock, because its destructor waits for threads that are posting to that
/// runtime.
auto initialize(runtime::options options) -> result<void> {
  if (is_in_start_hook) return fail(errc::would_deadlock);
  process_runtime& state = default_one.value;
  std::unique_ptr<runtime> ended;
  std::unique_lock lock(state.mutex);
  for (; state.at == process_runtime::phase::ended && state.finalizing != 0; lock.lock()) {
    lock.unlock();
    detail::let_others_run();
  }
  if (state.at == process_runtime::phase::running) return fail(errc::already_set);
  if (state.at == process_runtime::phase::over) return fail(errc::closed);
  runtime* const last = state.made.load(relaxed);
  const auto made = make(state, std::move(options));
  if (!made) return fail(made.error());
  ended.reset(last);
  return {};
}

auto default_runtime() -> runtime& {
  const auto found = find_or_make();
  if (!found) throw std::system_error(found.error(), "the process has no runtime");
  return **found;
}

auto finalize(shutdown_mode mode) -> result<void> {
  return finalize_by([mode](runtime& ending) { return ending.shutdown(mode); });
}

auto finalize_for(duration limit) -> result<void> {
  return finalize_by([limit](runtime& ending) { return ending.shutdown_for(limit); });
}

namespace detail {

void runtime_list::add(runtime& made) {
  begin_top_socket();
  process_runtime& state = default_one.value;
  const std::lock_guard lock(state.list_mutex);
  if (made.queue() != nullptr) state.bounded.fetch_add(1, relaxed);
  runtime* at = state.first.load(relaxed);
  if (at == nullptr) return set_first(&made);
  while (at->next_ != nullptr) at = at->next_;
  at->next_ = &made;
}

namespace {
/// Updates the number of runtimes with a bounded queue. Called before the runtime `gone` is removed from the list. The
/// caller holds the lock of the list.
void forget_queue(runtime& gone) noexcept {
  if (gone.queue() != nullptr) default_one.value.bounded.fetch_sub(1, relaxed);
}
}  // namespace

/// Removes a runtime from the list. In the child of a fork, the list does not contain the parent's runtimes, so
/// removing such a runtime does nothing.
void runtime_list::remove(runtime& gone) noexcept {
  process_runtime& state = default_one.value;
  const std::lock_guard lock(state.list_mutex);
  runtime* at = state.first.load(relaxed);
  if (at == &gone) {
    forget_queue(gone);
    return set_first(gone.next_);
  }
  while (at != nullptr && at->next_ != &gone) at = at->next_;
  if (at == nullptr) return;
  forget_queue(gone);
  at->next_ = gone.next_;
}

void runtime_list::for_each(const std::function<void(runtime&)>& fn) {
  process_runtime& state = default_one.value;
  const std::lock_guard lock(state.list_mutex);
  for (runtime* at = state.first.load(relaxed); at != nullptr; at = at->next_) fn(*at);
}

/// Records `first` as the first runtime of the list, which free functions use. The caller holds the lock of the list.
void runtime_list::set_first(runtime* first) noexcept {
  process_runtime& state = default_one.value;
  // edge default_runtime.workers_of_first: publish the pool, and the executor slot of its id
  state.workers_of_first.store(first == nullptr ? 0 : first->workers().id().to_word(), release);
  state.first.store(first, release);  // edge default_runtime.first: publish the runtime
}

auto nearest_runtime() -> runtime* {
  process_runtime& state = default_one.value;
  runtime* const made = state.made.load(acquire);  // edge default_runtime.made: observe the runtime
  if (made != nullptr) return made;
  runtime* const own = state.first.load(acquire);  // edge default_runtime.first: observe the runtime
  if (own != nullptr) return own;
  const auto found = find_or_make();
  if (found) return *found;
  if (found.error() == errc::closed) return nullptr;
  throw std::system_error(found.error(), "the process has no runtime");
}

auto nearest_queue() -> executor* {
  if (default_one.value.bounded.load(relaxed) == 0 || current_worker() != nullptr) return nullptr;
  runtime* const nearest = nearest_runtime();
  return nearest == nullptr ? nullptr : nearest->queue();
}

auto nearest_executor() -> executor_id {
  if (const worker* self = current_worker(); self != nullptr) return self->pool->id();
  const atomic<std::uint64_t>& workers = default_one.value.workers;
  // edge default_runtime.workers: observe the pool
  if (const std::uint64_t known = workers.load(acquire); known != 0) return executor_id::from_word(known);
  // edge default_runtime.workers_of_first: observe the pool, and the executor slot of its id
  if (const std::uint64_t own = default_one.value.workers_of_first.load(acquire); own != 0)
    return executor_id::from_word(own);
  const auto found = find_or_make();
  if (found) return executor_id::from_word(workers.load(relaxed));
  if (found.error() == errc::closed) return {};
  throw std::system_error(found.error(), "the process has no runtime");
}

}  // namespace detail
}  // namespace braid
