// src/task/pool.cpp: the pools that are compiled once, and the report of exceptions nobody asked for.
#include <braid/task/pool.hpp>

#include <cstdio>
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

}  // namespace

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

}  // namespace braid
