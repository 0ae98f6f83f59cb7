// tests/rankd/op/column_check_test.cpp: records that lack what plans read, and values that are none of their keys.
#include <rankd/op/column_check.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto declared() -> const registries& {
  static const registries once = registries_of(
      "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n"
      "[[key]]\nkey_id = 2\nname = \"pric\"\ntype = \"float\"\nnullable = true\n"
      "[[key]]\nkey_id = 3\nname = \"stock\"\ntype = \"int\"\nnullable = false\ndefault = 0\n"
      "[[key]]\nkey_id = 4\nname = \"place\"\ntype = \"vector\"\ndimensions = 2\nnullable = true\n"
      "[[key]]\nkey_id = 5\nname = \"brand\"\ntype = \"string\"\nnullable = true\n"
      "[[key]]\nkey_id = 6\nname = \"is_new\"\ntype = \"bool\"\nnullable = true\n",
      "[[param]]\nparam_id = 1\nname = \"shop\"\ntype = \"string\"\nnullable = true\n",
      "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"store\"\nkind = \"embedded\"\n"
      "resolver = { type = \"embedded\", path = \"store\" }\n"
      "[[endpoint]]\nendpoint_id = \"ep_0002\"\nname = \"other\"\nkind = \"embedded\"\n"
      "resolver = { type = \"embedded\", path = \"other\" }\n");
  return once;
}

/// A plan of one operator that adds columns to the rows of a request.
auto plan_with(const std::string& name, const std::string& op, const std::string& params) -> plan {
  const std::string text = R"({"schema_version":1,"plan_name":")" + name +
                           R"(","nodes":[{"node_id":"a","op":"core::candidates","inputs":[],"params":{"keys":[]}},)"
                           R"({"node_id":"b","op":")" +
                           op + R"(","inputs":["a"],"params":{"endpoint":"ep_0001",)" + params +
                           R"(}}],"outputs":["b"]})";
  auto loaded = parse_plan(text, name + ".json", {all_op_shapes(), declared()});
  REQUIRE_MESSAGE(loaded.has_value(), loaded.error().to_text());
  return std::move(*loaded);
}

auto products(const std::string& keys, const std::string& name = "home") -> plan {
  return plan_with(name, "core::hash", R"("key":"product:{id}","keys":)" + keys);
}

using texts = std::vector<std::string>;

auto messages(const braid::diagnostics& all) -> texts {
  texts out;
  for (const braid::diagnostic& each : all)
    out.push_back((each.source.empty() ? "" : each.source + ": ") + each.message + " [" + each.code + "]" +
                  (each.hint.empty() ? "" : "; " + each.hint));
  return out;
}

/// Loads lines, and shows them to a check.
struct shown_data {
  braid::testing::scratch_folder folder;
  std::vector<std::filesystem::path> files;

  void show_to(column_check& check, const std::string& lines) {
    files = {folder.write("data.ndjson", lines)};
    const auto done = load_store(folder.path() / "store", files,
                                 {.first_map_bytes = 1, .seen = [&](std::string_view key, const record_view& record) {
                                    check.see(key, record);
                                  }});
    REQUIRE(done.has_value());
  }
};

const std::string two_products =
    "{\"hash\":\"product:7\",\"fields\":{\"price\":\"1.5\",\"brand\":\"Fell\"}}\n"
    "{\"hash\":\"product:8\",\"fields\":{\"price\":\"2\",\"stock\":\"3\"}}\n"
    "{\"hash\":\"user:8\",\"fields\":{\"pric\":\"2\"}}\n{\"list\":\"product:9\",\"values\":[]}\n";

}  // namespace

TEST_CASE("a column that no record of the form has is named with the plans that read it and the columns there are") {
  column_check check;
  check.add(products("[2,3]"), declared());
  check.add(products("[2]", "feed"), declared());
  shown_data().show_to(check, two_products);
  CHECK((messages(check.missing_columns()) == texts{"no record of `product:*` has `pric`, which plans feed, home read; "
                                                    "these records have the columns brand, price, "
                                                    "stock [missing_column]; did you mean `price`?"}));
  CHECK(check.missing_records().empty());
  CHECK(check.malformed_values().empty());
}

TEST_CASE("keys that no plan reads are named by their beginnings, with the first of each and how many there are") {
  column_check check;
  check.add(products("[2]"), declared());
  check.add(plan_with("b", "core::strings", R"("key":"sale:{id}","out_key":2)"), declared());
  shown_data data;
  data.show_to(
      check,
      "{\"hash\":\"product:7\",\"fields\":{\"pric\":\"1.5\"}}\n{\"list\":\"product:8\",\"values\":[1]}\n"
      "{\"hash\":\"prodct:7\",\"fields\":{\"pric\":\"2\"}}\n{\"hash\":\"prodct:8\",\"fields\":{\"pric\":\"x\"}}\n"
      "{\"string\":\"sale:1\",\"value\":\"2 EUR\"}\n{\"set\":\"all\",\"members\":[\"a\"]}\n"
      "{\"list\":\"media:1\",\"values\":[1]}\n{\"hash\":\"user:1\",\"fields\":{\"a\":\"b\"}}\n");
  CHECK((messages(check.unread_records()) ==
         texts{"1 record of `all`, such as `all`, is read by no plan; the plans read product:*, sale:* [unread_record]",
               "2 records of `prodct:*`, such as `prodct:7`, are read by no plan; the plans read product:*, sale:* "
               "[unread_record]; did you mean `product:`?"}));
  CHECK(check.count().unread_records == 3);
  CHECK(check.count().malformed_values == 1);
  CHECK(check.count().missing_columns == 0);
}

