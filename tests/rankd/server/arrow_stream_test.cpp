// tests/rankd/server/arrow_stream_test.cpp: captured rows as bytes of an Arrow IPC stream, read again.
#include <rankd/server/files/arrow_stream.hpp>

#include <tests/rankd/server/arrow_reader.hpp>
#include <tests/rankd/server/captured_sets.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

using strings = std::vector<std::string>;

auto word_at(const std::string& bytes, std::size_t at) -> std::uint32_t {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

/// A stream of one batch with all of them.
auto make_stream(const std::vector<captured_copy>& sets, std::vector<captured_key>& keys) -> std::string {
  for (const captured_copy& each : sets) static_cast<void>(fit_columns(keys, each));
  return arrow_schema(keys) + arrow_batch(keys, sets) + std::string(arrow_end);
}

}  // namespace

TEST_CASE("a stream is a schema and batches, each message with its length, and a mark of the end") {
  plain_captures some;
  std::vector<captured_key> keys;
  const std::string bytes = make_stream({some.numbers("count", 2), some.texts("title", {"a", "b\""})}, keys);
  CHECK(bytes.size() % 8 == 0);
  CHECK(word_at(bytes, 0) == 0xFFFFFFFF);
  CHECK(word_at(bytes, 4) == arrow_schema(keys).size() - 8);
  CHECK(word_at(bytes, arrow_schema(keys).size()) == 0xFFFFFFFF);
  CHECK(bytes.ends_with(arrow_end));
  const read_stream read = read_arrow(bytes);
  CHECK(read.is_ended);
  CHECK(read.batches == 1);
  CHECK(read.columns == strings{"id:int", "count:int", "title:string"});
  const std::string head = R"({"time":"1970-01-01T00:00:01.000000Z","request_id":"r","plan":"p","plan_digest":"d",)"
                           R"("node":"n","side":"out","state":"done","rows":)";
  CHECK(read.lines == strings{head + R"({"id":[1,2],"count":[0,10]},"cut":0})",
                              head + R"({"id":[1,2],"title":["a","b\""]},"cut":0})"});
}

TEST_CASE("what a batch of captures says is what their lines of JSON say, value by value") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    random_captures random(seed);
    std::vector<captured_copy> sets;
    strings lines;
    for (int i = 0; i < 6; ++i) {
      auto one = random.next();
      sets.push_back(std::move(one.copy));
      lines.push_back(std::move(one.line));
    }
    std::vector<captured_key> keys;
    const read_stream read = read_arrow(make_stream(sets, keys));
    REQUIRE(read.lines == lines);
  }
}

TEST_CASE("a stream that is cut anywhere has the batches that are whole") {
  plain_captures some;
  std::vector<captured_key> keys;
  const std::vector<captured_copy> one{some.texts("title", {"a", "", "bcd"})};
  std::string bytes = make_stream(one, keys);
  bytes.resize(bytes.size() - arrow_end.size());
  const std::size_t first = bytes.size();
  const std::size_t schema = arrow_schema(keys).size();
  bytes += arrow_batch(keys, one);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    CAPTURE(size);
    const read_stream read = read_arrow(std::string_view(bytes).substr(0, size));
    REQUIRE(read.batches == (size < first ? 0U : size < bytes.size() ? 1U : 2U));
    REQUIRE(read.lines.size() == read.batches);
    REQUIRE(read.is_cut == (size != schema && size != first && size != bytes.size()));
    REQUIRE_FALSE(read.is_ended);
  }
}

TEST_CASE("columns get wider as rows want it, and a key of another type is another column") {
  plain_captures some;
  std::vector<captured_key> keys;
  CHECK(fit_columns(keys, some.texts("title", {"a"})) == column_fit::wider);
  CHECK(fit_columns(keys, some.numbers("count", 1)) == column_fit::wider);
  CHECK(fit_columns(keys, some.texts("title", {"b"})) == column_fit::same);
  REQUIRE(keys.size() == 3);
  CHECK(keys[1].name == "count");  // which has a smaller id
  // Bytes take text, but text no bytes.
  CHECK(fit_columns(keys, some.texts("title", {"\xff"})) == column_fit::wider);
  CHECK(keys[2].holds == captured_key::type::bytes);
  CHECK(fit_columns(keys, some.texts("title", {"c"})) == column_fit::same);
  CHECK(fit_columns(keys, some.numbers("title", 1, text_key)) == column_fit::other);
  CHECK(keys[2].holds == captured_key::type::integer);
  // A name that another key has now.
  CHECK(fit_columns(keys, some.numbers("title", 1, 1400)) == column_fit::other);
  REQUIRE(keys.size() == 3);
  CHECK(keys[1].name == "title");
}

TEST_CASE("text that is no UTF-8 is bytes, beside text that is") {
  plain_captures some;
  std::vector<captured_key> keys;
  const read_stream read =
      read_arrow(make_stream({some.texts("title", {"a"}), some.texts("title", {"\xff\xfe"})}, keys));
  CHECK(read.columns.back() == "title:bytes");
  CHECK(read.lines.at(0).find(R"("title":["a"])") != std::string::npos);
  CHECK(read.lines.at(1).find(R"("title":[{"base64":"//4="}])") != std::string::npos);
}
