// tests/rankd/store/store_test.cpp: calls of a store are awaited; endpoints that name none are refused.
#include <rankd/store/store.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/load_store.hpp>

#include <braid/coro/spawn.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/scratch_folder.hpp>

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
using rankd::testing::ask_store;

auto embedded_endpoint(std::string path) -> endpoint_entry {
  endpoint_entry endpoint;
  endpoint.endpoint_id = "ep_0001";
  endpoint.resolver = endpoint_entry::embedded_resolver{std::move(path)};
  return endpoint;
}

constexpr std::string_view data = R"({"hash":"user:1","fields":{"country":"US","title":"One"}}
{"hash":"user:2","fields":{"title":"Two"}}
{"list":"follow:1","values":[5,6,7]}
{"list":"follow:2","values":["8","x",9]}
)";

}  // namespace

TEST_CASE("the embedded store answers all three commands") {
  const scratch_folder folder;
  REQUIRE(load_store(folder.path() / "db", std::vector{folder.write("data.ndjson", data)}, {}).has_value());
  const auto opened = open_store(embedded_endpoint("db"), folder.path());
  REQUIRE(opened.has_value());
  store& from = **opened;
  braid::arena arena;
  const std::vector<std::int64_t> ids = {2, 1, 3};

  const auto countries = braid::sync_wait(ask_store(from, field_read{{"user:", ids}, "country"}, arena));
  REQUIRE(countries.has_value());
  CHECK((*countries)[0] == std::nullopt);
  CHECK((*countries)[1] == "US");
  CHECK((*countries)[2] == std::nullopt);

  const auto hashes = braid::sync_wait(ask_store(from, hash_read{{"user:", ids}}, arena));
  REQUIRE(hashes.has_value());
  REQUIRE((*hashes)[1].size() == 2);
  CHECK((*hashes)[1][1] == hash_field{"title", "One"});
  CHECK((*hashes)[2].empty());

  const auto lists = braid::sync_wait(ask_store(from, list_read{{"follow:", ids}, 2}, arena));
  REQUIRE(lists.has_value());
  CHECK(lists->malformed == 1);
  CHECK(std::vector(lists->lists[0].begin(), lists->lists[0].end()) == std::vector<std::int64_t>{8});
  CHECK(std::vector(lists->lists[1].begin(), lists->lists[1].end()) == std::vector<std::int64_t>{5, 6});
  CHECK(lists->lists[2].empty());

  const auto wrong = braid::sync_wait(ask_store(from, field_read{{"follow:", ids}, "country"}, arena));
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error() == store_errc::wrong_type);
  CHECK(from.explain(wrong.error()).code == "store_wrong_type");
  const std::string place = "endpoint `ep_0001` at `" + (folder.path() / "db").string() + "`: ";
  CHECK(from.explain(store_errc::corrupt).code == "store_corrupt");
  CHECK(from.explain(store_errc::corrupt).message == place + "the store's file is damaged");
  const store_failure other = from.explain(braid::errc::closed);
  CHECK(other.code == "store_error");
  CHECK(other.message.starts_with(place + "the store refused"));
}

TEST_CASE("a store whose scrub has found damage answers nothing, and names the block") {
  const scratch_folder folder;
  REQUIRE(load_store(folder.path() / "db", std::vector{folder.write("data.ndjson", data)}, {}).has_value());
  const auto opened = open_store(embedded_endpoint("db"), folder.path());
  REQUIRE(opened.has_value());
  store& from = **opened;
  CHECK(from.scrub(1 << 20).ends_round);
  CHECK(from.damage().empty());
  std::fstream file(data_file(folder.path() / "db", 1), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(1).put('x').flush();  // in the number of the page, which nobody reads
  from.scrub(1 << 20);
  CHECK(from.damage().starts_with("data-1.mdb: block 0 (bytes 0 to "));

  braid::arena arena;
  const std::vector<std::int64_t> ids = {1};
  const auto hash = braid::sync_wait(ask_store(from, hash_read{{"user:", ids}}, arena));
  const auto field = braid::sync_wait(ask_store(from, field_read{{"user:", ids}, "country"}, arena));
  const auto list = braid::sync_wait(ask_store(from, list_read{{"follow:", ids}, 2}, arena));
  REQUIRE_FALSE(hash.has_value());
  REQUIRE_FALSE(field.has_value());
  REQUIRE_FALSE(list.has_value());
  const store_failure told = from.explain(hash.error());
  CHECK(told.code == "store_corrupt");
  CHECK(told.message.ends_with(from.damage()));
}

TEST_CASE("a store that keeps no files here has nothing to scrub") {
  endpoint_entry remote = embedded_endpoint("db");
  remote.resolver = endpoint_entry::static_resolver{"127.0.0.1", 1};
  const auto opened = open_store(remote, ".");
  REQUIRE(opened.has_value());
  CHECK((*opened)->scrub(1 << 20).bytes == 0);
  CHECK((*opened)->damage().empty());
}

TEST_CASE("a static resolver gives a store that asks nobody before it is asked") {
  endpoint_entry remote = embedded_endpoint("db");
  remote.resolver = endpoint_entry::static_resolver{"127.0.0.1", 1};
  const auto opened = open_store(remote, ".");
  REQUIRE(opened.has_value());
  CHECK((*opened)
            ->explain(braid::errc::deadline_exceeded)
            .message.starts_with("endpoint `ep_0001` at redis://127.0.0.1:1/0: "));
  remote.resolver = endpoint_entry::static_resolver{"no.such.host.invalid", 1};
  const auto unknown = open_store(remote, ".");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().front().code == "unknown_host");
  CHECK(unknown.error().front().source == "endpoint `ep_0001`");
}

TEST_CASE("an endpoint of kind http is a server of models, which is asked nothing before a plan asks it") {
  endpoint_entry web = embedded_endpoint("db");
  web.kind = endpoint_entry::kind_type::http;
  web.resolver = endpoint_entry::static_resolver{"::1", 1};
  const auto opened = open_store(web, ".");
  REQUIRE(opened.has_value());
  CHECK(
      (*opened)->explain(braid::errc::deadline_exceeded).message.starts_with("endpoint `ep_0001` at http://[::1]:1: "));
  CHECK((*opened)->explain(braid::errc::deadline_exceeded).code == "model_timeout");
}

TEST_CASE("an empty list or hash is as absent as with Redis, which cannot hold one") {
  const scratch_folder folder;
  constexpr std::string_view empties = R"({"list":"user:1","values":[]}
{"hash":"follow:1","fields":{}}
)";
  REQUIRE(load_store(folder.path() / "db", std::vector{folder.write("data.ndjson", empties)}, {}).has_value());
  const auto from = open_store(embedded_endpoint("db"), folder.path());
  REQUIRE(from.has_value());
  braid::arena arena;
  const std::vector<std::int64_t> ids = {1};
  CHECK(braid::sync_wait(ask_store(*(*from), field_read{{"user:", ids}, "country"}, arena)).value()[0] == std::nullopt);
  CHECK(braid::sync_wait(ask_store(*(*from), hash_read{{"user:", ids}}, arena)).value()[0].empty());
  CHECK(braid::sync_wait(ask_store(*(*from), list_read{{"follow:", ids}, 9}, arena)).value().lists[0].empty());
}

TEST_CASE("the refusals of the embedded store are passed on") {
  const scratch_folder folder;
  CHECK(open_store(embedded_endpoint("absent"), folder.path()).error().front().code == "store_missing");
}
