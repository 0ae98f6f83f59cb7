// tests/rankd/op/op_world.hpp: registries, a store in memory, and operators bound and run without an engine.
#pragma once

#include <rankd/expr/compile.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/models.hpp>
#include <rankd/op/vectors.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/rows/column_builder.hpp>
#include <rankd/store/store.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/coro/spawn.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace rankd::testing {

inline auto checked_registries(braid::checked<registries> loaded) -> registries {
  if (!loaded) throw std::runtime_error(loaded.error().to_text());
  return std::move(*loaded);
}

/// Registries of these texts.
inline auto registries_of(std::string_view keys, std::string_view params, std::string_view endpoints) -> registries {
  const braid::testing::scratch_folder folder;
  folder.write("keys.toml", keys);
  folder.write("params.toml", params);
  folder.write("endpoints.dev.toml", endpoints);
  return checked_registries(registries::load(folder.path(), "dev"));
}

/// Keys and params of every kind, some of which plans or requests may not use; endpoints 1 and 3 are stores.
inline auto op_world() -> const registries& {
  static const registries loaded = checked_registries(registries::load("tests/rankd/tables/registry", "dev"));
  return loaded;
}

/// Hashes, lists, sets and strings in maps, and a note of every batch that was asked for: "hget user:1 user:2",
/// "lrange 3 follow:1", "set 10 bought:7". Of sorted sets it knows neither offsets nor ranges nor the other order.
class memory_store : public store {
 public:
  std::map<std::string, std::map<std::string, std::string>> hashes;
  std::map<std::string, std::vector<std::string>> lists;
  std::map<std::string, std::map<std::string, double>> sorted_sets;
  std::map<std::string, std::set<std::string>> sets;
  std::map<std::string, std::string> strings;
  std::vector<std::string> asked;
  std::error_code refusal;  ///< what every batch fails with, if anything

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    return std::visit([&](const auto& of) { return answer(of, arena); }, question);
  }

 private:
  using answering = braid::task<store_result<store_answer>>;

  auto answer(field_read what, braid::arena& arena) -> answering {
    const key_batch& keys = what.keys;
    asked.push_back("hget" + spelled(keys));
    if (refusal) co_return std::unexpected(refusal);
    const auto out = arena.filled(keys.ids.size(), std::optional<std::string_view>());
    for (std::size_t at = 0; at < out.size(); ++at) {
      const auto hash = hashes.find(key_of(keys, at));
      if (hash == hashes.end()) continue;
      const auto value = hash->second.find(std::string(what.field));
      if (value != hash->second.end()) out[at] = arena.copied(value->second);
    }
    co_return field_batch(out);
  }

  auto answer(hash_read what, braid::arena& arena) -> answering {
    const key_batch& keys = what.keys;
    asked.push_back("hgetall" + spelled(keys));
    if (refusal) co_return std::unexpected(refusal);
    const auto out = arena.filled(keys.ids.size(), std::span<const hash_field>());
    for (std::size_t at = 0; at < out.size(); ++at) {
      const auto hash = hashes.find(key_of(keys, at));
      if (hash == hashes.end()) continue;
      std::vector<hash_field> fields;
      for (const auto& [name, value] : hash->second) fields.push_back({arena.copied(name), arena.copied(value)});
      out[at] = arena.copied(std::span<const hash_field>(fields));
    }
    co_return hash_batch(out);
  }

  auto answer(list_read what, braid::arena& arena) -> answering {
    const key_batch& keys = what.keys;
    asked.push_back("lrange " + std::to_string(what.first) + spelled(keys));
    if (refusal) co_return std::unexpected(refusal);
    const auto out = arena.filled(keys.ids.size(), std::span<const std::int64_t>());
    std::uint64_t malformed = 0;
    for (std::size_t at = 0; at < out.size(); ++at) {
      const auto list = lists.find(key_of(keys, at));
      if (list == lists.end()) continue;
      std::vector<std::int64_t> ids;
      for (std::size_t i = 0; i < std::min<std::size_t>(what.first, list->second.size()); ++i) {
        if (const auto id = parse_id(list->second[i]))
          ids.push_back(*id);
        else
          ++malformed;
      }
      out[at] = arena.copied(std::span<const std::int64_t>(ids));
    }
    co_return id_batch{out, malformed};
  }

  auto answer(named_read what, braid::arena& arena) -> answering {
    constexpr std::array names{"list", "sorted_set", "set", "fields", "members", "scores", "strings"};
    std::string note = names[static_cast<std::size_t>(what.kind)];
    if (what.count != 0) note += " " + std::to_string(what.count);
    for (const std::string_view key : what.keys) note += " " + std::string(key);
    asked.push_back(std::move(note));
    if (refusal) co_return std::unexpected(refusal);
    const auto out = arena.filled(what.keys.size(), std::span<const stored_item>());
    for (std::size_t at = 0; at < out.size(); ++at)
      out[at] = arena.copied(std::span<const stored_item>(list_items(what, at, arena)));
    co_return item_batch{out, 0};
  }

  auto answer(model_call /*what*/, braid::arena& /*arena*/) -> answering {
    co_return braid::fail(store_errc::wrong_type);
  }

  auto list_items(const named_read& what, std::size_t at, braid::arena& arena) -> std::vector<stored_item> {
    const std::string key(what.keys[at]);
    std::vector<stored_item> out;
    const auto add = [&](const std::string& text, double score) {
      const auto id = parse_id(text);
      if (id && out.size() < what.count) out.push_back({.is_there = true, .id = *id, .score = score, .text = {}});
    };
    switch (what.kind) {
      case read_kind::list:
        for (std::size_t i = what.offset; i < lists[key].size(); ++i) add(lists[key][i], 0);
        break;
      case read_kind::sorted_set:
        for (const auto& [text, score] : sorted_sets[key]) add(text, score);
        break;
      case read_kind::set:
        for (const std::string& text : sets[key]) add(text, 0);
        break;
      case read_kind::fields:
        for (const std::string_view field : what.fields) {
          const auto found = hashes[key].find(std::string(field));
          out.push_back(found == hashes[key].end()
                            ? stored_item()
                            : stored_item{.is_there = true, .text = arena.copied(std::string_view(found->second))});
        }
        break;
      case read_kind::strings: {
        const auto found = strings.find(key);
        out.push_back(found == strings.end()
                          ? stored_item()
                          : stored_item{.is_there = true, .text = arena.copied(std::string_view(found->second))});
        break;
      }
      case read_kind::members:
        for (const std::string_view text : what.members[at])
          out.push_back({.is_there = sets[key].contains(std::string(text)), .text = {}});
        break;
      case read_kind::scores:
        for (const std::string_view text : what.members[at]) {
          const auto found = sorted_sets[key].find(std::string(text));
          if (found == sorted_sets[key].end())
            out.emplace_back();
          else
            out.push_back({.is_there = true, .score = found->second, .text = {}});
        }
        break;
    }
    return out;
  }

  static auto key_of(key_batch keys, std::size_t at) -> std::string {
    return std::string(keys.prefix) + std::to_string(keys.ids[at]);
  }
  static auto spelled(key_batch keys) -> std::string {
    std::string out;
    for (std::size_t at = 0; at < keys.ids.size(); ++at) out += " " + key_of(keys, at);
    return out;
  }
};

