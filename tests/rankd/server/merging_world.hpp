// tests/rankd/server/merging_world.hpp: a project with a file of vectors and a list of its changes, and processes over
// it.
#pragma once

#include <rankd/server/vector_merger.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/vector_build.hpp>
#include <rankd/registry/write_file.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::testing {

/// A folder with registries, a plan that searches a file together with a list of changes, the file, and a store.
/// The file has the vectors 1 to 4; the list is empty.
class merging_project {
 public:
  explicit merging_project(int merge_at = 2) {
    folder.write("registry/keys.toml", R"([[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false
[[key]]
key_id = 3
name = "v"
type = "vector"
dimensions = 2
nullable = true
)");
    folder.write("registry/params.toml", "");
    folder.write("registry/capabilities.toml", R"([[capability]]
id = "cap.rfc.0009.vectors.v1"
name = "vectors"
payload_schema = { type = "null" }
)");
    folder.write("registry/endpoints.dev.toml", R"([[endpoint]]
endpoint_id = "ep_0001"
name = "items"
kind = "embedded"
resolver = { type = "embedded", path = "store" }
[[endpoint]]
endpoint_id = "ep_0002"
name = "item_vectors"
kind = "vectors"
resolver = { type = "file", path = "v.rvec" }
[endpoint.policy.changes]
endpoint = "ep_0001"
set = "changed"
key = "item:{id}"
field = "v"
merge_at = )" + std::to_string(merge_at) + "\n");
    folder.write(
        "plans/near.json",
        R"({"schema_version":1,"plan_name":"near","capabilities_required":["cap.rfc.0009.vectors.v1"],)"
        R"("outputs":["found"],"nodes":[)" +
            node("asked", "core::candidates", "", R"({"keys":[3]})") + "," +
            node("changed", "core::set", "", R"({"endpoint":"ep_0001","key":"changed","count":1000})") + "," +
            node("vectors", "core::hash", "changed", R"({"endpoint":"ep_0001","key":"item:{id}","keys":[3]})") + "," +
            node("found", "core::nearest", "asked",
                 R"({"endpoint":"ep_0002","query":3,"count":10,"changes":"vectors"})") +
            "]}");
    build(R"({"id":1,"vector":[1,0]}
{"id":2,"vector":[2,0]}
{"id":3,"vector":[3,0]}
{"id":4,"vector":[4,0]}
)");
    const std::vector from{folder.write("data.ndjson", R"({"hash":"other","fields":{"a":"1"}})")};
    value_of(load_store(place(), from, {}));
  }

  [[nodiscard]] auto file() const -> std::filesystem::path { return folder.path() / "v.rvec"; }
  [[nodiscard]] auto place() const -> std::filesystem::path { return folder.path() / "store"; }

  /// Replaces the file.
  void build(const std::string& lines) const {
    const std::vector from{folder.write("v.ndjson", lines)};
    if (!replace_file(file(), vector_file_bytes(value_of(read_vectors(from, 2)), vector_lists{})))
      throw std::runtime_error("no file of vectors can be written");
  }

  /// Changes records, as a client of the server would.
  void change(const std::string& lines) const {
    const std::vector from{folder.write("change.ndjson", lines)};
    value_of(load_store(place(), from, {.mode = load_mode::merge, .wait = lock_wait::until_free}));
  }

  /// Returns the members of the list on the disk.
  [[nodiscard]] auto listed() const -> std::string {
    const embedded_store now = value_of(embedded_store::open(place()));
    const auto set = now.take_snapshot().value().find("changed").value();
    std::string out;
    for (std::size_t at = 0; set && at < set->count(); ++at)
      out += (at == 0 ? "" : " ") + std::string(set->text_at(at));
    return out;
  }

  /// Returns the ids of the file on the disk, ascending.
  [[nodiscard]] auto merged() const -> std::string {
    std::vector<std::int64_t> ids;
    value_of(vector_file::open(file()))->for_each([&ids](std::int64_t id, std::string_view) { ids.push_back(id); });
    std::ranges::sort(ids);
    std::string out;
    for (const std::int64_t id : ids) out += (out.empty() ? "" : " ") + std::to_string(id);
    return out;
  }

  braid::testing::scratch_folder folder;
};

/// What one process has of a project: registries, plans, a store, and a merger.
class merging_process {
 public:
  explicit merging_process(const merging_project& of, serve_log log = {},
                           std::function<void(vector_merger::merge_step)> on_step = {})
      : declared(value_of(registries::load(of.folder.path() / "registry", "dev"))),
        library(declared, {.root = of.folder.path()}),
        store(value_of(followed_store::open(of.place(), "ep_0001"))) {
    value_of(library.reload(of.folder.path() / "plans"));
    merger.emplace(std::vector<vector_merger::target>{{.endpoint_id = "ep_0002",
                                                       .file = of.file(),
                                                       .list = *declared.find_endpoint("ep_0002")->policy.changes,
                                                       .store = store.get()}},
                   library, log, std::move(on_step));
    world.emplace(declared, std::vector<rankd::store*>{store.get(), nullptr}, 1U);
  }

  /// Follows the store, as the follower of a server does, and merges if necessary.
  void look(braid::duration time = {}) {
    value_of(store->refresh());
    merger->look(braid::time_point(std::chrono::hours(1)) + time);
    value_of(store->refresh());
  }

  /// Returns the ids that a request finds, the nearest first.
  auto find() -> std::string { return find(*library.find("near")); }
  auto find(const plan_handle& plan) -> std::string {
    const ranking answer = world->on().run(
        world->ranker().rank(*plan, value_of(parse_request(R"({"candidates":[{"id":9,"v":[1,0]}]})", declared))));
    if (answer.error) return answer.error->code;
    std::string out;
    for (std::size_t row = 0; row < answer.rows.size(); ++row)
      out += (row == 0 ? "" : " ") + std::to_string(answer.rows.id(row));
    return out;
  }
  auto counts() -> merge_counts { return merger->counts().front(); }

  registries declared;
  plan_library library;
  std::unique_ptr<followed_store> store;
  std::optional<vector_merger> merger;
  std::optional<engine_world> world;
};

}  // namespace rankd::testing
