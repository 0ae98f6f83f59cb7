// examples/tutorial/5_http_service.cpp: HTTP, a background job, metrics, and a
// stop at SIGTERM that loses nothing.
#include <braid/braid.hpp>

#include <csignal>
#include <cstdio>
#include <map>
#include <string>

using namespace std::chrono_literals;
using braid::http_exchange, braid::http_status, braid::scope, braid::task;

// [state]
struct service {
  std::map<std::string, int, std::less<>> prices{{"apple", 30}, {"pear", 45}};
  int refreshed = 0;
  int answered = 0;
  int unknown = 0;
  braid::async_latch first_refresh{1};
};
// [/state]

// [job]
auto refresh_prices(service& all) -> task<void> {
  for (auto next = std::chrono::steady_clock::now();; next += 20ms) {
    co_await braid::sleep_until(next);  // a stop ends it here
    all.prices["apple"] = 31;           // asked of another service, say
    if (++all.refreshed == 1) all.first_refresh.count_down();
  }
}
// [/job]

// [routes]
auto routes_of(service& all) -> braid::http_router {
  braid::http_router routes;
  routes.get("/prices/{fruit}", [&all](http_exchange& x) {
    ++all.answered;
    const auto found = all.prices.find(x.value("fruit"));
    if (found != all.prices.end())
      return x.reply(http_status::ok, std::to_string(found->second));
    ++all.unknown;
    x.reply(http_status::not_found, "no such fruit");
  });
  routes.get("/metrics", [&all](http_exchange& x) {
    x.reply(http_status::ok, "prices_answered " + std::to_string(all.answered) +
                                 "\nprices_unknown " +
                                 std::to_string(all.unknown) + "\n");
  });
  return routes;
}
// [/routes]

auto ask(braid::http_client& client, std::string url) -> task<void> {
  const auto answer = co_await client.get(std::move(url));
  if (answer)
    std::printf("%d %s\n", static_cast<int>(answer->status),
                answer->body.c_str());
}

auto ask_some(service& all, std::string url) -> task<void> {
  braid::http_client client(braid::default_runtime().io());
  co_await all.first_refresh.wait();
  co_await ask(client, url + "/prices/apple");
  co_await ask(client, url + "/prices/stone");
  co_await ask(client, url + "/metrics");
  std::raise(SIGTERM);  // as `kill` or a service manager sends it
}

// [serve]
auto run_service() -> task<void> {
  braid::loop& io = braid::default_runtime().io();
  service all;
  const braid::http_router routes = routes_of(all);
  braid::http_server server(io, routes);
  // A port that is free.
  auto listener =
      braid::stream_listener::listen(io, braid::socket_address::loopback(0));
  auto ends = braid::signal_set::create(io, {SIGTERM, SIGINT});
  if (!listener || !ends)
    throw std::system_error(listener ? ends.error() : listener.error());
  const std::string url = "http://" + listener->local_address()->to_string();

  auto everything = [&](scope& tasks) -> task<void> {
    auto serving = braid::spawn(tasks, server.serve(std::move(*listener)));
    tasks.spawn(refresh_prices(all));
    tasks.spawn(ask_some(all, url));  // the users
    braid::or_throw(co_await ends->next());
    co_await server.stop(10s);  // answers what has begun
    braid::or_throw(co_await std::move(serving));
    // The background job; last, because it stops this task at its next co_await
    // as well.
    tasks.request_stop();
  };
  co_await braid::with_scope(everything);
  std::printf("stopped after %d answers\n", all.answered);
}

int main() { braid::spawn(run_service()).get(); }
// [/serve]
