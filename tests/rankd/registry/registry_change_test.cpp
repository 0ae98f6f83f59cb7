// tests/rankd/registry/registry_change_test.cpp: what of new registries a running server takes over.
#include <rankd/registry/registry_change.hpp>
#include <tests/support/scratch_folder.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using rankd::registries;
using rankd::registry_change;

namespace {

struct texts {
  std::string keys =
      "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n"
      "[[key]]\nkey_id = 7\nname = \"score\"\ntype = \"float\"\nnullable = true\n";
  std::string params = "[[param]]\nparam_id = 4\nname = \"boost\"\ntype = \"float\"\nnullable = true\n";
  std::string capabilities = "[[capability]]\nid = \"cap.rfc.0001.math.v1\"\nname = \"math\"\n";
  std::string endpoints =
      "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"main\"\nkind = \"http\"\n"
      "resolver = { type = \"static\", host = \"127.0.0.1\", port = 80 }\npolicy = { max_inflight = 9 }\n";

  auto with(std::string texts::* file, std::string_view from, std::string_view to) const -> texts {
    texts out = *this;
    const auto at = (out.*file).find(from);
    REQUIRE(at != std::string::npos);
    (out.*file).replace(at, from.size(), to);
    return out;
  }
};

auto loaded(const texts& from) -> registries {
  const braid::testing::scratch_folder folder;
  folder.write("keys.toml", from.keys);
  folder.write("params.toml", from.params);
  folder.write("capabilities.toml", from.capabilities);
  folder.write("endpoints.test.toml", from.endpoints);
  auto read = registries::load(folder.path(), "test");
  REQUIRE(read);
  return std::move(*read);
}

const texts basis;

/// Whether the new ones serve from now on.
auto takes(const texts& read) -> bool {
  const auto now = std::make_shared<const registries>(loaded(basis));
  const auto change = rankd::change_registries(now, loaded(read));
  REQUIRE(change);
  CHECK(change->until_restart.empty());
  return change->next != now;
}

/// "code message" of each diagnostic.
auto refusals(const texts& read) -> std::vector<std::string> {
  const auto change = rankd::change_registries(std::make_shared<const registries>(loaded(basis)), loaded(read));
  std::vector<std::string> out;
  if (!change)
    for (const braid::diagnostic& each : change.error()) out.push_back(each.code + " " + each.message);
  return out;
}

}  // namespace

TEST_CASE("what plans or requests notice is taken over") {
  CHECK(takes(basis.with(&texts::keys, "\"score\"", "\"points\"")));
  CHECK(takes(basis.with(&texts::keys, "nullable = true\n", "nullable = true\nstatus = \"deprecated\"\n")));
  CHECK(takes(basis.with(&texts::params, "nullable = true\n", "nullable = true\ndefault = 1.0\n")));
  CHECK(takes(basis.with(&texts::params, "nullable = true\n", "nullable = true\nallow_write = false\n")));
  CHECK(takes(basis.with(&texts::capabilities, "\"math\"\n", "\"math\"\nstatus = \"blocked\"\n")));
  CHECK(takes(basis.with(&texts::endpoints, "\"main\"", "\"other\"")));
}

TEST_CASE("what they do not notice leaves the registries the same object") {
  CHECK_FALSE(takes(basis));
  CHECK_FALSE(takes(basis.with(&texts::keys, "nullable = true\n", "nullable = true\ndoc = \"Of all.\"\n")));
  CHECK_FALSE(takes(basis.with(&texts::params, "nullable = true\n", "nullable = true\ndoc = \"More.\"\n")));
  CHECK_FALSE(takes(basis.with(&texts::capabilities, "\"math\"", "\"maths\"")));
}

TEST_CASE("endpoints keep their places and policies until a restart") {
  const auto now = std::make_shared<const registries>(loaded(basis));
  texts moved = basis.with(&texts::endpoints, "port = 80 ", "port = 81 ").with(&texts::keys, "\"score\"", "\"points\"");
  auto change = rankd::change_registries(now, loaded(moved));
  REQUIRE(change);
  CHECK(change->until_restart ==
        std::vector<std::string>{"endpoint `ep_0001` keeps its place until the server is restarted"});
  CHECK(std::get<rankd::static_resolver>(change->next->endpoints()[0].resolver).port == 80);
  CHECK(change->next->find_key("points") != nullptr);

  change = rankd::change_registries(now, loaded(basis.with(&texts::endpoints, "max_inflight = 9", "max_inflight = 8")));
  REQUIRE(change);
  CHECK(change->until_restart ==
        std::vector<std::string>{"endpoint `ep_0001` keeps its policy until the server is restarted"});
  CHECK(change->next == now);
}

TEST_CASE("other endpoints and ids of another type are refused") {
  using lines = std::vector<std::string>;
  CHECK(refusals(basis.with(&texts::endpoints, "ep_0001", "ep_0002")) ==
        lines{"needs_restart endpoint `ep_0001` is no longer declared", "needs_restart endpoint `ep_0002` is new"});
  CHECK(refusals(basis.with(&texts::endpoints, "\"http\"", "\"redis\"")) ==
        lines{"needs_restart endpoint `ep_0001` is now of kind redis"});
  CHECK(refusals(basis.with(&texts::keys, "\"int\"", "\"string\"")) ==
        lines{"needs_restart ids are now of type string"});
}