TEST_CASE("operators read the keys that they say they read") {
  const auto read_by = [](const std::string& op, const std::string& params) {
    column_check check;
    check.add(plan_with("p", op, params), declared());
    shown_data().show_to(check, "{\"list\":\"x:1\",\"values\":[1]}\n");
    const std::string message(check.unread_records().begin()->message);
    return message.substr(message.find("the plans read "));
  };
  CHECK(read_by("core::media", R"("fanout":1)") == "the plans read media:*");
  CHECK(read_by("core::follow", R"("fanout":1)") == "the plans read follow:*, user:*");
  CHECK(read_by("core::recommendation", R"("fanout":1)") == "the plans read recommendation:*, user:*");
  CHECK(read_by("core::fetch_features", R"("keys":[2])") == "the plans read features:*");
  CHECK(read_by("core::fetch_features", R"("keys":[2],"hash":"stats")") == "the plans read stats:*");
  CHECK(read_by("core::set", R"("count":1,"key":"a:{P.shop}:{id}")") == "the plans read a:*:*");
}

TEST_CASE("without a plan that reads a store no key is unread, and beginnings beyond a limit are counted together") {
  column_check none;
  shown_data().show_to(none, two_products);
  CHECK(none.unread_records().empty());
  column_check check;
  check.add(products("[2]"), declared());
  std::string lines;
  for (int at = 100; at < 130; ++at) lines += "{\"list\":\"k" + std::to_string(at) + ":1\",\"values\":[1]}\n";
  shown_data().show_to(check, lines);
  const braid::diagnostics all = check.unread_records();
  CHECK(all.size() == 21);
  CHECK(all.begin()->message.starts_with("10 records of other keys, such as `k120:1`, are read by no plan"));
  CHECK(check.count().unread_records == 30);
}

TEST_CASE("one record with the column is enough") {
  column_check check;
  check.add(products("[2,3]"), declared());
  shown_data().show_to(check, two_products + "{\"hash\":\"product:10\",\"fields\":{\"pric\":\"2\"}}\n");
  CHECK(check.missing_columns().empty());
}

TEST_CASE("keys are compared as templates spell them") {
  const auto missing = [](const std::string& text, const std::string& key) {
    column_check check;
    check.add(plan_with("p", "core::hash", R"("key":")" + text + R"(","keys":[2])"), declared());
    shown_data().show_to(check, R"({"hash":")" + key + R"(","fields":{"x":"1"}})" + "\n");
    return check.missing_records().empty();
  };
  CHECK(missing("a:{id}:b:{P.shop}/end", "a:1:b:x%20y/end"));
  CHECK(missing("global", "global"));
  CHECK(missing("{id}", "7"));
  CHECK_FALSE(missing("a:{id}:b:{P.shop}/end", "a:1:2:b:x/end"));
  CHECK_FALSE(missing("a:{id}:b:{P.shop}/end", "a:1:b:x:y/end"));
  CHECK_FALSE(missing("a:{id}:b:{P.shop}/end", "a:1:b:x"));
  CHECK_FALSE(missing("global", "global2"));
  CHECK_FALSE(missing("product:{id}", "prodct:7"));
}

TEST_CASE("fetch_features reads features of the id, or of another hash, and hash and strings what they name") {
  column_check check;
  check.add(plan_with("a", "core::fetch_features", R"("keys":[2])"), declared());
  check.add(plan_with("b", "core::fetch_features", R"("keys":[3],"hash":"stats")"), declared());
  check.add(plan_with("c", "core::hash", R"("key":"x:{id}","keys":[3],"fields":["left"])"), declared());
  check.add(plan_with("d", "core::strings", R"("key":"sale:{id}","out_key":2)"), declared());
  CHECK(
      (messages(check.missing_records()) == texts{"there is no hash `features:*`, which plan a reads [missing_record]; "
                                                  "compare the keys of the data with the option `key` in the plan",
                                                  "there is no hash `stats:*`, which plan b reads [missing_record]; "
                                                  "compare the keys of the data with the option `key` in the plan",
                                                  "there is no hash `x:*`, which plan c reads [missing_record]; "
                                                  "compare the keys of the data with the option `key` in the plan",
                                                  "there is no string `sale:*`, which plan d reads [missing_record]; "
                                                  "compare the keys of the data with the option `key` in the plan"}));
  shown_data().show_to(check,
                       "{\"hash\":\"x:1\",\"fields\":{\"stock\":\"1\"}}\n{\"string\":\"sale:1\",\"value\":\"cheap\"}\n"
                       "{\"hash\":\"features:1\",\"fields\":{\"pric\":\"1\"}}\n");
  CHECK(check.missing_records().size() == 1);
  CHECK((
      messages(check.missing_columns()) ==
      texts{
          "no record of `x:*` has `left`, which plan c reads; these records have the columns stock [missing_column]"}));
  CHECK((messages(check.malformed_values()) ==
         texts{"`sale:1`: `cheap`, no float, so rows have null there; it was loaded from line 2 of its file "
               "[malformed_value]; write a number with a decimal point: \"1.5\""}));
}

