// examples/20_merged_server.cpp: one thread a CPU that waits and computes: a
// connection is accepted at one worker, and served at the one that has time.
#include <braid/braid.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>

using namespace braid;

// [server]
auto serve(runtime& all, stream_socket client) -> task<void> {
  client.move_to(all.io());  // the loop of the worker that has begun this task
  std::array<std::byte, 5> line;
  while (co_await client.read_exactly(line))
    if (!co_await client.write_all(line)) co_return;
}

auto accept_all(runtime& all, stream_listener listener) -> task<void> {
  listener.move_to(all.io());
  while (auto client = co_await listener.accept()) {
    auto served = post(all, [&all, client = std::move(*client)]() mutable {
      return serve(all, std::move(client));
    });
    if (!served) co_return;  // the runtime ends
  }
}
// [/server]

auto ask(loop& io, socket_address where, std::string_view line) -> task<bool> {
  const stream_socket server =
      or_throw(co_await stream_socket::connect(io, where));
  or_throw(co_await server.write_all(line));
  std::array<std::byte, 5> answer;
  or_throw(co_await server.read_exactly(answer));
  co_return text_of(answer) == line;
}

auto program(runtime& all) -> task<void> {
  stream_listener listener =
      or_throw(stream_listener::listen(all.io(), socket_address::loopback(0)));
  const socket_address where = or_throw(listener.local_address());
  or_throw(post(all, accept_all(all, std::move(listener))));
  int right = 0;
  for (int i = 0; i < 100; ++i)
    right +=
        co_await ask(all.io(), where, i % 2 == 0 ? "hello" : "world") ? 1 : 0;
  std::printf("%d right answers\n", right);
}

int main() {
  const auto all =
      or_throw(runtime::create({.workers = 2, .shape = runtime_shape::merged}));
  all->run(program(*all));
}
