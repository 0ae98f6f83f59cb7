// tests/rankd/cli/registry_command_test.cpp: rankd registry as a person and as a program run it.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/registry/registries.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

/// The reference project with one more of everything, every field given.
auto full_project() -> const project_copy& {
  static const project_copy project;
  static const bool written = [] {
    project.write("registry/keys.toml", R"([[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false
[[key]]
key_id = 9
name = "old_score"
type = "float"
nullable = false
default = 0.5
doc = "Once."
status = "blocked"
allow_read = false
replaced_by = 1
)");
    project.write("registry/capabilities.toml", R"([[capability]]
id = "cap.rfc.0001.math.v1"
name = "math"
doc = "More operators."
payload_schema = { type = "object" }
[[capability]]
id = "cap.rfc.0002.free.v1"
name = "free"
)");
    return true;
  }();
  REQUIRE(written);
  return project;
}

auto registry_json(words arguments) -> std::string {
  arguments.insert(arguments.begin(), "registry");
  arguments.emplace_back("--json");
  const process_end end = rankd_in(full_project().path(), arguments);
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  CHECK(end.out.ends_with("}\n"));
  return end.out;
}

}  // namespace

TEST_CASE("programs get every field of every entry, in one order") {
  CHECK(has(registry_json({"keys"}),
            R"({"key_id":9,"name":"old_score","type":"float","nullable":false,"default":0.5,"status":"blocked",)"
            R"("allow_read":false,"allow_write":true,"replaced_by":1,"doc":"Once."}])"));
  CHECK(has(registry_json({"params"}), R"("params":[{"param_id":1,"name":"media_age_penalty_weight","type":"float",)"
                                       R"("nullable":false,"default":null,"status":"active","allow_read":true,)"
                                       R"("allow_write":true,"replaced_by":null,"doc":)"));
  CHECK(has(registry_json({"capabilities"}),
            R"("capabilities":[{"id":"cap.rfc.0001.math.v1","name":"math","status":"active",)"
            R"("payload_schema":{"type":"object"},"doc":"More operators."},)"
            R"({"id":"cap.rfc.0002.free.v1","name":"free","status":"active","payload_schema":null,"doc":""}])"));
  CHECK(has(registry_json({"endpoints"}),
            R"("endpoints":[{"endpoint_id":"ep_0001","name":"redis_default","kind":"redis",)"
            R"("resolver":{"type":"embedded","path":"build/data/reference.lmdb"},"policy":{"max_inflight":64,)"
            R"("connect_timeout_ms":1000,"request_timeout_ms":1000,"connections":1}},)"
            R"({"endpoint_id":"ep_0002","name":"http_api","kind":"http",)"
            R"("resolver":{"type":"static","host":"127.0.0.1","port":8081},)"));
}

TEST_CASE("the digests are those that the loader of registries computes and plans are held against") {
  const auto declared = registries::load(full_project().path() / "registry", "test");
  REQUIRE(declared);
  const json all = json::parse(registry_json({}));
  std::vector<std::string> names;
  const auto in_order = nlohmann::ordered_json::parse(registry_json({}));  // named: g++ 12 would end it too early
  for (const auto& item : in_order.items()) names.push_back(item.key());
  CHECK((names == words{"environment", "keys", "params", "capabilities", "endpoints", "digests"}));
  CHECK(all.at("digests").size() == declared->digests().size());
  for (const registry_digest& each : declared->digests()) CHECK(all.at("digests").at(each.name) == each.sha256);

  const json only = json::parse(registry_json({"--digests"}));
  CHECK(only.size() == 2);
  CHECK(only.at("digests") == all.at("digests"));
  const json one = json::parse(registry_json({"params", "--digests"}));
  CHECK(one.at("digests").size() == 1);
  const process_end table = rankd_in(full_project().path(), {"registry", "--digests"});
  CHECK(has(table.out, "\nendpoints     " + declared->digests()[3].sha256 + "\n"));
}

TEST_CASE("people get a table for each registry") {
  const process_end all = rankd_in(full_project().path(), {"registry"});
  CHECK(all.status == 0);
  for (const char* title : {"keys:\n", "\nparams:\n", "\ncapabilities:\n", "\nendpoints:\n"})
    CHECK(has(all.out, title));
  CHECK(has(all.out, " 9  old_score  float  no        0.5      blocked  write            1  Once.\n"));
  CHECK(has(all.out, "ep_0002  http_api       http   127.0.0.1:8081"));

  const process_end one = rankd_in(full_project().path(), {"registry", "capabilities"});
  CHECK(one.out ==
        "id                    name  status  payload schema     doc\n"
        "--------------------  ----  ------  -----------------  ---------------\n"
        "cap.rfc.0001.math.v1  math  active  {\"type\":\"object\"}  More operators.\n"
        "cap.rfc.0002.free.v1  free  active  -                  -\n");
  const project_copy plain;
  plain.write("registry/capabilities.toml", "");
  CHECK(has(rankd_in(plain.path(), {"registry"}).out, "\ncapabilities: none\n"));
}

TEST_CASE("a registry that does not exist is wrong usage, a registry that is wrong is told whole") {
  for (const char* registry : {"keyz", "features"})
    CHECK(rankd_in(full_project().path(), {"registry", registry}).status == 2);
  const project_copy broken;
  broken.write("registry/params.toml", "[[param]]\nparam_id = 0\n");
  const process_end end = rankd_in(broken.path(), {"registry"});
  CHECK(end.status == 1);
  CHECK(end.out.empty());
  CHECK(has(end.err, "params.toml#/param/0/param_id"));
  CHECK(has(end.err, "[missing_field]"));
}
