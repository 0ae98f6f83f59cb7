// tests/rankd/server/serve_world.hpp: a server of plans that tests write, on the data of the reference project.
#pragma once

#include <rankd/server/rank_server.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>
#include <tests/support/http_caller.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::testing {

inline auto bound_from(const std::string& artifact, const std::string& name, const plan_budget& budget = {})
    -> std::shared_ptr<const bound_plan> {
  const registries& declared = reference_project::get().declared;
  bound_plan made =
      value_of(bind_plan(value_of(parse_plan(artifact, "t.json", {all_op_shapes(), declared})), declared, budget));
  made.name = name;
  return std::make_shared<const bound_plan>(std::move(made));
}

/// `reels_plan_a` and `concat_plan` of the repository; `ten` gives ten rows; `slow` does not end, nor does `stuck`
/// where it waits; `fails` fails; `broken` cannot be loaded. Of budgets, `few` has too few rows for its ten, `hasty`
/// too little time, and `single` one request at a time, which does not end.
inline auto test_plans() -> std::vector<known_plan> {
  std::vector<known_plan> plans;
  const auto add = [&](const std::string& name, const std::string& nodes, const std::string& output,
                       const plan_budget& budget = {}) {
    plans.push_back(
        {.name = name, .bound = bound_from(artifact_of(nodes, "\"" + output + "\""), name, budget), .problems = {}});
  };
  add("ten", source("a", 10), "a");
  add("slow", source("a", 1) + "," + sleep("b", "a", an_hour_ms), "b");
  add("fails", source("a", 1) + "," + sleep("b", "a", 0, sleep_end::failing), "b");
  const std::string stuck = source("a", 1) + "," + sleep("b", "a", an_hour_ms);
  add("few", source("a", 10), "a", of_rows(9));
  add("hasty", stuck, "b", of_time(std::chrono::seconds(1)));
  add("single", stuck, "b", of_in_flight(1));
  const registries& declared = reference_project::get().declared;
  for (const char* name : {"reels_plan_a", "concat_plan"}) {
    const auto file = reference_project::get().where.plans / (std::string(name) + ".json");
    auto bound = value_of(bind_plan(value_of(load_plan(file, {all_op_shapes(), declared})), declared));
    plans.push_back({.name = name, .bound = std::make_shared<const bound_plan>(std::move(bound)), .problems = {}});
  }
  plans.push_back({.name = "broken",
                   .bound = nullptr,
                   .problems = parse_plan("{}", "broken.json", {all_op_shapes(), declared}).error()});
  return plans;
}

class serve_world {
 public:
  explicit serve_world(serve_options options = {}, line_file* audit = nullptr, serve_log log = {},
                       std::vector<store*> stores = reference_project::get().stores,
                       const store_scrubber* scrubber = nullptr, redaction redacted = {},
                       traffic_writer* traffic = nullptr, span_exporter* spans = nullptr,
                       std::vector<shadow_settings> shadows = {}) {
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline =
        std::chrono::minutes(1);  // a busy machine is no fault: a test that wants a deadline names one
    server_ = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                           .stores = std::move(stores),
                                           .shadows = std::move(shadows),
                                           .plans = &plans_,
                                           .log = log,
                                           .audit = audit,
                                           .redacted = std::move(redacted),
                                           .traffic = traffic,
                                           .scrubber = scrubber,
                                           .spans = spans},
                                          std::move(options)));
  }

  auto server() -> rank_server& { return *server_; }
  void end() { server_.reset(); }

  [[nodiscard]] auto caller() const -> braid::testing::http_caller {
    return braid::testing::http_caller(server_->address());
  }
  /// One request over a connection of its own.
  auto ask(std::string_view method, std::string_view path, std::string_view body = {}, std::string_view fields = {})
      -> braid::testing::heard_answer {
    auto one = caller();
    one.say(braid::testing::request_text(method, path, fields, body));
    return one.hear().value();
  }
  auto rank(std::string_view body, std::string_view fields = {}) -> braid::testing::heard_answer {
    return ask("POST", "/v1/rank", body, fields);
  }

 private:
  fixed_plans plans_{test_plans()};
  std::unique_ptr<rank_server> server_;
};

}  // namespace rankd::testing
