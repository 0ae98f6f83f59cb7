// tests/rankd/store/faulty_store_test.cpp: planted faults hit the batches that ask for their keys, and no others.
#include <rankd/store/faulty_store.hpp>

#include <rankd/store/load_store.hpp>

#include <braid/coro/spawn.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using rankd::testing::ask_store;

class loaded_store : public braid::testing::scratch_folder {
 public:
  loaded_store() {
    const std::vector files{write("data.ndjson", R"({"hash":"user:1","fields":{"country":"US"}}
{"list":"follow:1","values":[5]}
{"hash":"plain","fields":{"country":"CA"}}
)")};
    REQUIRE(load_store(path() / "db", files, {}).has_value());
    endpoint_entry endpoint;
    endpoint.endpoint_id = "ep_0001";
    endpoint.resolver = embedded_resolver{"db"};
    inner = *open_store(endpoint, path());
  }

  std::unique_ptr<store> inner;
};

/// The code of what every call says, "" where it is answered: of user:1, of follow:1 and of `plain`.
auto codes(store& from) -> std::vector<std::string> {
  braid::arena arena;
  const std::vector<std::int64_t> ids{1};
  const std::vector<std::string_view> keys{"plain"};
  const std::vector<std::string_view> fields{"country"};
  std::vector<std::string> out;
  const auto note = [&](const auto& answer) {
    out.push_back(answer ? std::string() : from.explain(answer.error()).code);
  };
  note(braid::sync_wait(ask_store(from, field_read{{"user:", ids}, "country"}, arena)));
  note(braid::sync_wait(ask_store(from, hash_read{{"user:", ids}}, arena)));
  note(braid::sync_wait(ask_store(from, list_read{{"follow:", ids}, 3}, arena)));
  note(braid::sync_wait(ask_store(from, named_read{.kind = read_kind::fields, .keys = keys, .fields = fields}, arena)));
  return out;
}

using all = std::vector<std::string>;

}  // namespace

TEST_CASE("a fault hits batches with a key that begins as it says") {
  const loaded_store loaded;
  const auto with = [&](std::vector<planted_fault> faults) {
    faulty_store faulty(*loaded.inner, "ep_0001", std::move(faults));
    return codes(faulty);
  };
  CHECK(with({}) == all{"", "", "", ""});
  CHECK(with({{"user:1", 0}}) == all{"store_timeout", "store_timeout", "", ""});
  CHECK(with({{"user:2", 0}}) == all{"", "", "", ""});
  CHECK(with({{"follow:", 1}, {"pl", 2}}) == all{"", "", "store_unreachable", "store_overloaded"});
  CHECK(with({{"", 3}}) == all{"store_corrupt", "store_corrupt", "store_corrupt", "store_corrupt"});
}

TEST_CASE("what the store itself refuses is explained by it") {
  const loaded_store loaded;
  faulty_store faulty(*loaded.inner, "ep_0001", {{"follow:", 4}});
  CHECK(faulty.explain(store_errc::wrong_type).code == "store_wrong_type");
  braid::arena arena;
  const std::vector<std::int64_t> ids{1};
  const auto refused = braid::sync_wait(ask_store(faulty, list_read{{"follow:", ids}, 3}, arena));
  REQUIRE_FALSE(refused);
  const store_failure why = faulty.explain(refused.error());
  CHECK(why.code == "store_error");
  CHECK(why.message == "endpoint `ep_0001`: a test has planted this fault");
}
