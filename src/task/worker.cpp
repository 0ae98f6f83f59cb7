// src/task/worker.cpp: which worker the calling thread is.
#include <braid/task/worker.hpp>

#include <braid/base/assert.hpp>

namespace braid {
namespace {

constinit thread_local worker* current __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

[[gnu::noinline]] auto current_worker() noexcept -> worker* { return current; }

namespace detail {

worker_scope::worker_scope(worker& self) noexcept {
  BRAID_EXPECTS(current == nullptr, "a thread is the worker of one pool at a time");
  current = &self;
}

worker_scope::~worker_scope() { current = nullptr; }

}  // namespace detail
}  // namespace braid