TEST_CASE("a value that is none of its key's type is named with its record, file and line") {
  shown_data data;
  data.files.push_back(data.folder.path() / "data.ndjson");
  column_check check({.files = data.files});
  check.add(products("[2,3,4,5,6]"), declared());
  const std::string file = data.files.front().string();
  data.show_to(check,
               "{\"hash\":\"product:7\",\"fields\":{\"pric\":\"12 EUR\",\"stock\":\"2\"}}\n\n"
               "{\"hash\":\"product:8\",\"fields\":{\"pric\":\"-1e3\",\"stock\":\"2.0\",\"is_new\":\"yes\"}}\n"
               "{\"hash\":\"product:9\",\"fields\":{\"place\":\"[1,2]\",\"is_new\":\"0\",\"brand\":\"Fell\"}}\n");
  CHECK((
      messages(check.malformed_values()) ==
      texts{
          file + ": line 1: `product:7`: `pric` is `12 EUR`, no float, so rows have null there "
                 "[malformed_value]; write a number with a decimal point: \"1.5\"",
          file + ": line 3: `product:8`: `stock` is `2.0`, no int, so rows have the default there "
                 "[malformed_value]; write only digits: \"15\"",
          file +
              ": line 4: `product:9`: `place` is a value of 5 bytes, no vector of 2 numbers, so rows have "
              "null there [malformed_value]; write a list with as many numbers as keys.toml declares, such as [0.5, 1]",
          file + ": line 3: `product:8`: `is_new` is `yes`, no bool, so rows have null there "
                 "[malformed_value]; write \"true\", \"false\", \"1\" or \"0\""}));
  CHECK(check.missing_columns().empty());
}

TEST_CASE("of many malformed values three are named and the others counted, each record once") {
  column_check check;
  check.add(products("[2]"), declared());
  std::string lines;
  for (int i = 0; i < 500; ++i)
    lines += R"({"hash":"product:)" + std::to_string(i) + R"(","fields":{"pric":"?","text":")" + std::string(200, 'x') +
             "\"}}\n";
  shown_data().show_to(check, lines);  // a load that needs more room several times
  const texts found = messages(check.malformed_values());
  REQUIRE(found.size() == 4);
  CHECK(found.back() ==
        "497 more values, `pric` of `product:*`, are no float [malformed_value]; write a number with a decimal point: "
        "\"1.5\"");
}

TEST_CASE("only nodes of these endpoints count, and no field that the server writes") {
  const std::vector<std::string> other{"ep_0002"};
  column_check elsewhere({.endpoints = other});
  elsewhere.add(products("[2]"), declared());
  CHECK(elsewhere.missing_records().empty());
  const std::vector<std::string> written{"pric"};
  column_check check({.written = written});
  check.add(products("[2]", "a"), declared());
  CHECK(check.missing_records().empty());
  check.add(products("[2,3]", "b"), declared());
  shown_data().show_to(check, "{\"hash\":\"product:7\",\"fields\":{\"stoc\":\"2\"}}\n");
  REQUIRE(check.missing_columns().size() == 1);
  CHECK(check.missing_columns().front().hint == "did you mean `stoc`?");
}

TEST_CASE("a store is read as far as is allowed, and what is said of a part says so") {
  shown_data data;
  column_check nothing;
  std::string lines;
  for (int i = 10; i < 30; ++i) lines += R"({"hash":"product:)" + std::to_string(i) + R"(","fields":{"a":"1"}})" + "\n";
  data.show_to(nothing, lines + R"({"hash":"product:99","fields":{"pric":"1"}})" + "\n");
  const auto opened = embedded_store::open(data.folder.path() / "store");
  REQUIRE(opened.has_value());
  const auto snapshot = opened->take_snapshot();
  REQUIRE(snapshot.has_value());
  column_check part;
  part.add(products("[2]"), declared());
  REQUIRE(part.read(*snapshot, 20).has_value());
  CHECK((messages(part.missing_columns()) == texts{"none of the first 20 records of `product:*` has `pric`, which plan "
                                                   "home reads; these records have the columns a "
                                                   "[missing_column]"}));
  column_check whole;
  whole.add(products("[2]"), declared());
  REQUIRE(whole.read(*snapshot, 21).has_value());
  CHECK(whole.missing_columns().empty());
}
