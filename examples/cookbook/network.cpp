// examples/cookbook/network.cpp: HTTP services and clients, a stop by signal,
// and other programs.
#include <braid/coro.hpp>
#include <braid/http.hpp>
#include <braid/io.hpp>
#include <braid/runtime/default_runtime.hpp>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include <unistd.h>

using namespace std::chrono_literals;
using braid::http_exchange, braid::http_status, braid::scope, braid::task;

// [files]
auto send_file(braid::executor& blocking, std::string folder, http_exchange& x)
    -> task<void> {
  const auto name = braid::http_url::percent_decoded(x.value("name"));
  if (!name || name->find("..") != name->npos || name->starts_with('/'))
    co_return x.reply(http_status::not_found);
  const auto text =
      co_await braid::file::read(blocking, folder + "/" + *name, 16 << 20);
  if (!text) co_return x.reply(http_status::not_found);
  x.reply(http_status::ok,
          name->ends_with(".html") ? "text/html" : "application/octet-stream",
          *text);
}
// [/files]

// [busy]
/// At most so many requests at a time; more are refused at once, and cheaply.
auto answer_or_refuse(braid::async_semaphore& slots, http_exchange& x)
    -> task<void> {
  const auto slot = slots.try_acquire();
  if (!slot) {
    x.pace();  // the server reads less from those that it refuses
    braid::or_throw(x.set_field("Retry-After", "1"));
    co_return x.reply(http_status::service_unavailable, "busy");
  }
  co_await braid::sleep_for(1ms);  // the work
  x.reply(http_status::ok, "done");
}
// [/busy]

// [too_many]
/// A bound on the requests of each client in a minute. For the handlers of one
/// loop, so that no lock is needed.
class requests_a_minute {
 public:
  explicit requests_a_minute(int most) : most_(most) {}

  auto admits(const std::string& client, braid::time_point now) -> bool {
    if (clients_.size() > 10'000)
      std::erase_if(clients_, [&](const auto& each) {
        return now - each.second.begun > 1min;
      });
    window& mine = clients_[client];
    if (now - mine.begun > 1min) mine = {.begun = now};
    return ++mine.requests <= most_;
  }

 private:
  struct window {
    braid::time_point begun = {};
    int requests = 0;
  };
  int most_;
  std::unordered_map<std::string, window> clients_;
};

void answer_or_429(requests_a_minute& limit, braid::loop& io,
                   http_exchange& x) {
  // Behind a proxy: a field that the proxy sets, such as X-Forwarded-For.
  const auto client = x.peer();
  if (client && !limit.admits(client->host(), io.now())) {
    braid::or_throw(x.set_field("Retry-After", "60"));
    return x.reply(http_status::too_many_requests,
                   "too many requests: try again in a minute");
  }
  x.reply(http_status::ok, "welcome");
}
// [/too_many]

// [access_log]
/// Writes a line of the access log when the handler that holds it ends, however
/// it ends.
class access_line {
 public:
  // At once: later the client may have gone.
  explicit access_line(http_exchange& x) : x_(&x), peer_(x.peer()) {}
  access_line(const access_line&) = delete;
  auto operator=(const access_line&) -> access_line& = delete;
  ~access_line() {
    // The server answers instead.
    const auto status =
        x_->status().value_or(http_status::internal_server_error);
    std::printf("%s \"%s %s\" %s %d\n", peer_ ? peer_->host().c_str() : "-",
                text(name_of(x_->request().method)).c_str(),
                text(x_->request().target).c_str(), text(x_->route()).c_str(),
                static_cast<int>(status));
  }

 private:
  static auto text(std::string_view from) -> std::string {
    return std::string(from);
  }

