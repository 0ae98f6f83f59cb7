// tests/rankd/server/captured_sets.hpp: captured rows for tests of the forms that files of them have.
#pragma once

#include <rankd/server/sinks/captured_copy.hpp>
#include <rankd/server/sinks/captured_lines.hpp>

#include <tests/rankd/rows/rows_model.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace rankd::testing {

enum : std::uint32_t { vector_key = 4001 };

inline auto key_named(std::uint32_t id, std::string name) -> key_entry {
  key_entry out;
  out.key_id = id;
  out.name = std::move(name);
  return out;
}

/// Random captures: of each the copy, and the line that says the same. Depends on the seed only.
class random_captures {
 public:
  explicit random_captures(std::uint64_t seed) : random_(seed, memory_) {}

  struct one {
    captured_copy copy;
    std::string line;
  };

  auto next() -> one {
    record_.request_id = "r" + std::to_string(++number_);
    captured_rows rows;
    rows.node = "n" + std::to_string(random_.below(3));
    rows.side = random_.below(2) == 0 ? capture_side::in : capture_side::out;
    if (rows.side == capture_side::in) rows.source = "s";
    rows.state = random_.below(2) == 0 ? node_state::done : node_state::failed;
    if (rows.state == node_state::failed) rows.failure = "store_down";
    if (random_.below(4) == 0) rows.used = "empty";
    if (random_.below(5) == 0) rows.fused_with = "other";
    if (random_.below(5) != 0) fill(rows);
    const std::chrono::milliseconds time(1'795'000'000'000 + number_);
    const line_origin from{record_, time, "plan", "digest", random_.below(4) == 0 ? hidden_ : open_};
    return {make_copy(from, rows), capture_line(from, rows)};
  }

 private:
  void fill(captured_rows& rows) {
    batch table = random_.table(random_.below(4) == 0 ? 0 : random_.below(70));
    if (random_.below(2) == 0) table = table.with_column(vector_key, vectors(table.size()), memory_);
    if (is_text_) table = batch(texts(table.size()), table.columns());
    rows.rows =
        random_.below(2) == 0 || table.size() == 0 ? row_set(table) : row_set(table, random_.order(table.size()));
    rows.rows = rows.rows->take(random_.below(table.size() + 1));
    rows.cut = table.size() - rows.rows->size();
    for (const key_entry& each : keys_)
      if (random_.below(3) != 0) rows.keys.push_back(&each);
  }

  auto vectors(std::size_t rows) -> column {
    column_builder<std::string_view> out(memory_, rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const float numbers[] = {static_cast<float>(random_.below(100)) / 7, -0.0F, 1e-30F};
      if (random_.below(4) == 0)
        out.push_null();
      else
        out.push({reinterpret_cast<const char*>(numbers), sizeof(numbers)});
    }
    column made = out.finish();
    std::get<string_values>(made.values).dimensions = 3;
    return made;
  }

  auto texts(std::size_t rows) -> string_values {
    column_builder<std::string_view> out(memory_, rows);
    for (std::size_t row = 0; row < rows; ++row) out.push("item " + std::to_string(row));
    kept_.push_back(out.finish());
    return *kept_.back().strings();
  }

  braid::arena memory_;
  random_rows random_;
  std::int64_t number_ = 0;
  request_record record_;
  redaction open_;
  redaction hidden_ = redaction::make({"request_id"}, registries()).value();
  bool is_text_ = random_.below(4) == 0;
  std::deque<column> kept_;
  std::vector<key_entry> keys_{key_named(float_key, "score"),      key_named(full_float_key, "full"),
                               key_named(int_key, "count"),        key_named(bool_key, "is_new"),
                               key_named(text_key, "country"),     key_named(other_text_key, "title"),
                               key_named(vector_key, "embedding"), key_named(absent_key, "absent")};
};

/// Rows with ids from 1 on, and one column of whole numbers or of texts.
class plain_captures {
 public:
  auto numbers(const std::string& key, std::size_t rows, std::uint32_t id = int_key) -> captured_copy {
    column_builder<std::int64_t> values(memory_, rows);
    for (std::size_t row = 0; row < rows; ++row) values.push(static_cast<std::int64_t>(10 * row));
    return of(key_named(id, key), values.finish(), rows);
  }
  auto texts(const std::string& key, const std::vector<std::string>& all) -> captured_copy {
    column_builder<std::string_view> values(memory_, all.size());
    for (const std::string& each : all) values.push(each);
    return of(key_named(text_key, key), values.finish(), all.size());
  }

 private:
  auto of(const key_entry& key, const column& values, std::size_t rows) -> captured_copy {
    const std::span<std::int64_t> ids = memory_.uninitialized<std::int64_t>(rows);
    std::iota(ids.begin(), ids.end(), 1);
    captured_rows what;
    what.node = "n";
    what.state = node_state::done;
    what.rows = row_set(batch(ids).with_column(key.key_id, values, memory_));
    what.keys = {&key};
    request_record record;
    record.request_id = "r";
    const redaction open;
    return make_copy({record, std::chrono::milliseconds(1000), "p", "d", open}, what);
  }

  braid::arena memory_;
};

}  // namespace rankd::testing
