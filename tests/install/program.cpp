// tests/install/program.cpp: a program of somebody else: computes on a pool, waits on a loop, makes a TLS context.
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/tls.hpp>
#include <braid/runtime/runtime.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>

using namespace std::chrono_literals;

static auto answer(braid::pool& workers) -> braid::task<int> {
  co_await braid::sleep_for(1ms);
  auto compute = [] { return 6 * 7; };
  auto computing = braid::offload(workers, compute);
  co_return co_await computing;
}

auto main() -> int {
  auto runtime = braid::runtime::create();
  if (!runtime) return 1;
  std::printf("%d\n", (*runtime)->run(answer((*runtime)->workers())));
  std::filesystem::current_path("/");  // as daemons do
  const auto tls = braid::tls_context::client();
  std::printf("%s\n", tls ? "TLS" : tls.error().message().c_str());
}
