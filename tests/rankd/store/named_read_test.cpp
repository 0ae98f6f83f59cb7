// tests/rankd/store/named_read_test.cpp: values under named keys: the embedded store, a server and a cluster agree.
#include <rankd/store/named_read.hpp>

#include <rankd/store/detail/redis_named.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_store.hpp>
#include <rankd/store/store.hpp>

#include <tests/rankd/store/asking.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/runtime/runtime.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::real_cluster;
using braid::testing::redis_server;
using braid::testing::scratch_folder;
using braid::testing::watchdog;
using rankd::testing::ask_store;

namespace {

using names = std::vector<std::string_view>;

constexpr std::string_view data = R"({"list":"shelf:spring","values":[5,6,7,-8,9]}
{"list":"shelf:odd","values":["8","x",9," 1","99999999999999999999"]}
{"list":"shelf:empty","values":[]}
{"sorted_set":"trending:US","scores":{"17":3.5,"9":3.5,"23":-1,"4":1e300,"5":0.1,"x":2,"-3":3.5}}
{"sorted_set":"trending:{DE}","scores":{"1":9007199254740993}}
{"sorted_set":"trending:empty","scores":{}}
{"set":"bought:7","members":[42,"17",9,"nine",-5,1000]}
{"set":"bought:8","members":[]}
{"set":"codes","members":["007","7","+7"]}
{"hash":"product:17","fields":{"price":"9.5","unit-price":"0.5"}}
{"list":"names:list","values":["b","","a/b","007",7,"a\u0000","b"]}
{"set":"names:set","members":["b","a","\u00e4","B","a10","a9"]}
{"sorted_set":"names:ranked","scores":{"x":1,"\u00e4":1,"A":1,"":2,"z":3}}
{"string":"price:17","value":"9.5"}
{"string":"price:18","value":""}
{"string":"price:{DE}","value":"\u0000 \u20ac"}
)";

/// One store of each kind with the same data.
struct three_stores {
  scratch_folder folder;
  redis_server server;
  real_cluster nodes;
  std::unique_ptr<braid::runtime> on = braid::runtime::create({.workers = 1}).value();
  std::unique_ptr<store> embedded;
  std::unique_ptr<redis_store> remote;
  std::unique_ptr<redis_store> spread;

  explicit three_stores(std::string_view lines) {
    const std::vector files{folder.write("data.ndjson", lines)};
    REQUIRE(load_store(folder.path() / "db", files, {}).has_value());
    endpoint_entry endpoint;
    endpoint.endpoint_id = "ep_0001";
    endpoint.resolver = embedded_resolver{"db"};
    embedded = open_store(endpoint, folder.path()).value();

    braid::redis_options one;
    one.port = server.port();
    one.request_timeout = 20s;  // a busy machine is no fault
    one.connect_timeout = 20s;
    remote = made(one, files);
    const braid::redis_cluster::options all = nodes.options();
    redis_address place(all.connection);
    place.nodes = all.nodes;
    spread = made(place, files);
  }
  ~three_stores() { on.reset(); }  // its loop ends before the stores

  static auto made(const redis_address& place, const std::vector<std::filesystem::path>& files)
      -> std::unique_ptr<redis_store> {
    const auto loaded = load_redis(place, files, {});
    REQUIRE_MESSAGE(loaded.has_value(), (loaded ? "" : loaded.error().to_text()));
    return std::make_unique<redis_store>(redis_store_options{.endpoint_id = "ep_0001", .server = place});
  }

  /// What all three answer, where they agree.
  auto ask(const named_read& what) -> std::string {
    const std::string first = said_by(*embedded, what);
    CHECK(said_by(*remote, what) == first);
    CHECK(said_by(*spread, what) == first);
    return first;
  }

 private:
  auto said_by(store& from, const named_read& what) -> std::string {
    braid::arena memory;
    const auto found = on->run(ask_store(from, what, memory));
    if (!found) return from.explain(found.error()).code;
    std::string out;
    for (std::size_t key = 0; key < found->of_key.size(); ++key) {
      if (key != 0) out += " | ";
      const auto items = found->of_key[key];
      for (const stored_item& each : items) out += (out.empty() || out.ends_with(' ') ? "" : " ") + text_of(each, what);
    }
    return found->malformed == 0 ? out : out + " malformed " + std::to_string(found->malformed);
  }

