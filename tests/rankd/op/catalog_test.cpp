// tests/rankd/op/catalog_test.cpp: the list of operators is sorted, whole, and says of each what a plan must know.
#include <rankd/op/catalog.hpp>
#include <rankd/op/operator_library.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("the operators are sorted by name, each once") {
  const auto name_of = [](const op_entry& entry) { return entry.shape.name; };
  CHECK(std::ranges::adjacent_find(all_ops(), std::greater_equal{}, name_of) == all_ops().end());
}

TEST_CASE("the operators are those that plans know, with their number of inputs") {
  std::map<std::string, std::uint32_t> found;
  for (const op_entry& entry : all_ops()) found[std::string(entry.shape.name)] = entry.shape.inputs;
  const std::map<std::string, std::uint32_t> expected{
      {"core::candidates", 0},     {"core::concat", 1},      {"core::dedupe", 1},
      {"core::filter", 1},         {"core::follow", 1},      {"core::join", 1},
      {"core::media", 1},          {"core::sort", 1},        {"core::take", 1},
      {"core::viewer", 0},         {"core::vm", 1},          {"core::recommendation", 1},
      {"test::sleep", 1},          {"test::busy_cpu", 1},    {"test::fixed_source", 0},
      {"core::fetch_features", 1}, {"core::call_models", 1}, {"core::extract_features", 1},
      {"core::list", 1},           {"core::set", 1},         {"core::sorted_set", 1},
      {"core::hash", 1},           {"core::members_of", 1},  {"core::strings", 1},
      {"core::diversify", 1},      {"core::aggregate", 1},   {"core::rank_fusion", 1},
      {"core::sample", 1},         {"core::choose", 64},     {"core::flag", 1},
      {"core::paginate", 1},       {"core::nearest", 1},     {"core::call_remote_model", 1}};
  CHECK((found == expected));
}

TEST_CASE("every entry is complete and its shape makes sense") {
  for (const op_entry& entry : all_ops()) {
    CAPTURE(entry.shape.name);
    CHECK((entry.bind != nullptr));
    CHECK(entry.doc.ends_with('.'));
    std::set<std::string_view> names;
    for (const param_shape& param : entry.shape.params) {
      CAPTURE(param.name);
      CHECK(names.insert(param.name).second);
      CHECK(param.name != "trace");
      CHECK(param.range.min <= param.range.max);
      const bool may_choose = param.kind == param_kind::key_id || param.kind == param_kind::key_ids ||
                              param.kind == param_kind::endpoint_ref;
      CHECK((param.kind == param_kind::enumeration || may_choose) == !param.choices.empty());
    }
    for (const param_shape& param : entry.shape.params) {
      if (param.when.param.empty()) continue;
      CAPTURE(param.name);
      const auto decisive = std::ranges::find(entry.shape.params, param.when.param, &param_shape::name);
      REQUIRE(decisive != entry.shape.params.end());
      CHECK(&*decisive < &param);
      CHECK(decisive->kind == param_kind::enumeration);
      CHECK_FALSE(param.when.values.empty());
      for (const std::string_view value : param.when.values)
        CHECK(std::ranges::find(decisive->choices, value) != decisive->choices.end());
    }
    // What may do without rows makes them.
    CHECK(entry.shape.optional_inputs <= entry.shape.inputs);
    const bool chooses = entry.shape.name == "core::choose";
    if (entry.shape.optional_inputs != 0 && !chooses) CHECK(entry.change == row_change::dense_source);
    // Only what has no input makes rows of its own out of nothing, and only concat takes two.
    if (entry.shape.inputs == 0) CHECK(entry.change == row_change::dense_source);
    CHECK((entry.change == row_change::concatenation) == (entry.shape.name == "core::concat"));
    CHECK((entry.change == row_change::matched) == (entry.shape.name == "core::join"));
  }
}

TEST_CASE("operators and their shapes are found by their whole name only") {
  for (const op_entry& entry : all_ops()) {
    CHECK(find_op(entry.shape.name) == &entry);
    CHECK(all_op_shapes().find(entry.shape.name)->params.data() == entry.shape.params.data());
  }
  for (const char* name : {"", "core::", "take", "core::Take", "core::takes"}) {
    CHECK(find_op(name) == nullptr);
    CHECK(all_op_shapes().find(name) == nullptr);
  }
  CHECK(all_op_shapes().names().size() == all_ops().size() + own_ops().size());
}
