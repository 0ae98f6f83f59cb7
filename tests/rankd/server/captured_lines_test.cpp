// tests/rankd/server/captured_lines_test.cpp: lines about rows that there are not, about a request that is redacted,
// and about an answer, whose values are each written once.
#include <rankd/server/sinks/captured_lines.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/server/captured_sets.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;

TEST_CASE("a line of a capture says whose rows they are, and why there are none") {
  request_record record;
  record.request_id = "r";
  const redaction open;
  captured_rows rows;
  rows.node = "a";
  rows.state = node_state::failed;
  CHECK(
      capture_line({record, 1000ms, "p", "d", open}, rows) ==
      R"({"time":"1970-01-01T00:00:01.000000Z","request_id":"r","plan":"p","plan_digest":"d","node":"a","side":"out",)"
      R"("state":"failed"})");
  const redaction hidden = value_of(redaction::make({"request_id"}, reference_project::get().declared));
  CHECK(capture_line({record, 1000ms, "p", "d", hidden}, rows).find("request_id") == std::string::npos);
}

namespace {

/// An answer with a column of numbers, a column of texts, and a column of vectors.
class shown_answer {
 public:
  shown_answer(const std::vector<std::int64_t>& counts, const std::vector<std::string>& countries) {
    const std::span<std::int64_t> ids = memory_.uninitialized<std::int64_t>(counts.size());
    std::iota(ids.begin(), ids.end(), 7);
    column_builder<std::int64_t> numbers(memory_, counts.size());
    column_builder<std::string_view> texts(memory_, counts.size());
    column_builder<std::string_view> vectors(memory_, counts.size());
    const float values[] = {0.5, 1};
    for (std::size_t row = 0; row < counts.size(); ++row) {
      numbers.push(counts[row]);
      if (countries[row].empty())
        texts.push_null();
      else
        texts.push(countries[row]);
      vectors.push({reinterpret_cast<const char*>(values), sizeof(values)});
    }
    column vector = vectors.finish();
    std::get<string_values>(vector.values).dimensions = 2;
    keys_[2].type = value_type::vector;
    answer_.rows = row_set(batch(ids)
                               .with_column(int_key, numbers.finish(), memory_)
                               .with_column(text_key, texts.finish(), memory_)
                               .with_column(vector_key, vector, memory_));
    answer_.fields = {&keys_[0], &keys_[1], &keys_[2]};
  }

  /// The end of the line of this answer, from its rows on.
  auto line(audited_request asked = {}) const -> std::string {
    request_record record;
    record.asked = std::move(asked);
    const redaction open;
    const std::string all = exposure_line({record, 1000ms, "p", "d", open}, answer_);
    return all.substr(all.find("\"rows\""));
  }

 private:
  braid::arena memory_;
  std::vector<key_entry> keys_{key_named(int_key, "count"), key_named(text_key, "country"),
                               key_named(vector_key, "embedding")};
  ranking answer_;
};

}  // namespace

TEST_CASE("a value that all rows of an answer have is in its exposure once") {
  CHECK(shown_answer({3, 4}, {"FR", "FR"}).line() == R"("rows":{"id":[7,8],"count":[3,4]},"shared":{"country":"FR"}})");
  CHECK(shown_answer({3, 3}, {"", ""}).line() == R"("rows":{"id":[7,8]},"shared":{"count":3,"country":null}})");
  CHECK(shown_answer({3, 4, 3}, {"FR", "", "FR"}).line() ==
        R"("rows":{"id":[7,8,9],"count":[3,4,3],"country":["FR",null,"FR"]}})");
  CHECK(shown_answer({3, 3, 4}, {"", "", "FR"}).line() ==
        R"("rows":{"id":[7,8,9],"count":[3,3,4],"country":[null,null,"FR"]}})");
  // The columns of a single row stay columns.
  CHECK(shown_answer({3}, {"FR"}).line() == R"("rows":{"id":[7],"count":[3],"country":["FR"]}})");
}

TEST_CASE("an exposure has vectors only if the request names its keys") {
  const shown_answer answer({3, 4}, {"FR", "US"});
  CHECK(answer.line() == R"("rows":{"id":[7,8],"count":[3,4],"country":["FR","US"]}})");
  audited_request asked;
  asked.names_keys = true;
  CHECK(answer.line(asked) ==
        R"("rows":{"id":[7,8],"count":[3,4],"country":["FR","US"]},"shared":{"embedding":[0.5,1]}})");
}

TEST_CASE("the request of an exposure has only what its line does not have elsewhere") {
  const registries& declared = reference_project::get().declared;
  const shown_answer answer({3}, {"FR"});
  const auto line_of = [&](std::string_view request, const redaction& hidden) {
    return answer.line(audited(value_of(parse_request(request, declared)), declared, hidden));
  };
  const std::string rows = R"("rows":{"id":[7],"count":[3],"country":["FR"]})";
  const redaction open;
  CHECK(line_of(R"({"request_id":"r","user_id":4,"plan":"p"})", open) == rows + "}");
  CHECK(line_of(R"({"request_id":"r","user_id":4,"plan":"p","deadline_ms":50})", open) ==
        rows + R"(,"request":{"deadline_ms":50}})");
  const redaction hidden = value_of(redaction::make({"request_id", "user_id"}, declared));
  CHECK(line_of(R"({"request_id":"r","user_id":4,"deadline_ms":50})", hidden) ==
        rows + R"(,"request":{"deadline_ms":50}})");
}
