// braid/task/pool_options.hpp: what a pool is to be.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/registration.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/task/driver.hpp>
#include <braid/task/error_callback.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace braid {

/// The schedulers that a pool may have: in which queues jobs lie, and which workers take them.
enum class scheduler : std::uint8_t {
  work_stealing,   ///< in a queue per worker; a worker without jobs steals half of another one's
  least_loaded,    ///< in the context of the worker that has least to do; taken from there only behind a long job
  shared_queue,    ///< in one queue, from which all take in order
  current_thread,  ///< in one queue, whose jobs run on the thread that waits for them: there are no threads
  run_inline,      ///< nowhere: `post` runs the job; one that a job posts runs when that job has ended
};

/// Which of their CPUs the workers of a pool use.
enum class worker_placement : std::uint8_t {
  anywhere,  ///< each of them all
  spread,    ///< each of them one, round robin
};

/// The workers of a pool are registered under their names for as long as they run.
struct worker_registration {
  std::string tag;
  thread_registry registry = default_registry();
};

/// The workers of a pool, their scheduler and their settings.
struct pool_options {
  /// 0: default_worker_count(), whose files are read again only where BRAID_WORKERS or the affinity of the process has
  /// changed: quotas of cgroups are those of the first time. There is one where the scheduler needs no threads.
  unsigned workers = 0;
  std::string name = "braid";  ///< threads are called name-0, name-1, …
  braid::scheduler scheduler = braid::scheduler::work_stealing;
  /// Receives what a posted job or a hook throws; without it, and when it throws itself, the message goes to stderr.
  /// Called on the worker.
  error_callback on_error = {};
  /// Called by each worker with its index, after it has its name and settings, before its first job and before the
  /// pool's constructor returns; and as the last thing that it does. Not called where the scheduler needs no threads.
  std::function<void(std::size_t)> on_worker_start = {};
  std::function<void(std::size_t)> on_worker_stop = {};
  std::optional<thread_profile> profile = std::nullopt;        ///< of each worker; its name is not used
  std::optional<braid::scheduling> scheduling = std::nullopt;  ///< instead of that of the profile
  std::optional<cpu_set> affinity = std::nullopt;              ///< instead of that of the profile
  worker_placement placement = worker_placement::anywhere;     ///< among these CPUs, or among all that are allowed
  refusal on_refused = refusal::ignore;                        ///< of a setting
  std::optional<worker_registration> registration = std::nullopt;
  /// Maximum of spare threads, which go on with the other jobs of a worker when one blocks on a future, so that no job
  /// runs on top of the blocked one. As many as there are workers stay when they have nothing to do. They are called
  /// name-N, … after the N workers, and have their settings, hooks and registration. None are made where there is a
  /// `make_driver`, and where the scheduler needs no threads.
  unsigned max_spare_threads = 64;
  /// How long a worker that has nothing to do looks for more before it sleeps: a wake costs it some five microseconds.
  /// None is spent where the process has one CPU only.
  duration stay_awake = 10us;
  /// What each worker sleeps in, by its index; without it, in a `parking_driver`.
  std::function<std::unique_ptr<driver>(std::size_t)> make_driver = {};
};

/// What happens to jobs that were accepted and have not started.
enum class shutdown_mode : std::uint8_t {
  drain,         ///< they run first
  drop_pending,  ///< they are dropped: waiters fail with errc::dropped
  stop_now,      ///< as drop_pending; and jobs that poll the pool's stop token are asked to end
};

}  // namespace braid
