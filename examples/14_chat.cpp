// examples/14_chat.cpp: a room that sends each line of a guest to all guests,
// and two guests who talk in it.
#include <braid/coro/broadcast.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/sockets.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <string>

using namespace braid;
using room = broadcast<std::string>;

auto pass_on(room::receiver said, stream_socket& guest) -> task<void> {
  if (!co_await guest.write_all("welcome\n")) co_return;
  while (const auto line = co_await said.receive())
    if (!co_await guest.write_all(line->value)) co_return;
}

auto receive_guest(room& all, stream_socket guest) -> task<void> {
  auto both_ways = [&](scope& children) -> task<void> {
    children.spawn(pass_on(all.subscribe(), guest));
    buffered_reader reader(guest);
    for (auto line = co_await reader.read_until("\n"); line && !line->empty();
         line = co_await reader.read_until("\n"))
      if (!all.send(std::string(text_of(*line)))) co_return;
    children.request_stop();  // a guest that has left receives nothing more
  };
  co_await with_scope(both_ways);
}

auto hear(const stream_socket& guest, int lines, const char* who)
    -> task<void> {
  buffered_reader from(guest);
  for (; lines > 0; --lines) {
    const auto line = co_await from.read_until("\n");
    if (line)
      std::printf("%s hears %s", who, std::string(text_of(*line)).c_str());
  }
}

auto program(loop& io) -> task<void> {
  room all(16);
  stream_listener door =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  auto evening = [&](scope& guests) -> task<void> {
    const auto where = or_throw(door.local_address());
    const auto ann = or_throw(co_await stream_socket::connect(io, where));
    guests.spawn(receive_guest(all, or_throw(co_await door.accept())));
    const auto bob = or_throw(co_await stream_socket::connect(io, where));
    guests.spawn(receive_guest(all, or_throw(co_await door.accept())));
    or_throw(co_await ann.write_all("who is there?\n"));
    co_await hear(bob, 2, "bob");
    or_throw(co_await bob.write_all("it is me\n"));
    co_await hear(ann, 3, "ann");
  };
  co_await with_scope(evening);
}

int main() {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(both->io()));
}
