// examples/tutorial/4_tcp_service.cpp: a small store of texts, by TCP: `set KEY
// VALUE` and `get KEY`, a line each.
#include <braid/braid.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using braid::scope, braid::stream_listener, braid::stream_socket, braid::task;

// [store]
// Without a lock: all its users are tasks of one loop.
using store = std::map<std::string, std::string, std::less<>>;

auto answer(store& texts, std::string_view line) -> std::string {
  const auto key_at = line.find(' ');
  if (key_at == line.npos) return "? set KEY VALUE, or get KEY\n";
  const std::string_view verb = line.substr(0, key_at);
  const std::string_view rest = line.substr(key_at + 1);
  if (verb == "get") {
    const auto found = texts.find(rest);
    return found == texts.end() ? "-\n" : "= " + found->second + "\n";
  }
  const auto value_at = rest.find(' ');
  if (verb != "set" || value_at == rest.npos)
    return "? set KEY VALUE, or get KEY\n";
  texts.insert_or_assign(std::string(rest.substr(0, value_at)),
                         std::string(rest.substr(value_at + 1)));
  return "ok\n";
}
// [/store]

// [client]
auto serve_client(store& texts, stream_socket client) -> task<void> {
  braid::buffered_reader lines(client, 1000);  // a longer line is an error
  for (;;) {
    const auto line = co_await braid::with_timeout(30s, lines.read_until("\n"));
    // Silent for too long, an error, or the end.
    if (!line || line->empty()) co_return;
    const std::string reply =
        answer(texts, braid::text_of(line->first(line->size() - 1)));
    if (!co_await client.write_all(reply)) co_return;
  }
}
// [/client]

// [serve]
auto serve(store& texts, stream_listener& listener) -> task<void> {
  auto accept_all = [&](scope& clients) -> task<void> {
    while (auto client = co_await listener.accept())
      clients.spawn(serve_client(texts, std::move(*client)));
  };
  // Ends with a stop, and so do all clients.
  co_await braid::with_scope(accept_all);
}
// [/serve]

// [ask]
auto ask(braid::socket_address where, std::string question) -> task<void> {
  const auto server =
      co_await stream_socket::connect(braid::default_runtime().io(), where);
  if (!server) co_return std::puts(server.error().message().c_str()), void();
  braid::or_throw(co_await server->write_all(question));
  // No more questions.
  braid::or_throw(server->shutdown(braid::stream_socket::side::write));
  braid::buffered_reader lines(*server);
  for (;;) {
    const auto line = co_await lines.read_until("\n");
    if (!line || line->empty()) co_return;
    std::printf("%s", std::string(braid::text_of(*line)).c_str());
  }
}
// [/ask]

// [program]
auto program() -> task<void> {
  store texts;
  using braid::or_throw, braid::socket_address;
  auto listener = or_throw(stream_listener::listen(
      braid::default_runtime().io(), socket_address::loopback(0)));
  const auto where = or_throw(listener.local_address());
  auto all = [&](scope& tasks) -> task<void> {
    tasks.spawn(serve(texts, listener));
    co_await ask(where, "set city Paris\nget city\n");
    co_await ask(where, "get city\nget river\nhello\n");
    tasks.request_stop();
  };
  co_await braid::with_scope(all);
}

int main() { braid::spawn(program()).get(); }
// [/program]
