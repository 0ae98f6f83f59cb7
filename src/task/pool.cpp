// src/task/pool.cpp: the pools that are compiled once, and the report of exceptions nobody asked for.
#include <braid/task/pool.hpp>
#include <braid/task/work_stealing.hpp>

#include <braid/thread/this_thread.hpp>

#include <cstdio>
#include <iterator>
#include <utility>

namespace braid {

namespace detail {

namespace {

void print(std::exception_ptr error, const char* who) noexcept {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& known) {
    std::fprintf(stderr, "braid: %s threw: %s\n", who, known.what());
  } catch (...) {
    std::fprintf(stderr, "braid: %s threw something that is no std::exception\n", who);
  }
}

/// The only CPU of a worker where workers are spread over these.
auto one_of_these(const cpu_set& cpus, std::size_t index) -> cpu_set {
  if (cpus.empty()) return cpus;
  return {*std::next(cpus.begin(), static_cast<std::ptrdiff_t>(index % cpus.size()))};
}

}  // namespace

auto worker_profile(const pool_options& options, std::size_t index) -> thread_profile {
  thread_profile wanted = options.profile.value_or(thread_profile());
  wanted.name = indexed_thread_name(options.name, index);
  if (options.scheduling) wanted.scheduling = options.scheduling;
  if (options.affinity) wanted.affinity = options.affinity;
  if (options.placement == worker_placement::anywhere) return wanted;
  if (!wanted.affinity) wanted.affinity = this_thread::affinity().value_or(cpu_set());
  wanted.affinity = one_of_these(*wanted.affinity, index);
  return wanted;
}

auto register_worker(const pool_options& options, std::size_t index) -> std::unique_ptr<registration> {
  if (!options.registration) return nullptr;
  thread_label label{.tag = options.registration->tag, .name = indexed_thread_name(options.name, index)};
  return std::make_unique<registration>(options.registration->registry, std::move(label));
}

void report_job_exception(const std::function<void(std::exception_ptr)>& on_error, std::exception_ptr error) noexcept {
  if (!on_error) return print(std::move(error), "a posted job");
  try {
    on_error(error);
  } catch (...) {
    print(std::move(error), "a posted job");
    print(std::current_exception(), "the error callback of a pool");
  }
}

}  // namespace detail

template class basic_pool<shared_queue>;
template class basic_pool<work_stealing>;

}  // namespace braid
