// src/task/pool.cpp: the pools that are compiled once, and the report of exceptions nobody asked for.
#include <braid/task/pool.hpp>

#include <cstdio>

namespace braid {

namespace detail {

void report_job_exception(std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    std::fprintf(stderr, "braid: a posted job threw: %s\n", known.what());
  } catch (...) {
    std::fputs("braid: a posted job threw something that is no std::exception\n", stderr);
  }
}

}  // namespace detail

template class BRAID_API basic_pool<shared_queue>;

}  // namespace braid
