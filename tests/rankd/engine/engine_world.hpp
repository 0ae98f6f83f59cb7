// tests/rankd/engine/engine_world.hpp: an engine on the repository's reference project, and plans written by tests.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/store.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::testing {

template <typename T>
auto value_of(braid::checked<T> made) -> T {
  if (!made) throw std::runtime_error(made.error().to_text());
  return std::move(*made);
}

/// The project at the root of the repository, its store filled anew in a folder of the test's own.
struct reference_project {
  project where = value_of(project::load("."));
  registries declared = value_of(registries::load(where.registry, where.environment));
  braid::testing::scratch_folder folder;
  std::vector<std::unique_ptr<store>> owned;
  std::vector<store*> stores;

  reference_project() {
    for (const endpoint_entry& endpoint : declared.endpoints()) {
      const auto* place = std::get_if<endpoint_entry::embedded_resolver>(&endpoint.resolver);
      if (place != nullptr) {
        value_of(load_if_missing(folder.path() / place->path, where.data.value(), {}));
        owned.push_back(value_of(open_store(endpoint, folder.path())));
      } else {
        owned.push_back(nullptr);
      }
      stores.push_back(owned.back().get());
    }
  }

  static auto get() -> const reference_project& {
    static const reference_project once;
    return once;
  }
};

/// The artifact of a plan with these nodes and outputs, both as JSON; `tables` are further fields, each with a comma
/// behind it.
inline auto artifact_of(const std::string& nodes, const std::string& outputs, const std::string& tables = "")
    -> std::string {
  return R"({"schema_version":1,"plan_name":"t",)" + tables + R"("outputs":[)" + outputs + R"(],"nodes":[)" + nodes +
         "]}";
}

inline auto node(const std::string& id, const std::string& op, const std::string& input,
                 const std::string& params = "{}") -> std::string {
  return R"({"node_id":")" + id + R"(","op":")" + op + R"(","inputs":[)" + (input.empty() ? "" : "\"" + input + "\"") +
         R"(],"params":)" + params + "}";
}

inline auto source(const std::string& id, int rows) -> std::string {
  return node(id, "test::fixed_source", "", R"({"row_count":)" + std::to_string(rows) + "}");
}

enum class sleep_end { well, failing };

inline auto sleep(const std::string& id, const std::string& input, int ms, sleep_end end = sleep_end::well)
    -> std::string {
  return node(id, "test::sleep", input,
              R"({"duration_ms":)" + std::to_string(ms) + R"(,"fail_after_sleep":)" +
                  (end == sleep_end::failing ? "true}" : "false}"));
}

inline auto busy(const std::string& id, const std::string& input, int ms) -> std::string {
  return node(id, "test::busy_cpu", input, R"({"busy_wait_ms":)" + std::to_string(ms) + "}");
}

inline constexpr int an_hour_ms = 3'600'000;

/// A runtime with an engine on it; of the reference project unless a test brings its own registries and stores.
class engine_world {
 public:
  explicit engine_world(unsigned workers = 2, engine_options options = {})
      : engine_world(reference_project::get().declared, reference_project::get().stores, workers, options) {}
  engine_world(const registries& declared, std::vector<store*> stores, unsigned workers = 2,
               engine_options options = {})
      : declared_(&declared), runtime_(braid::runtime::create({.workers = workers, .name = "test"}).value()) {
    engine_.emplace(*runtime_, declared, std::move(stores), options);
  }

  auto ranker() -> engine& { return *engine_; }
  auto on() -> braid::runtime& { return *runtime_; }

  auto bind(const std::string& artifact, const plan_budget& budget = {}) -> const bound_plan& {
    const plan loaded = value_of(parse_plan(artifact, "t.json", {all_op_shapes(), *declared_}));
    return keep(value_of(bind_plan(loaded, *declared_, budget)));
  }
  /// A plan of the repository.
  auto reference_plan(const std::string& name, const plan_budget& budget = {}) -> const bound_plan& {
    const auto file = reference_project::get().where.plans / (name + ".json");
    return keep(value_of(bind_plan(value_of(load_plan(file, {all_op_shapes(), *declared_})), *declared_, budget)));
  }

  auto rank(const bound_plan& plan, std::string_view request) -> ranking {
    return runtime_->run(engine_->rank(plan, value_of(parse_request(request, *declared_))));
  }

  /// Ends the runtime and all that runs on it.
  void close() { runtime_.reset(); }

 private:
  auto keep(bound_plan made) -> const bound_plan& {
    return *plans_.emplace_back(std::make_unique<const bound_plan>(std::move(made)));
  }

  const registries* declared_;
  std::vector<std::unique_ptr<const bound_plan>> plans_;
  std::optional<engine> engine_;  // destroyed after the runtime, as are the plans
  std::unique_ptr<braid::runtime> runtime_;
};

inline auto ids_of(const ranking& answer) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < answer.rows.size(); ++at) ids.push_back(answer.rows.id(at));
  return ids;
}

/// "code node" of the error, or "fine".
inline auto error_of(const ranking& answer) -> std::string {
  return answer.error ? answer.error->code + " " + answer.error->node : "fine";
}

}  // namespace rankd::testing