  http_exchange* x_;
  braid::result<braid::socket_address> peer_;
};

auto show_item(http_exchange& x) -> task<void> {
  const access_line line(x);
  co_await braid::sleep_for(1ms);  // the work
  if (x.value("id") == "0") throw std::runtime_error("item 0 is broken");
  x.reply(http_status::ok, "item " + std::string(x.value("id")));
}
// [/access_log]

// [pieces]
auto send_table(http_exchange& x) -> task<void> {
  x.begin(http_status::ok, "text/csv");
  for (int row = 0; row < 1000; ++row) {
    const std::string line =
        std::to_string(row) + "," + std::to_string(row * row) + "\n";
    // The client has gone, or reads too slowly.
    if (!co_await x.write(line)) co_return;
  }
}
// [/pieces]

// [body]
auto count_bytes(http_exchange& x) -> task<void> {
  std::size_t bytes = 0;
  for (;;) {  // in pieces: the body need not fit into memory
    const auto piece = co_await x.read_some();
    // Too large, too slow or cut off: the server answers.
    if (!piece) co_return;
    if (piece->empty()) break;
    bytes += piece->size();
  }
  x.reply(http_status::ok, std::to_string(bytes));
}
// [/body]

// [trace]
/// For a server with `.traces = true`: the call carries the trace of the
/// request that is answered.
auto ask_further(braid::http_client& client, std::string url, http_exchange& x)
    -> task<void> {
  const auto answer = co_await client.get(std::move(url));
  const braid::trace_context* span =
      co_await braid::trace_context::current.get();
  // A log line would contain this.
  std::printf("in trace %s\n", span->trace_id_text().c_str());
  x.reply(http_status::ok, answer ? answer->body : answer.error().message());
}
// [/trace]

// [client]
auto sizes(std::string url) -> task<void> {
  braid::http_client client(braid::default_runtime().io(),
                            {.connections_per_host = 4});
  for (int i = 0; i < 3; ++i) {  // one connection, used three times
    const auto page =
        co_await braid::with_timeout(5s, client.get(url + "/table"));
    if (page) std::printf("%zu bytes, ", page->body.size());
  }
  std::printf("%zu connection\n", client.idle_connections());
}
// [/client]

// [post]
auto upload(braid::http_client& client, std::string url, std::string text)
    -> task<std::string> {
  braid::http_client::call call{.method = braid::http_method::post,
                                .url = std::move(url),
                                .body = std::move(text)};
  call.fields.emplace_back("Content-Type", "text/plain");
  const auto answer =
      co_await braid::with_timeout(5s, client.fetch(std::move(call)));
  if (!answer) co_return answer.error().message();
  co_return answer->body;
}
// [/post]

// [sigterm]
auto serve_until_sigterm(braid::http_server& server,
                         braid::stream_listener listener, scope& everything)
    -> task<void> {
  auto ends = braid::or_throw(braid::signal_set::create(
      braid::default_runtime().io(), {SIGTERM, SIGINT}));
  auto serving = braid::spawn(everything, server.serve(std::move(listener)));
  const int signal = braid::or_throw(co_await ends.next());
  std::printf("signal %d\n", signal);
  co_await server.stop(10s);  // answers what has begun
  braid::or_throw(co_await std::move(serving));
  // And ends the rest; last, because a stop ends this task as well.
  everything.request_stop();
}
// [/sigterm]

// [interrupt]
auto until_interrupted(task<void> work) -> task<bool> {
  auto ends = braid::or_throw(
      braid::signal_set::create(braid::default_runtime().io(), {SIGINT}));
  bool interrupted = false;
  auto both = [&](scope& all) -> task<void> {
    all.spawn([&]() -> task<void> {
      braid::or_throw(co_await ends.next());
      interrupted = true;
      // Ends `work` as well; the code after `with_scope` runs.
      all.request_stop();
    });
    co_await std::move(work);
    all.request_stop();  // no need to wait for a signal any more
  };
  co_await braid::with_scope(both);
  co_return interrupted;
}
// [/interrupt]

auto long_work() -> task<void> {
  std::raise(SIGINT);  // as Ctrl-C sends it
  co_await braid::sleep_for(1h);
}

// [drain]
/// Answers lines until the client leaves. Once `closing` is set its reads give
/// what has come, and then fail.
auto answer_lines(braid::stream_socket client, braid::async_event& closing)
    -> task<void> {
  auto answer = [&](scope& own) -> task<void> {
    own.spawn([&]() -> task<void> {
      co_await closing;
      client.end_read_waits();
    });
    std::array<std::byte, 4096> room;
    while (const auto got = co_await client.read_some(room)) {
      if (*got == 0 || !co_await client.write_all(std::span(room).first(*got)))
        break;
    }
    own.request_stop();  // the client has left: no need to wait for `closing`
  };
  co_await braid::with_scope(answer);
}

auto serve_until_closing(braid::stream_listener& listener,
                         braid::async_event& closing) -> task<void> {
  auto accept = [&](scope& clients) -> task<void> {
    for (;;) {
      auto first = co_await braid::when_any(listener.accept(), closing);
      if (first.index == 1) co_return;  // the scope ends when its clients have
      auto& client = std::get<0>(first.value);
      if (client) clients.spawn(answer_lines(std::move(*client), closing));
    }
  };
  co_await braid::with_scope(accept);
}
// [/drain]

// [program]
auto output_of(std::string program, std::vector<std::string> arguments)
    -> task<braid::result<std::string>> {
  auto child =
      braid::child_process::start(braid::default_runtime().io(),
                                  {.program = std::move(program),
                                   .arguments = std::move(arguments),
                                   .out = braid::child_process::stream::pipe});
  if (!child) co_return braid::fail(child.error());
  std::string text;
  std::array<std::byte, 4096> room;
  while (const auto got = co_await child->out().read_some(room)) {
    if (*got == 0) break;  // its end
    text += braid::text_of(std::span(room).first(*got));
  }
  const auto status = co_await child->wait();
  if (!status || !status->is_success())
    co_return braid::fail(std::make_error_code(std::errc::io_error));
  co_return text;
}
// [/program]

auto users(std::string url, braid::async_semaphore& slots) -> task<void> {
  braid::http_client client(braid::default_runtime().io());
  for (const char* path : {"/files/hello.html", "/files/..%2Fsecret"}) {
    const auto page = co_await client.get(url + path);
    if (page)
      std::printf("%d %s\n", static_cast<int>(page->status),
                  page->body.c_str());
  }
  auto slot = slots.try_acquire();  // as another request would have it
  const auto refused = co_await client.get(url + "/busy");
  slot.reset();
  const auto answered = co_await client.get(url + "/busy");
  if (refused && answered)
    std::printf("%s, %s\n", refused->body.c_str(), answered->body.c_str());
  for (int i = 0; i < 3; ++i) {
    const auto welcome = co_await client.get(url + "/welcome");
    const auto again = welcome ? welcome->field("Retry-After") : std::nullopt;
    if (welcome)
      std::printf("%s%s\n", welcome->body.c_str(),
                  again ? " (Retry-After)" : "");
  }
  std::ignore = co_await client.get(url + "/items/7");
  std::ignore = co_await client.get(url + "/items/0");
  co_await sizes(url);
  braid::http_client::call traced{.url = url + "/further"};
  traced.fields.emplace_back(
      "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const auto further = co_await client.fetch(std::move(traced));
  if (further)
    std::printf("the other service got %s...\n",
                further->body.substr(0, 36).c_str());
  std::printf("uploaded %s\n", (co_await upload(client, url + "/count",
                                                std::string(100'000, 'x')))
                                   .c_str());
  std::printf(
      "%s",
      braid::or_throw(co_await output_of("echo", {"a", "program"})).c_str());
  std::raise(SIGTERM);
}

auto talk(braid::stream_listener& listener, braid::async_event& closing)
    -> task<void> {
  const auto where = braid::or_throw(listener.local_address());
  const auto client = braid::or_throw(co_await braid::stream_socket::connect(
      braid::default_runtime().io(), where));
  braid::or_throw(co_await client.write_all("hello"));
  std::array<std::byte, 4096> room;
  const auto got = braid::or_throw(co_await client.read_some(room));
  closing.set();
  const auto after = braid::or_throw(co_await client.read_some(room));
  std::printf("%zu bytes back, then %zu: the end\n", got, after);
}

auto drained_service() -> task<void> {
  auto listener = braid::or_throw(
      braid::stream_listener::listen(braid::default_runtime().io(),
                                     braid::socket_address::loopback(0)),
      "listen");
  braid::async_event closing;
  co_await braid::when_all(serve_until_closing(listener, closing),
                           talk(listener, closing));
}

auto program(std::string folder) -> task<void> {
  braid::loop& io = braid::default_runtime().io();
  braid::executor& blocking = braid::default_runtime().blocking();
  braid::async_semaphore slots(1);
  braid::http_client client(io);
  std::string url;
  braid::http_router routes;
  // [routes]
  routes.get("/files/{name...}",
             [&](http_exchange& x) { return send_file(blocking, folder, x); });
  routes.get("/busy",
             [&](http_exchange& x) { return answer_or_refuse(slots, x); });
  routes.get("/table", &send_table);
  routes.post("/count", &count_bytes);
  // [/routes]
  requests_a_minute limit(2);
  routes.get("/welcome",
             [&](http_exchange& x) { answer_or_429(limit, io, x); });
  // [route_options]
  routes.get("/items/{id}", {.name = "item", .deadline = 2s}, &show_item);
  // [/route_options]
  routes.get("/further", [&](http_exchange& x) {
    return ask_further(client, url + "/parent", x);
  });
  routes.get("/parent", [](http_exchange& x) {
    x.reply(http_status::ok,
            x.request().fields.find("traceparent").value_or("none"));
  });
  const auto report = [](const std::exception_ptr&,
                         const braid::error_callback::origin& from) {
    std::printf("%s failed\n", from.what);
  };
  braid::http_server server(io, routes, {.on_error = report, .traces = true});
  auto listener = braid::or_throw(
      braid::stream_listener::listen(io, braid::socket_address::loopback(0)));
  url = "http://" + braid::or_throw(listener.local_address()).to_string();
  auto everything = [&](scope& all) -> task<void> {
    all.spawn(serve_until_sigterm(server, std::move(listener), all));
    all.spawn(users(url, slots));
    co_return;
  };
  co_await braid::with_scope(everything);
}

int main() {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("pages." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "hello.html") << "<p>hello";
  braid::spawn(program(folder)).get();
  braid::spawn(drained_service()).get();
  std::printf("%s\n", braid::spawn(until_interrupted(long_work())).get()
                          ? "interrupted"
                          : "done");
  std::filesystem::remove_all(folder);
}
