// examples/16_downloader.cpp: several downloads at once, piece by piece, each
// with a deadline.
#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <string>

using namespace braid;

auto send_file(http_exchange& x) -> task<void> {
  x.begin(http_status::ok, "application/octet-stream");
  for (int i = 0; i < 30; ++i)
    if (!co_await x.write(std::string(10'000, '#'))) co_return;
}
auto send_for_ever(http_exchange& x) -> task<void> {
  x.begin(http_status::ok, "application/octet-stream");
  for (result<void> sent; sent; sent = co_await x.write("drop"))
    co_await sleep_for(1ms);
}

auto download(http_client& client, std::string url) -> task<std::size_t> {
  auto opening = client.open({.url = std::move(url)});
  auto opened = co_await std::move(opening);
  std::size_t size = 0;
  while (opened) {
    // A view: nothing is copied.
    const auto piece = co_await opened->read_some();
    if (!piece || piece->empty()) break;
    size += piece->size();
  }
  co_return size;
}

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));
}

auto program(loop& io, const http_router& routes) -> task<void> {
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const std::string url =
      "http://" + or_throw(listener.local_address()).to_string();
  http_server server(io, routes);
  http_client client(io);
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    // [deadline]
    auto downloads =
        when_all(with_timeout(5s, download(client, url + "/file")),
                 with_timeout(50ms, download(client, url + "/endless")));
    const auto [file, endless] = co_await std::move(downloads);
    std::printf("%zu bytes, and: %s\n", file.value(),
                endless.error().message().c_str());
    // [/deadline]
    co_await server.stop(1s);
  };
  co_await with_scope(all);
}

int main() {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(
      both->io(),
      http_router().get("/file", &send_file).get("/endless", &send_for_ever)));
}
