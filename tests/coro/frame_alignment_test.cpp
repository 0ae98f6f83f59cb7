// tests/coro/frame_alignment_test.cpp: what programs put into the frame of a coroutine needs no more alignment than a
// frame has: clang aligns none of its locals beyond that, and takes it for granted that they are.
#include <braid/coro/task.hpp>

#include <braid/braid.hpp>
#include <braid/task/basic_pool.hpp>
#include <braid/task/job_slab.hpp>
#include <braid/thread/registry.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <new>

using namespace braid;

namespace {

template <typename... Types>
constexpr bool fit = ((alignof(Types) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) && ...);

static_assert(fit<pool, basic_pool<least_loaded>, blocking_pool, job_slab, task_group, timer_thread>);
static_assert(fit<future<int>, shared_future<int>, promise<int>, scheduled_task, stop_flag>);
static_assert(fit<task<int>, scope, channel<int>, broadcast<int>, watch<int>, async_mutex, async_semaphore, async_event,
                  async_latch, async_barrier, serial_executor>);
static_assert(fit<loop, braid::detail::loop_timers, stream_socket, stream_listener, tls_stream, udp_socket,
                  buffered_reader, child_process, signal_set, resolver>);
static_assert(fit<http_server, http_client, http_router, redis_connection, redis_pool, redis_cluster>);
static_assert(fit<static_graph, graph_builder, runtime::options, thread, thread_registry, registered_thread>);

auto compute_in_frame(unsigned workers) -> task<int> {
  pool mine({.workers = workers});
  int sum = 0;
  for (int i = 1; i <= 10; ++i) sum += co_await spawn(mine, [i] { return i; });
  co_return sum;
}

}  // namespace

TEST_CASE("a pool may be a local of a task") {
  const auto all = or_throw(runtime::create({.workers = 1}));
  for (unsigned workers = 1; workers <= 3; ++workers) CHECK(all->run(compute_in_frame(workers)) == 55);
}
