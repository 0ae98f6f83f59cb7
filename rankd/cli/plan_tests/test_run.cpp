// rankd/cli/plan_tests/test_run.cpp: makes stores from records, runs requests in the engine, and explains missing ids.
#include <rankd/cli/plan_tests/test_run.hpp>

#include <rankd/cli/output/explain_tables.hpp>
#include <rankd/cli/plan_tests/test_folder.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/store/faulty_store.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/store.hpp>

#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

namespace rankd {
namespace fs = std::filesystem;

namespace {

/// Returns an answer without candidates for a request that its plan refuses.
auto failed_by(const braid::diagnostics& problems) -> ranking {
  ranking out;
  out.error = rank_error{problems.front().code, problems.front().message, {}, problems.front().pointer};
  return out;
}

/// Returns the missing ids, but at most as many as one request may explain.
auto missing_ids(const std::vector<mismatch>& failures) -> std::vector<row_id> {
  std::vector<row_id> out;
  for (const mismatch& each : failures)
    for (const row_id& id : each.missing)
      if (out.size() < max_explained_ids && std::ranges::find(out, id) == out.end()) out.push_back(id);
  return out;
}

void add_fates(std::vector<mismatch>& failures, const explanation& explanation) {
  for (mismatch& each : failures)
    for (const row_id& id : each.missing)
      if (const auto fate = std::ranges::find(explanation.ids, id, &id_fate::id); fate != explanation.ids.end())
        each.fates.push_back(fate_sentence(*fate));
}

}  // namespace

class test_runner::state {
 public:
  state(const registries& declared, std::unique_ptr<test_folder> folder)
      : declared_(declared), folder_(std::move(folder)) {}

  auto start() -> braid::checked<void> {
    auto on = braid::runtime::create({.workers = 1, .name = "rankd"});
    if (!on) return std::unexpected(no_runtime(on.error()));
    runtime_ = std::move(*on);
    return {};
  }

  auto run(const bound_plan& plan, const plan_test& test) -> braid::checked<test_outcome>;

 private:
  /// The stores of a test, by endpoint.
  struct test_stores {
    std::vector<std::unique_ptr<store>> owned;
    std::vector<store*> of_endpoint;  ///< null if the endpoint is not a store
  };

  auto loaded(const plan_test& test) -> braid::checked<fs::path>;
  auto list_stores(const plan_test& test) -> braid::checked<test_stores*>;
  auto answer(const bound_plan& plan, const rank_request& request, engine& engine) -> ranking;

  const registries& declared_;
  std::unique_ptr<test_folder> folder_;
  std::map<std::string, fs::path, std::less<>> stores_;  ///< by the lines of their records
  std::vector<std::unique_ptr<test_stores>> opened_;
  std::vector<std::unique_ptr<engine>> engines_;
  std::unique_ptr<braid::runtime> runtime_;  // destroyed first: its last tasks use all of the above
};

/// Returns the folder of a store with the records of a test. Reuses the store of an earlier test with the same records.
auto test_runner::state::loaded(const plan_test& test) -> braid::checked<fs::path> {
  std::string lines;
  for (const test_record& each : test.records) lines += each.line + "\n";
  if (const auto known = stores_.find(lines); known != stores_.end()) return known->second;
  const fs::path file = folder_->path() / ("records" + std::to_string(stores_.size()) + ".ndjson");
  std::ofstream out(file, std::ios::binary);
  out << lines;
  out.close();
  if (!out) return refused("store_write_failed", "the records of the test cannot be written", {}, file);
  const fs::path path = folder_->path() / ("store" + std::to_string(stores_.size()));
  const std::array files{file};
  if (const auto report = load_store(path, files, {}); !report) return std::unexpected(report.error());
  stores_.emplace(std::move(lines), path);
  return path;
}

auto test_runner::state::list_stores(const plan_test& test) -> braid::checked<test_stores*> {
  const auto path = loaded(test);
  if (!path) return std::unexpected(path.error());
  auto out = std::make_unique<test_stores>();
  for (const endpoint_entry& declared : declared_.endpoints()) {
    out->of_endpoint.push_back(nullptr);
    if (!is_store(declared)) continue;
    endpoint_entry endpoint = declared;
    endpoint.resolver = embedded_resolver{path->string()};
    auto opened = open_store(endpoint, {});
    if (!opened) return std::unexpected(std::move(opened.error()));
    out->owned.push_back(std::move(*opened));
    std::vector<planted_fault> faults;
    for (const endpoint_fault& each : test.faults)
      if (each.endpoint_id == endpoint.endpoint_id) faults.push_back(each.fault);
    if (!faults.empty())
      out->owned.push_back(std::make_unique<faulty_store>(*out->owned.back(), endpoint.endpoint_id, std::move(faults)));
    out->of_endpoint.back() = out->owned.back().get();
  }
  return opened_.emplace_back(std::move(out)).get();
}

auto test_runner::state::answer(const bound_plan& plan, const rank_request& request, engine& engine) -> ranking {
  if (!request.forced.empty())
    return failed_by(braid::diagnostics({.code = "no_experiments",
                                         .pointer = "/experiments",
                                         .message = "a test of a plan cannot choose arms of experiments",
                                         .hint = "list in `param_overrides` the values that the arm sets",
                                         .node = {},
                                         .source = "request"}));
  const auto missing = check_needs(request, find_route(plan, request.params)->needs, declared_);
  return missing.empty() ? runtime_->run(engine.rank(plan, request)) : failed_by(missing);
}

auto test_runner::state::run(const bound_plan& plan, const plan_test& test) -> braid::checked<test_outcome> {
  const auto stores = list_stores(test);
  if (!stores) return std::unexpected(stores.error());
  static const auto cursors = make_page_cursors({.key = "the key of plan tests"});
  engine& by = *engines_.emplace_back(
      std::make_unique<engine>(*runtime_, declared_, (*stores)->of_endpoint, engine_options{.cursors = cursors}));
  rank_request request = test.request;
  request.output_keys.reset();  // expectations may be about any key
  test_outcome out{.plan = plan.name,
                   .test = test.name,
                   .place = test.place,
                   .failures = find_mismatches(test, answer(plan, request, by))};
  request.explain_ids = missing_ids(out.failures);
  if (request.explain_ids.empty()) return out;
  request.explain = explain_mode::on;
  if (const ranking again = answer(plan, request, by); again.explained) add_fates(out.failures, *again.explained);
  return out;
}

test_runner::test_runner(std::unique_ptr<state> from) noexcept : state_(std::move(from)) {}
test_runner::test_runner(test_runner&&) noexcept = default;
test_runner::~test_runner() = default;

auto test_runner::create(const registries& declared) -> braid::checked<test_runner> {
  auto folder = test_folder::create();
  if (!folder) return std::unexpected(std::move(folder.error()));
  auto made = std::make_unique<state>(declared, std::move(*folder));
  if (auto started = made->start(); !started) return std::unexpected(std::move(started.error()));
  return test_runner(std::move(made));
}

auto test_runner::run(const bound_plan& plan, const plan_test& test) -> braid::checked<test_outcome> {
  return state_->run(plan, test);
}

}  // namespace rankd
