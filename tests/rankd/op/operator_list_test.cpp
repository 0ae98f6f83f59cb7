// tests/rankd/op/operator_list_test.cpp: the list of operators is sorted, whole, and says of each what a plan must
// know.
#include <rankd/op/operator_list.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/registry/file.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
namespace fs = std::filesystem;

TEST_CASE("the operators are sorted by name, each once") {
  const auto name_of = [](const op_entry& entry) { return entry.shape.name; };
  CHECK(std::ranges::adjacent_find(all_ops(), std::greater_equal{}, name_of) == all_ops().end());
}

TEST_CASE("each file of an operator is one operator of its name") {
  std::set<std::string> files;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator("rankd/op/operators"))
    if (each.path().extension() == ".cpp") CHECK(files.insert(each.path().stem().string()).second);
  std::set<std::string> found;
  for (const op_entry& entry : all_ops()) {
    CAPTURE(entry.shape.name);
    const std::string_view scope = entry.shape.name.substr(0, entry.shape.name.find("::"));
    CHECK((scope == "core" || scope == "test"));
    found.insert(std::string(entry.shape.name.substr(scope.size() + 2)));
  }
  CHECK((found == files));
  CHECK(found.size() == all_ops().size());
}

TEST_CASE("no source but its own compares the name of an operator") {
  std::string named;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator("rankd")) {
    const std::string file = each.path().string();
    const bool is_source = file.ends_with(".cpp") || file.ends_with(".hpp");
    if (!is_source || file.starts_with("rankd/op/operators/")) continue;
    const std::string text = read_text_file(file).value();
    for (const op_entry& entry : all_ops()) {
      const std::string literal = '"' + std::string(entry.shape.name) + '"';
      if (text.find(literal) != std::string::npos) named += file + ": " + literal + "\n";
    }
  }
  CHECK(named == "");  // ask for a field of op_entry instead
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
    // Facts name options that there are.
    const auto is_option = [&](std::string_view name, param_kind kind) {
      const auto at = std::ranges::find(entry.shape.params, name, &param_shape::name);
      return at != entry.shape.params.end() && at->kind == kind;
    };
    if (!entry.adds.option.empty()) {
      CHECK(is_option(entry.adds.option, param_kind::key_ids));
      CHECK((entry.adds.otherwise.empty() || is_option(entry.adds.otherwise, param_kind::key_ids)));
      CHECK_FALSE(entry.adds.hint.empty());
    }
    if (!entry.models.empty()) CHECK(is_option(entry.models, param_kind::names));
    if (!entry.finds_rows_by.empty()) CHECK(is_option(entry.finds_rows_by, param_kind::key_id));
    if (!entry.records.prefix_option.empty()) CHECK(is_option(entry.records.prefix_option, param_kind::name));
    for (const std::string_view form : entry.records.keys) CHECK(form.ends_with(":{id}"));
    const bool has_template = std::ranges::any_of(
        entry.shape.params, [](const param_shape& param) { return param.kind == param_kind::key_template; });
    if (entry.records.columns != record_part::none) CHECK(has_template == entry.records.keys.empty());
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