  static auto text_of(const stored_item& item, const named_read& what) -> std::string {
    if (!item.is_there) return "-";
    if (what.kind == read_kind::fields) return std::string(item.text);
    if (what.kind == read_kind::strings) return "<" + std::string(item.text) + ">";
    if (what.kind == read_kind::members) return "yes";
    std::string score = std::to_string(item.score);
    score.resize(score.find('.') + 3);
    if (what.kind == read_kind::scores) return score;
    const std::string id = what.ids == id_form::texts ? std::string(item.text) : std::to_string(item.id);
    return id + (what.kind == read_kind::sorted_set ? "=" + score : "");
  }
};

auto shared_stores() -> three_stores& {
  static three_stores all(data);
  return all;
}

}  // namespace

TEST_CASE("elements of lists, from any place on") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const names keys{"shelf:spring", "shelf:odd", "shelf:none", "shelf:empty"};
  CHECK(all.ask({.kind = read_kind::list, .keys = keys, .count = 2}) == "5 6 | 8 |  |  malformed 1");
  CHECK(all.ask({.kind = read_kind::list, .keys = keys, .offset = 3, .count = 10}) == "-8 9 |  |  |  malformed 2");
  CHECK(all.ask({.kind = read_kind::list, .keys = keys, .offset = 9, .count = 4'000'000'000}) == " |  |  | ");
  CHECK(all.ask({.kind = read_kind::list, .keys = {}, .count = 1}).empty());
}

TEST_CASE("ids that are texts: what is none is malformed, and those of a set are in the order of their bytes") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const auto ask = [&all](read_kind kind, std::string_view key, std::uint32_t count = 10) {
    const names keys{key};
    return all.ask({.kind = kind, .keys = keys, .count = count, .ids = id_form::texts});
  };
  CHECK(ask(read_kind::list, "names:list") == "b a/b 007 7 b malformed 2");
  CHECK(ask(read_kind::list, "shelf:spring") == "5 6 7 -8 9");
  CHECK(ask(read_kind::set, "names:set") == "B a a10 a9 b \u00e4");
  CHECK(ask(read_kind::set, "names:set", 2) == "B a");
  CHECK(ask(read_kind::set, "codes") == "+7 007 7");
  CHECK(ask(read_kind::sorted_set, "names:ranked") == "A=1.00 x=1.00 \u00e4=1.00 z=3.00 malformed 1");
}

TEST_CASE("members of sorted sets, by their scores and then by their bytes, forwards and backwards") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const names keys{"trending:US"};
  constexpr auto kind = read_kind::sorted_set;
  constexpr auto down = score_order::descending;
  CHECK(all.ask({.kind = kind, .keys = keys, .count = 5}) == "23=-1.00 5=0.10 -3=3.50 17=3.50 malformed 1");
  CHECK(all.ask({.kind = kind, .keys = keys, .offset = 3, .count = 2}) == "-3=3.50 17=3.50");
  CHECK(all.ask({.kind = kind, .keys = keys, .offset = 1, .count = 2, .order = down}) == "9=3.50 17=3.50");
  CHECK(all.ask({.kind = kind, .keys = keys, .count = 9, .range = score_range{.min = 0.1, .max = 3.5}}) ==
        "5=0.10 -3=3.50 17=3.50 9=3.50 malformed 1");
  CHECK(all.ask({.kind = kind, .keys = keys, .offset = 1, .count = 2, .range = score_range{.min = 3}}) ==
        "17=3.50 9=3.50");
  CHECK(all.ask({.kind = kind, .keys = keys, .offset = 1, .count = 2, .order = down, .range = score_range{.max = 4}}) ==
        "17=3.50 -3=3.50");
  CHECK(all.ask({.kind = kind, .keys = keys, .count = 2, .range = score_range{.min = 4, .max = 3}}).empty());
  const names others{"trending:{DE}", "trending:empty", "none"};
  CHECK(all.ask({.kind = kind, .keys = others, .count = 2}) == "1=9007199254740992.00 |  | ");
}

TEST_CASE("members of sets in the order of their ids") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const names keys{"bought:7", "bought:8", "bought:9", "codes"};
  CHECK(all.ask({.kind = read_kind::set, .keys = keys, .count = 3}) == "-5 9 17 |  |  | 7 malformed 3");
}

