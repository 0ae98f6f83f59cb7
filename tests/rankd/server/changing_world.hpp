// tests/rankd/server/changing_world.hpp: a server of plans that change.
#pragma once

#include <rankd/server/plan_changes.hpp>
#include <rankd/server/rank_server.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::testing {

constexpr std::string_view request_to_a = R"({"user_id":1,"plan":"a"})";

/// The value that a plan of `marked_plan` has written into both columns of both rows; -1 where they differ.
inline auto mark_in(const std::string& body) -> int {
  const nlohmann::json answer = nlohmann::json::parse(body);
  std::set<int> values;
  for (const nlohmann::json& row : answer.at("candidates"))
    for (const nlohmann::json& value : row.at("fields")) values.insert(value.get<int>());
  return values.size() == 1 ? *values.begin() : -1;
}

/// A folder of plans, and a server of them.
class changing_world {
 public:
  explicit changing_world(bool clients_change = true, std::optional<token_list> tokens = {},
                          bad_plans on_bad_plan = bad_plans::refuse_all, bool shows_page = false,
                          std::vector<std::filesystem::path> traffic = {})
      : library(reference_project::get().declared, {.on_bad_plan = on_bad_plan}) {
    write("a", 1);
    value_of(changes.reload());
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline =
        std::chrono::minutes(1);  // a busy machine is no fault: a test that wants a deadline names one
    options.clients_change_plans = clients_change;
    options.tokens = std::move(tokens);
    options.shows_page = shows_page;
    server_ = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                           .stores = reference_project::get().stores,
                                           .plans = &plans_,
                                           .changes = &changes,
                                           .traffic_places = std::move(traffic)},
                                          std::move(options)));
  }

  void write(const std::string& name, int value) { folder.write(name + ".json", marked_plan(name, value)); }

  auto ask(std::string_view method, std::string_view path, std::string_view body = {}) -> braid::testing::heard_answer {
    auto one = caller();
    one.say(braid::testing::request_text(method, path, {}, body));
    return one.hear().value();
  }
  auto ask_json(std::string_view method, std::string_view path) -> nlohmann::json {
    return nlohmann::json::parse(ask(method, path).body);
  }

  [[nodiscard]] auto caller() const -> braid::testing::http_caller {
    return braid::testing::http_caller(server_->address());
  }

  auto server() -> rank_server& { return *server_; }

  /// What plan `a` writes at the moment.
  auto mark() -> int { return mark_in(ask("POST", "/v1/rank", request_to_a).body); }

  braid::testing::scratch_folder folder;
  plan_library library;
  plan_changes changes{library, folder.path(), {}};

 private:
  library_plans plans_{library};
  std::unique_ptr<rank_server> server_;
};

}  // namespace rankd::testing
