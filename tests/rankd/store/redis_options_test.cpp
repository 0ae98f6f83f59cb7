// tests/rankd/store/redis_options_test.cpp: endpoints, URLs and variables say where a server is and how to greet it.
#include <rankd/store/redis_options.hpp>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

/// A variable of the environment for as long as a test needs it.
class variable_set {
 public:
  variable_set(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  variable_set(const variable_set&) = delete;
  auto operator=(const variable_set&) -> variable_set& = delete;
  ~variable_set() { ::unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

auto endpoint_at(std::string host, std::uint16_t port) -> endpoint_entry {
  endpoint_entry endpoint;
  endpoint.endpoint_id = "ep_0001";
  endpoint.resolver = endpoint_entry::static_resolver{std::move(host), port};
  return endpoint;
}

template <typename T>
auto code_of(const braid::checked<T>& made) -> std::string {
  return made ? "fine" : made.error().front().code;
}

}  // namespace

TEST_CASE("an endpoint's resolver and policy are those of its connections") {
  endpoint_entry endpoint = endpoint_at("10.1.2.3", 7000);
  endpoint.policy = {.max_inflight = 5, .connect_timeout = 20ms, .request_timeout = 30ms, .connections = 2};
  const auto server = parse_redis_options(endpoint).value();
  CHECK(server.host == "10.1.2.3");
  CHECK(server.port == 7000);
  CHECK(server.in_flight == 5);
  CHECK(server.connect_timeout == 20ms);
  CHECK(server.request_timeout == 30ms);
  CHECK(server.password.empty());
  CHECK(server.database == 0);
  CHECK(find_place(server) == "redis://10.1.2.3:7000/0");
}

TEST_CASE("where a policy names nothing, there are defaults") {
  const auto server = parse_redis_options(endpoint_at("127.0.0.1", 6379)).value();
  CHECK(server.in_flight == 64);
  CHECK(server.connect_timeout == 1s);
  CHECK(server.request_timeout == 1s);
}

TEST_CASE("user, password and database come from the environment, the endpoint's own before those of all") {
  const variable_set user("RANKD_REDIS_USER", "u");
  const variable_set password("RANKD_REDIS_PASSWORD", "p");
  const variable_set database("RANKD_REDIS_DATABASE", "3");
  const variable_set own("RANKD_REDIS_PASSWORD_EP_0001", "own");
  const auto server = parse_redis_options(endpoint_at("127.0.0.1", 6379)).value();
  CHECK(server.user == "u");
  CHECK(server.password == "own");
  CHECK(server.database == 3);
  endpoint_entry other = endpoint_at("127.0.0.1", 6379);
  other.endpoint_id = "ep_0002";
  CHECK(parse_redis_options(other).value().password == "p");
}

TEST_CASE("a database that is no number is refused with the name of its variable") {
  for (const char* text : {"x", "", "-1", "1x", "99999999999"}) {
    const variable_set database("RANKD_REDIS_DATABASE", text);
    const auto server = parse_redis_options(endpoint_at("127.0.0.1", 6379));
    REQUIRE(code_of(server) == "bad_environment");
    CHECK(server.error().front().message.find("RANKD_REDIS_DATABASE") != std::string::npos);
  }
}

TEST_CASE("a host that is a name is looked up, one that has no address refused") {
  CHECK(parse_redis_options(endpoint_at("localhost", 1)).value().host == "127.0.0.1");
  CHECK(parse_redis_options(endpoint_at("::1", 1)).value().host == "::1");
  CHECK(find_place(parse_redis_options(endpoint_at("::1", 1)).value()) == "redis://[::1]:1/0");
  CHECK(code_of(parse_redis_options(endpoint_at("no.such.host.invalid", 1))) == "unknown_host");
}

TEST_CASE("a URL says as much as it wants") {
  const auto min_count = parse_redis_options("redis://127.0.0.1").value();
  CHECK(min_count.port == 6379);
  CHECK(min_count.database == 0);
  const auto max_count = parse_redis_options("redis://me:p%40%2fss@[::1]:7/12").value();
  CHECK(max_count.user == "me");
  CHECK(max_count.password == "p@/ss");
  CHECK(max_count.host == "::1");
  CHECK(max_count.port == 7);
  CHECK(max_count.database == 12);
  CHECK(find_place(max_count) == "redis://[::1]:7/12");
  CHECK(parse_redis_options("redis://secret@127.0.0.1:7/").value().password == "secret");
}

TEST_CASE("what a URL says goes before the environment") {
  const variable_set password("RANKD_REDIS_PASSWORD", "p");
  const variable_set user("RANKD_REDIS_USER", "u");
  const variable_set database("RANKD_REDIS_DATABASE", "3");
  const auto some = parse_redis_options("redis://:mine@127.0.0.1/0").value();
  CHECK(some.password == "mine");
  CHECK(some.user.empty());
  CHECK(some.database == 0);
  const auto none = parse_redis_options("redis://127.0.0.1").value();
  CHECK(none.password == "p");
  CHECK(none.user == "u");
  CHECK(none.database == 3);
}

TEST_CASE("a URL that makes no sense is refused, without its password") {
  for (const char* url : {"redis://", "redis://:7", "redis://h:0", "redis://h:65536", "redis://h:x", "redis://h/x",
                          "redis://h/1/2", "redis://h/-1", "redis://[::1", "redis://[::1]x", "redis://s3cret%4@h",
                          "redis://@h", "redis://s3cret@:7", "http://h", "redis:h", ""}) {
    CAPTURE(url);
    const auto checked = check_redis_url(url);
    REQUIRE(code_of(checked) == "bad_redis_url");
    CHECK(checked.error().to_text().find("s3cret") == std::string::npos);
    CHECK(code_of(parse_redis_options(std::string_view(url))) == "bad_redis_url");
  }
  CHECK(check_redis_url("redis://somewhere:6379/1"));
}

TEST_CASE("a URL may name a cluster by some of its nodes") {
  const auto place = parse_redis_options("redis-cluster://me:p@127.0.0.1:7000,127.0.0.2,[::1]:7002").value();
  REQUIRE(place.is_cluster());
  REQUIRE(place.nodes.size() == 3);
  CHECK(place.nodes[0].port == 7000);
  CHECK(place.nodes[1].host == "127.0.0.2");
  CHECK(place.nodes[1].port == 6379);
  CHECK(place.nodes[2].host == "::1");
  CHECK(place.password == "p");
  CHECK(find_place(place) == "redis-cluster://127.0.0.1:7000,127.0.0.2:6379,[::1]:7002");
  CHECK_FALSE(place.tls.has_value());
  const auto options = place.as_cluster();
  CHECK(options.nodes.size() == 3);
  CHECK(options.connection.user == "me");
  CHECK_FALSE(parse_redis_options("redis://127.0.0.1").value().is_cluster());
  for (const char* url : {"redis-cluster://", "redis-cluster://127.0.0.1,", "redis-cluster://127.0.0.1/3",
                          "redis://127.0.0.1,127.0.0.2", "redis-cluster://127.0.0.1:0,127.0.0.2"}) {
    CAPTURE(url);
    CHECK(code_of(parse_redis_options(std::string_view(url))) == "bad_redis_url");
  }
}

TEST_CASE("rediss is by TLS, for the host as it is written") {
  const auto one = parse_redis_options("rediss://localhost:7").value();
  CHECK(one.tls.has_value());
  CHECK(one.server_name == "localhost");
  CHECK(one.host == "127.0.0.1");
  CHECK(find_place(one) == "rediss://127.0.0.1:7/0");
  const auto all = parse_redis_options("rediss-cluster://127.0.0.1:7,127.0.0.1:8").value();
  CHECK(all.tls.has_value());
  CHECK(find_place(all) == "rediss-cluster://127.0.0.1:7,127.0.0.1:8");
  endpoint_entry endpoint = endpoint_at("127.0.0.1", 1);
  std::get<endpoint_entry::static_resolver>(endpoint.resolver).by_tls = true;
  CHECK(parse_redis_options(endpoint).value().tls.has_value());
  const variable_set no_file("RANKD_REDIS_AUTHORITIES", "/no/such/file.pem");
  CHECK(code_of(parse_redis_options("rediss://127.0.0.1")) == "bad_environment");
  CHECK(code_of(parse_redis_options("redis://127.0.0.1")) == "fine");
}

TEST_CASE("an endpoint may be a cluster") {
  endpoint_entry endpoint = endpoint_at("", 0);
  endpoint.resolver = endpoint_entry::cluster_resolver{
      .nodes = {{"127.0.0.1", 7000}, {"127.0.0.1", 7001}}, .from_replicas = true, .by_tls = true};
  endpoint.policy.max_inflight = 9;
  const auto place = parse_redis_options(endpoint).value();
  CHECK(place.is_cluster());
  CHECK(place.in_flight == 9);
  CHECK((place.reads == braid::redis_cluster::reads::replicas));
  CHECK(place.tls.has_value());
}