TEST_CASE("fields, membership and scores") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const names hashes{"product:17", "product:18"};
  const names fields{"unit-price", "none", "price"};
  CHECK(all.ask({.kind = read_kind::fields, .keys = hashes, .fields = fields}) == "0.5 - 9.5 | - - -");
  const names ids{"17", "18", "nine", "017", ""};
  const std::vector<std::span<const std::string_view>> asked{ids, std::span(ids).first(2)};
  const names sets{"bought:7", "bought:8"};
  CHECK(all.ask({.kind = read_kind::members, .keys = sets, .members = asked}) == "yes - yes - - | - -");
  const names sorted{"trending:US", "trending:DE"};
  CHECK(all.ask({.kind = read_kind::scores, .keys = sorted, .members = asked}) == "3.50 - - - - | - -");
}

TEST_CASE("more members than one command asks about") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  std::vector<std::string> texts;
  for (std::size_t at = 0; at <= 2 * detail::max_members_asked; ++at) texts.push_back(std::to_string(at));
  const names ids(texts.begin(), texts.end());
  const std::vector<std::span<const std::string_view>> asked{std::span<const std::string_view>(), ids};
  const names sets{"bought:7", "bought:7"};
  const std::string said = all.ask({.kind = read_kind::members, .keys = sets, .members = asked});
  std::size_t count = 0;
  for (auto at = said.find("yes"); at != std::string::npos; at = said.find("yes", at + 1)) ++count;
  CHECK(count == 4);
  CHECK(said.size() == 3 + 2 * ids.size() - 1 + 4 * 2);
}

TEST_CASE("strings, in any order and of any slot, and nothing for a key of another kind") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const names keys{"price:18", "price:{DE}", "price:17", "price:none", "product:17", "shelf:empty", "price:17"};
  const std::string odd("<\0 \u20ac>", 7);
  CHECK(all.ask({.kind = read_kind::strings, .keys = keys}) == "<> | " + odd + " | <9.5> | - | - | - | <9.5>");
  CHECK(all.ask({.kind = read_kind::strings, .keys = {}}).empty());
}

TEST_CASE("more strings than one command reads") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  std::vector<std::string> texts;
  for (std::size_t at = 0; at <= 2 * detail::max_keys_asked; ++at)
    texts.push_back(at % 1000 == 999 ? "price:17" : "price:none:" + std::to_string(at) + (at % 2 == 0 ? "{DE}" : ""));
  const names keys(texts.begin(), texts.end());
  const std::string said = all.ask({.kind = read_kind::strings, .keys = keys});
  CHECK(said.size() == keys.size() + 3 * (keys.size() - 1) + 2 * 4);
  CHECK(said.find("<9.5>") == 999 * 4);
}

TEST_CASE("the keys of a command for strings are of one slot in a cluster") {
  const names keys{"a{1}", "b{2}", "c{1}", "d{2}", "e{1}"};
  const named_read what{.kind = read_kind::strings, .keys = keys};
  const auto count = [&](detail::key_spread spread) {
    const std::string bytes(detail::make_commands(what, spread).bytes());
    std::size_t found = 0;
    for (auto at = bytes.find("MGET"); at != std::string::npos; at = bytes.find("MGET", at + 1)) ++found;
    return found;
  };
  CHECK(count(detail::key_spread::one_server) == 1);
  CHECK(count(detail::key_spread::by_slot) == 2);
}

TEST_CASE("a key that holds another kind fails the batch") {
  const watchdog guard(120s);
  three_stores& all = shared_stores();
  const names ids{"1"};
  const names fields{"price"};
  const std::vector<std::span<const std::string_view>> asked{ids};
  for (const std::string_view key : {"shelf:spring", "trending:US", "bought:7", "product:17", "price:17"}) {
    CAPTURE(key);
    const names keys{key};
    int refused = 0;
    for (const read_kind kind : {read_kind::list, read_kind::sorted_set, read_kind::set, read_kind::fields,
                                 read_kind::members, read_kind::scores})
      if (all.ask({.kind = kind, .keys = keys, .count = 1, .fields = fields, .members = asked}) == "store_wrong_type")
        ++refused;
    const int others = key == "price:17" ? 6 : 5;
    CHECK(refused == (key == "trending:US" || key == "bought:7" ? 4 : others));
  }
}
