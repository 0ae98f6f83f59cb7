// src/runtime/metrics.cpp: reads the counters of a runtime's parts, and returns each counter as a metric with a name,
// labels and a help text.
#include <braid/runtime/default_runtime.hpp>

#include "metrics_reader.hpp"

#include <braid/task/detail/job_memory.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/trace/detail/metric_source.hpp>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>

namespace braid {
namespace detail {

void metrics_reader::add(const worker& worker, metric_list& metrics) {
  const auto now = [](const atomic<std::uint64_t>& count) { return static_cast<double>(count.load(relaxed)); };
  const worker_counters& counts = worker.counters;
  metrics.counter("braid_worker_jobs", "Jobs that a worker began.", now(counts.jobs));
  metrics.counter("braid_worker_steals", "How often a worker stole jobs from another worker.", now(counts.steals));
  metrics.counter("braid_worker_parks", "How often a worker went to sleep.", now(counts.sleeps));
  metrics.counter("braid_worker_wakes", "How often a worker woke another worker.", now(counts.wakes_of_own));
  metrics.counter("braid_worker_stolen_forks", "Forks of other workers that a worker ran.", now(counts.forks_stolen));
  metrics.gauge("braid_worker_local_queue_jobs", "Jobs in the local queue of a worker.",
                static_cast<double>(worker.queue.approximate_size()));
  metrics.gauge("braid_worker_inbox_jobs", "Jobs that other threads posted to a worker and that have not started.",
                static_cast<double>(worker.box.size()));
  metrics.gauge("braid_worker_busy", "1 while a worker has work to run.", worker.pace.is_running() ? 1 : 0);
  metrics.gauge("braid_worker_job_seconds", "Moving average of the time of a worker's jobs.",
                std::chrono::duration<double>(worker.pace.average()).count());
}

void metrics_reader::add(const pool& pool, metric_list& metrics) {
  const std::string& name = pool.options_.name;
  for (const auto& each : pool.workers_) {
    metrics.label({{"pool", name}, {"worker", std::to_string(each->index)}});
    add(*each, metrics);
  }
  for (const priority level : {priority::high, priority::normal, priority::low}) {
    constexpr const char* names[] = {"high", "normal", "low"};
    const std::size_t at = level == priority::high ? 0 : level == priority::normal ? 1 : 2;
    metrics.label({{"pool", name}, {"priority", names[at]}});
    metrics.gauge("braid_pool_queue_jobs", "Jobs in the shared queues of a pool.",
                  static_cast<double>(pool.scheduler_->queued(level)));
  }
  metrics.label({{"pool", name}});
  metrics.gauge("braid_pool_workers", "Workers of a pool.", static_cast<double>(pool.size()));
  metrics.counter("braid_pool_late_jobs", "Functions on workers that ended after their caller had stopped waiting.",
                  static_cast<double>(pool.late_.load(relaxed)));
  metrics.histogram("braid_pool_queue_seconds", "Time from the post of a job to the start of the job.",
                    pool.job_times_.queued());
  metrics.histogram("braid_pool_run_seconds", "Time from the start of a job to the end of the job.",
                    pool.job_times_.ran());
  const std::size_t spares = pool.spare_threads_ != nullptr ? pool.spare_threads_->started() : 0;
  metrics.counter("braid_pool_spare_threads_started", "Threads that were started because a job blocked a worker.",
                  static_cast<double>(spares));
}

void metrics_reader::add(const blocking_pool& pool, metric_list& metrics) {
  std::unique_lock lock(pool.mutex_);
  const std::size_t threads = pool.running_.size();
  const std::size_t idle = pool.idle_;
  const std::size_t queued = pool.queued_;
  const std::size_t started = pool.started_;
  const std::uint64_t begun = pool.begun_;
  lock.unlock();
  metrics.label({{"pool", pool.options_.name}});
  metrics.gauge("braid_blocking_threads", "Threads of a blocking pool.", static_cast<double>(threads));
  metrics.gauge("braid_blocking_threads_max", "The maximum number of threads of a blocking pool.",
                static_cast<double>(pool.options_.max_threads));
  metrics.gauge("braid_blocking_idle_threads", "Threads of a blocking pool that wait for a job.",
                static_cast<double>(idle));
  metrics.gauge("braid_blocking_queue_jobs", "Jobs that wait for a thread of a blocking pool.",
                static_cast<double>(queued));
  metrics.counter("braid_blocking_jobs", "Jobs that a blocking pool began.", static_cast<double>(begun));
  metrics.counter("braid_blocking_threads_started", "Threads that a blocking pool started.",
                  static_cast<double>(started));
  metrics.counter("braid_blocking_late_jobs",
                  "Functions on a blocking pool that ended after their caller had stopped waiting.",
                  static_cast<double>(pool.late()));
  metrics.histogram("braid_blocking_queue_seconds", "Time from the post of a blocking job to the start of the job.",
                    pool.job_times_.queued());
  metrics.histogram("braid_blocking_run_seconds", "Time from the start of a blocking job to the end of the job.",
                    pool.job_times_.ran());
}

void metrics_reader::add(loop& loop, const std::string& name, metric_list& metrics) {
  const auto now = [](const std::uint64_t& count) { return static_cast<double>(read_count(count)); };
  metrics.label({{"loop", name}});
  metrics.gauge("braid_loop_running", "1 while a loop accepts posts.", loop.status() == loop::state::running ? 1 : 0);
  metrics.counter("braid_loop_iterations", "Iterations of a loop.", now(loop.iterations_));
  metrics.counter("braid_loop_jobs", "Jobs and resumptions that a loop ran.", now(loop.jobs_));
  metrics.counter("braid_loop_waits", "How often a loop waited for events of the system.", now(loop.waits_));
  metrics.counter("braid_loop_wakes", "How often another thread woke a loop.",
                  static_cast<double>(loop.woken_.load(relaxed)));
  metrics.counter("braid_loop_io_events",
                  "I/O operations that a loop completed: waits for descriptors, and transfers on them.",
                  now(loop.backend_->answers_));
  metrics.counter("braid_loop_timers_fired", "Timers that fired on a loop.", now(loop.fired_));
  metrics.gauge("braid_loop_timers", "Timers that are armed on a loop.", now(loop.armed_));
  metrics.gauge("braid_loop_spawned_tasks", "Tasks that were started on a loop and have not ended.",
                static_cast<double>(loop.spawned()));
  metrics.gauge("braid_loop_descriptors", "Streams, listeners and other descriptors that are open on a loop.",
                static_cast<double>(loop.open_descriptors_.load(relaxed)));
  metrics.histogram("braid_loop_queue_seconds", "Time from the post of a job or resumption to its start on a loop.",
                    loop.job_times_.queued());
  metrics.histogram("braid_loop_run_seconds", "Time that a posted job or resumption ran on a loop.",
                    loop.job_times_.ran());
  metrics.histogram("braid_loop_iteration_seconds", "Time of an iteration of a loop, without its wait for events.",
                    loop.iteration_times_);
  metric_source::add_those_on(&loop, metrics);
}

void metrics_reader::add(runtime& runtime, metric_list& metrics) {
  add(*runtime.pool_, metrics);
  add(*runtime.blocking_, metrics);
  for (std::size_t index = 0; index < runtime.loops_.size(); ++index)
    add(*runtime.loops_[index], loop_name(runtime, index), metrics);
  add_stalls(*runtime.pool_, runtime.stalls_.get(), metrics);
  metrics.label({});
  metrics.gauge("braid_job_memory_idle_bytes", "Memory for jobs and coroutine frames in the central free lists.",
                static_cast<double>(idle_job_memory()));
}

void metrics_reader::add_pool(const pool& pool, const stall_watch* stalls, metric_list& metrics) {
  add(pool, metrics);
  add_stalls(pool, stalls, metrics);
}

void metrics_reader::add_stalls(const pool& pool, const stall_watch* stalls, metric_list& metrics) {
  metrics.label({{"pool", pool.options_.name}});
  metrics.counter("braid_stalls", "How often a job held up a loop or worker for longer than the limit of the watchdog.",
                  stalls != nullptr ? static_cast<double>(stalls->count()) : 0);
}

auto metrics_reader::loop_name(const runtime& runtime, std::size_t index) -> std::string {
  const std::string& name = runtime.pool_->options_.name;
  return runtime.shape() == runtime_shape::separate ? name + "-loop" : indexed_thread_name(name, index);
}

auto metrics_reader::targets(const runtime& runtime) -> std::vector<stall_target> {
  std::vector<stall_target> all;
  for (std::size_t index = 0; index < runtime.loops_.size(); ++index)
    all.push_back({.of_loop = runtime.loops_[index], .thread = loop_name(runtime, index)});
  for (const auto& each : runtime.pool_->workers_) {
    const loop* const own = runtime.shape() == runtime_shape::merged ? runtime.loops_[each->index] : nullptr;
    all.push_back({.of_loop = own,
                   .of_worker = each.get(),
                   .thread = indexed_thread_name(runtime.pool_->options_.name, each->index)});
  }
  return all;
}

auto metrics_reader::targets(const pool& pool) -> std::vector<stall_target> {
  std::vector<stall_target> all;
  for (const auto& each : pool.workers_)
    all.push_back({.of_worker = each.get(), .thread = indexed_thread_name(pool.options_.name, each->index)});
  return all;
}

/// Reads the counters that show whether workers and loops make progress. A worker that is running its event loop does
/// not count as busy, because the watchdog checks the loop separately.
auto metrics_reader::progress(const stall_target& target) noexcept -> stall_progress {
  const bool in_loop = target.of_loop != nullptr && target.of_loop->is_in_iteration_.load(relaxed);
  if (target.of_worker == nullptr)
    return {.jobs = read_count(target.of_loop->jobs_),
            .others = read_count(target.of_loop->iterations_),
            .batch = read_count(target.of_loop->fired_) + read_count(target.of_loop->backend_->answers_),
            .is_busy = in_loop || target.of_loop->backend_->is_answering_.load(relaxed)};
  const worker& self = *target.of_worker;
  return {.jobs = self.counters.jobs.load(relaxed),
          .others = self.counters.forks_stolen.load(relaxed),
          .batch = static_cast<std::uint64_t>(self.pace.batch_began().time_since_epoch().count()),
          .is_busy = self.pace.is_running() && !in_loop};
}

auto metrics_reader::thread(const stall_target& target) noexcept -> ::pid_t {
  return target.of_worker != nullptr ? target.of_worker->thread.load(relaxed) : target.of_loop->own_thread();
}

}  // namespace detail

auto metrics(runtime& runtime) -> std::vector<metric> {
  detail::metric_list all;
  detail::metrics_reader::add(runtime, all);
  return all.take();
}

}  // namespace braid