using lines = std::vector<std::string>;

/// "code pointer" of each diagnostic.
inline auto list(const braid::diagnostics& problems) -> lines {
  lines out;
  for (const auto& item : problems) out.push_back(item.code + " " + item.pointer);
  return out;
}

using op_ptr = std::unique_ptr<const bound_op>;

/// A node called `it` of that operator, bound in a plan where it may refer to the nodes `left` and `right`, to the
/// expression `e` and to the predicate `p`. Its only input, if the operator takes one, is `left`.
inline auto bind_op(const std::string& op, const std::string& params, const std::string& e = R"({"op":"const_null"})",
                    const std::string& p = R"({"op":"const_bool","value":true})",
                    const std::string& capabilities = "[]") -> braid::checked<op_ptr> {
  const op_entry* entry = find_op(op);
  if (entry == nullptr) throw std::runtime_error("there is no operator " + op);
  const std::string inputs = entry->shape.inputs == 0 ? "[]" : R"(["left"])";
  const auto loaded =
      parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["it","left","right"],"capabilities_required":)" +
                     capabilities + R"(,"expr_table":{"e":)" + e + R"(},"pred_table":{"p":)" + p +
                     R"(},"nodes":[{"node_id":"left","op":"test::fixed_source","inputs":[]},)"
                     R"({"node_id":"right","op":"test::fixed_source","inputs":[]},{"node_id":"it","op":")" +
                     op + R"(","inputs":)" + inputs + R"(,"params":)" + params + "}]}",
                 "t.json", {all_op_shapes(), op_world()});
  if (!loaded) return std::unexpected(loaded.error());
  const std::vector exprs{compile_expr(loaded->expr_table.front().tree, op_world()).value()};
  const std::vector preds{compile_pred(loaded->pred_table.front().tree, op_world()).value()};
  model_folder models("tests/rankd/tables/models", op_world());
  vector_folder vectors("tests/rankd/tables");
  return entry->bind(loaded->nodes[2], {op_world(), exprs, preds, &models, &vectors});
}

