// tests/rankd/server/endpoint_test.cpp: the table of endpoints agrees with the description, the docs and the metrics.
#include <rankd/server/endpoints/endpoint.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/detail/routes.hpp>
#include <rankd/server/endpoints/openapi.hpp>
#include <tests/rankd/server/serve_world.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::detail::access;
using rankd::detail::all_routes;
using rankd::detail::route;
using rankd::testing::serve_world;

namespace {

auto method_of(const route& of) -> std::string {
  std::string out(braid::name_of(of.method));
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

auto with_capitals(std::string path) -> std::string {
  for (const auto& [field, name] : {std::pair<std::string_view, std::string_view>{"{name}", "NAME"}, {"{number}", "N"}})
    if (const auto at = path.find(field); at != std::string::npos) path.replace(at, field.size(), name);
  return path;
}

}  // namespace

TEST_CASE("every endpoint has a path of its own, under which the table of routes has it") {
  std::set<std::string_view> paths;
  for (std::size_t at = 0; at < endpoint_paths.size(); ++at) {
    const auto which = static_cast<endpoint>(at);
    CHECK(paths.insert(name_of(which)).second);
    const bool is_served = std::ranges::any_of(
        all_routes(), [&](const route& each) { return each.which == which && each.path == name_of(which); });
    CHECK_MESSAGE(is_served == (which != endpoint::other), name_of(which));
  }
  for (const route& each : all_routes())
    CHECK_MESSAGE((each.which == endpoint::page || each.path == name_of(each.which)), each.path);
}

TEST_CASE("the description has the endpoints of the table, with their access and their limits") {
  const json paths = json::parse(openapi_text()).at("paths");
  std::set<std::string> described;
  for (const auto& [path, methods] : paths.items())
    for (const auto& [method, operation] : methods.items()) described.insert(method + " " + path);
  for (const route& each : all_routes()) {
    if (each.which == endpoint::page || is_grpc(each.which)) continue;  // for browsers, and for clients of gRPC
    const std::string operation = method_of(each) + " " + std::string(each.path);
    REQUIRE_MESSAGE(described.erase(operation) == 1, operation);
    const json& text = paths.at(std::string(each.path)).at(method_of(each));
    const bool is_open = text.contains("security") && text.at("security") == json::parse("[{}]");
    CHECK_MESSAGE(is_open == (each.needs == access::everyone), operation);
    const json& answers = text.at("responses");
    CHECK_MESSAGE(answers.contains("401") == (each.needs != access::everyone), operation);
    if (!each.limit.name.empty()) CHECK_MESSAGE(answers.contains("429"), operation);
  }
  CHECK(described.empty());
}

TEST_CASE("the docs name every endpoint that is not for the page alone") {
  const std::string text = read_text_file("docs/serving.md").value() + read_text_file("docs/page.md").value() +
                           read_text_file("docs/grpc.md").value();
  for (const route& each : all_routes()) {
    const bool is_for_page = each.limit.name == "drafts" || each.which == endpoint::page;
    if (each.which == endpoint::grpc_other) continue;  // of no method
    if (!is_for_page) CHECK_MESSAGE(text.find(with_capitals(std::string(each.path))) != std::string::npos, each.path);
  }
}

TEST_CASE("whatever changes sources or what serves needs the right to edit") {
  for (const route& each : all_routes()) {
    const bool ranks = each.which == endpoint::rank || each.which == endpoint::batch ||
                       each.which == endpoint::diff_answers || each.which == endpoint::events ||
                       each.which == endpoint::records || is_grpc(each.which);
    if (each.method == braid::http_method::post)
      CHECK_MESSAGE((each.needs == access::edit) == !ranks, each.path);
    else if (each.which != endpoint::page)
      CHECK_MESSAGE((each.needs == access::edit) == (each.limit.name == "drafts"), each.path);
  }
}

TEST_CASE("an endpoint that is not switched on is answered with the option for it") {
  serve_world world;
  const auto message = [&world](const std::string& method, const std::string& target) {
    const auto answer = world.ask(method, target);
    const json error = json::parse(answer.body).at("error");
    CHECK(answer.status == 404);
    CHECK(error.at("code") == "unknown_path");
    return error.at("message").get<std::string>();
  };
  const std::string start = "this server has no endpoint at this path; to have it, start ";
  const std::string changes = start + "`rankd serve` with --allow-changes and --token-file FILE";
  CHECK(message("POST", "/v1/reload") == changes);
  CHECK(message("POST", "/v1/reload?x=/") == changes);
  CHECK(message("GET", "/v1/reload") == changes);
  CHECK(message("POST", "/v1/plans/ten/versions/2/pin") == changes);
  CHECK(message("GET", "/ui") == start + "`rankd serve` with --ui, or `rankd studio`");
  CHECK(message("GET", "/v1/traffic") == start + "`rankd studio` with --traffic FILE");
  CHECK(message("GET", "/v1/plans/ten/source") == start + "`rankd studio` in a project with the compiler dslc");
  for (const std::string other : {"/", "/v1/reload/x", "/v1/plans//source", "/v1/plan/ten/source", "/v1"})
    CHECK(message("POST", other) == "there is no endpoint at this path");
}
