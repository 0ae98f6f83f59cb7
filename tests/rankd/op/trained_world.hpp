// tests/rankd/op/trained_world.hpp: what files of trainers are read with: keys, rows and expected scores.
#pragma once

#include <tests/rankd/op/op_world.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::testing {

inline auto text_of(const std::filesystem::path& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline auto key_text(int key, const std::string& name, const std::string& type) -> std::string {
  return "[[key]]\nkey_id = " + std::to_string(key) + "\nname = \"" + name + "\"\ntype = \"" + type +
         "\"\nnullable = " + (key == 1 ? "false\nallow_write = false\n" : "true\n");
}

/// The keys that the models were trained with.
inline auto trained_world() -> const registries& {
  static const registries made =
      registries_of(key_text(1, "id", "int") + key_text(2, "price", "float") + key_text(3, "age", "int") +
                        key_text(4, "fresh", "bool") + key_text(5, "brand", "int") + key_text(6, "rating", "float"),
                    "", "");
  return made;
}

template <typename T>
auto list_values(const nlohmann::json& list) -> std::vector<std::optional<T>> {
  std::vector<std::optional<T>> out;
  for (const nlohmann::json& each : list)
    out.push_back(each.is_null() ? std::nullopt : std::optional<T>(each.get<T>()));
  return out;
}

inline auto rows_of(const nlohmann::json& columns, op_bench& bench) -> row_set {
  std::vector<std::int64_t> ids(columns.at("price").size());
  row_set rows(batch(bench.memory().copied(std::span<const std::int64_t>(ids))));
  rows = bench.with<double>(rows, 2, list_values<double>(columns.at("price")));
  rows = bench.with<std::int64_t>(rows, 3, list_values<std::int64_t>(columns.at("age")));
  rows = bench.with<bool>(rows, 4, list_values<bool>(columns.at("fresh")));
  rows = bench.with<std::int64_t>(rows, 5, list_values<std::int64_t>(columns.at("brand")));
  return bench.with<double>(rows, 6, list_values<double>(columns.at("rating")));
}

}  // namespace rankd::testing