/// What is wrong with such a node; nothing where it can be bound.
inline auto diagnostics(const std::string& op, const std::string& params) -> lines {
  const auto bound = bind_op(op, params);
  return bound ? lines() : list(bound.error());
}

/// Runs operators for one request of user 7. Results live as long as the bench.
class op_bench {
 public:
  memory_store store;
  std::vector<scalar> params;
  row_id user{std::int64_t{7}};
  braid::stop_flag stop;
  std::size_t rows_of_part = evaluate_options::one_part;
  std::uint64_t malformed_ids = 0;     ///< of the last run
  std::uint64_t malformed_values = 0;  ///< the same
  std::uint64_t looked_at = 0;         ///< the same

  op_bench() {
    for (const param_entry& each : op_world().params()) params.push_back(each.default_value);
  }

  auto run(const bound_op& op, const std::vector<row_set>& inputs = {}) -> op_result<row_set> {
    const std::array<rankd::store*, 3> stores{&store, nullptr, nullptr};
    node_context context{.memory = memory_,
                         .inputs = inputs,
                         .params = params,
                         .stores = stores,
                         .user = &user,
                         .stop = &stop,
                         .rows_of_part = rows_of_part};
    op_result<row_set> result;
    if (op.work() == op_work::waits)
      result = braid::sync_wait(op.start(context));
    else
      result = op.run(context);
    malformed_ids = context.malformed_ids;
    malformed_values = context.malformed_values;
    looked_at = context.looked_at;
    return result;
  }

  /// Binds and runs; requires that both work.
  auto rows(const std::string& op, const std::string& params_json, const std::vector<row_set>& inputs = {}) -> row_set {
    return run(*bind_op(op, params_json).value(), inputs).value();
  }

  /// All rows of a new batch, with these ids.
  auto rows_of(std::initializer_list<std::int64_t> ids) -> row_set {
    return row_set(batch(memory_.copied(std::span<const std::int64_t>(ids.begin(), ids.size()))));
  }

  /// The same rows with one more column: a value for each row of the batch.
  template <typename T>
  auto with(const row_set& rows, std::uint32_t key, const std::vector<std::optional<T>>& values) -> row_set {
    column_builder<T> out(memory_, values.size());
    for (const auto& value : values) {
      if (value)
        out.push(*value);
      else
        out.push_null();
    }
    return rows.with_column(key, out.finish(), memory_);
  }

  auto memory() -> braid::arena& { return memory_; }

 private:
  braid::arena memory_;
};

inline auto ids_of(const row_set& rows) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < rows.size(); ++at) ids.push_back(rows.id(at));
  return ids;
}

}  // namespace rankd::testing
