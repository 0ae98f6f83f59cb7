// rankd/server/traffic/http_load.cpp: sends load to a server with braid's own HTTP client.
#include <rankd/server/traffic/http_load.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>

#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

auto list_fields(const http_load_address& address) -> std::vector<std::pair<std::string, std::string>> {
  std::vector<std::pair<std::string, std::string>> fields{{"Content-Type", "application/json"}};
  if (!address.token.empty()) fields.emplace_back("Authorization", "Bearer " + address.token);
  return fields;
}

class http_target final : public load_target {
 public:
  http_target(braid::runtime& runtime, const http_load_address& address, unsigned clients)
      : names_(runtime.io(), runtime.blocking()),
        client_(runtime.io(), {.connections_per_host = clients, .names = &names_}),
        url_(address.url + "/v1/rank"),
        fields_(list_fields(address)) {}

  auto answer(const std::string& request) -> braid::task<load_answer> override {
    braid::http_client::call call{.method = braid::http_method::post, .url = url_, .fields = fields_, .body = request};
    auto asking = client_.fetch(std::move(call));
    const braid::result<braid::http_client::answer> got = co_await std::move(asking);
    if (!got) co_return load_answer{.bytes = 0, .failure = got.error().message()};
    load_answer answer{.bytes = got->body.size()};
    if (got->status != braid::http_status::ok)
      answer.failure = std::to_string(static_cast<int>(got->status)) + " " + got->body;
    co_return answer;
  }

 private:
  braid::resolver names_;
  braid::http_client client_;
  std::string url_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

auto ask_for_plan(braid::runtime& runtime, const http_load_address& address, const std::string& plan)
    -> braid::task<braid::result<braid::http_client::answer>> {
  braid::resolver names(runtime.io(), runtime.blocking());
  braid::http_client client(runtime.io(), {.names = &names});
  braid::http_client::call call{.url = address.url + "/v1/plans/" + plan, .fields = list_fields(address)};
  auto asking = client.fetch(std::move(call));
  co_return co_await std::move(asking);
}

}  // namespace

auto requests_for_plan(std::vector<std::string> requests, const std::string& plan)
    -> braid::checked<std::vector<std::string>> {
  for (std::size_t at = 0; at < requests.size(); ++at) {
    auto request = nlohmann::json::parse(requests[at], nullptr, false);
    const std::string place = "line " + std::to_string(at + 1);
    if (request.is_discarded()) return refused("json_syntax", "the line is not valid JSON", {}, place);
    if (!request.is_object()) return refused("wrong_type", "a request must be an object", {}, place);
    if (!request.emplace("plan", plan).second) continue;
    requests[at] = request.dump();
  }
  return requests;
}

auto check_http_load(const http_load_address& address, const std::string& plan) -> braid::checked<void> {
  auto on = braid::runtime::create({.workers = 1, .name = "check"});
  if (!on) return std::unexpected(no_runtime(on.error()));
  const auto answer = (*on)->run(ask_for_plan(**on, address, plan));
  if (!answer)
    return refused("server_unreachable", "the server did not answer: " + answer.error().message(), {}, address.url);
  if (answer->status == braid::http_status::ok) return {};
  return refused(
      "server_refused",
      "the server answered " + std::to_string(static_cast<int>(answer->status)) + ": " + quote_name(answer->body), {},
      address.url);
}

auto http_load_target(http_load_address address, unsigned clients) -> make_load_target {
  return [address = std::move(address), clients](braid::runtime& runtime) -> std::unique_ptr<load_target> {
    return std::make_unique<http_target>(runtime, address, clients);
  };
}

}  // namespace rankd
