// tests/rankd/cli/served_stores_test.cpp: which stores and files of a project the parts of a server work on.
#include <rankd/cli/serve/served_stores.hpp>

#include <rankd/registry/file.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

/// The example of vectors, whose file has another policy.
auto open_example(const scratch_folder& folder, const std::string& policy) -> workspace {
  fs::copy("examples/similar", folder.path(), fs::copy_options::recursive);
  const std::string file = read_text_file("examples/similar/registry/endpoints.dev.toml").value();
  folder.write("registry/endpoints.dev.toml", file.substr(0, file.find("policy = ")) + policy);
  return workspace::open(folder.path()).value();
}

}  // namespace

TEST_CASE("a server follows embedded stores, and merges into files that name their changes") {
  const scratch_folder folder;
  const workspace opened = open_example(folder, R"([endpoint.policy.changes]
endpoint = "ep_0001"
set = "changed_products"
key = "product:{id}"
field = "embedding"
)");
  const open_stores stores = open_all_stores(opened).value();
  REQUIRE(list_scrubbed(opened, stores).size() == 1);
  CHECK(list_scrubbed(opened, stores).front().endpoint_id == "ep_0001");
  const auto followed = list_followed(opened, stores);
  REQUIRE(followed.size() == 1);
  const auto merged = list_merged(opened, followed);
  REQUIRE(merged.size() == 1);
  CHECK(merged.front().endpoint_id == "ep_0002");
  CHECK(merged.front().file == folder.path() / "vectors/products.rvec");
  CHECK(merged.front().list.set == "changed_products");
  CHECK(merged.front().store == followed.front().follows);
  CHECK(list_merged(opened, {}).empty());

  const shadow_stores shadows = open_shadow_stores(opened, stores).value();
  CHECK(shadows.own.empty());
  CHECK(shadows.all == stores.pointers());
}

TEST_CASE("a file that names no changes is not merged") {
  const scratch_folder folder;
  const workspace opened = open_example(folder, "");
  const open_stores stores = open_all_stores(opened).value();
  CHECK(list_merged(opened, list_followed(opened, stores)).empty());
}
