// tests/rankd/embed/arrow_tables.hpp: small tables of Arrow, and one as its receiver has it.
#pragma once

#include <rankd/embed/arrow_rows.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rankd::testing {

/// A column of numbers for tests.
template <typename T>
auto numbers(std::string name, std::string format, const std::vector<T>& values, std::string bitmap = {})
    -> arrow_column {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return {.name = std::move(name),
          .format = std::move(format),
          .length = static_cast<std::int64_t>(values.size()),
          .null_count = bitmap.empty() ? 0 : 1,
          .buffers = {std::move(bitmap), std::move(bytes)}};
}

template <typename Offset>
auto texts(std::string name, std::string format, const std::vector<std::string>& values, std::string bitmap = {})
    -> arrow_column {
  std::vector<Offset> ends{0};
  std::string all;
  for (const std::string& each : values) {
    all += each;
    ends.push_back(static_cast<Offset>(all.size()));
  }
  arrow_column out = numbers(std::move(name), std::move(format), ends, std::move(bitmap));
  out.length = static_cast<std::int64_t>(values.size());
  out.buffers.push_back(all);
  return out;
}

inline auto table(std::vector<arrow_column> columns) -> arrow_column {
  const std::int64_t length = columns.empty() ? 0 : columns.front().length;
  return {.name = {}, .format = "+s", .length = length, .buffers = {std::string()}, .children = std::move(columns)};
}

/// A table as its receiver has it.
struct received {
  ArrowSchema type{};
  ArrowArray rows{};

  explicit received(arrow_column from) {
    export_schema(from, type);
    export_array(std::make_shared<const arrow_column>(std::move(from)), rows);
  }
  received(const received&) = delete;
  auto operator=(const received&) -> received& = delete;
  ~received() {
    type.release(&type);
    rows.release(&rows);
  }
};

}  // namespace rankd::testing
