// tests/rankd/op/option_value_test.cpp: a number of a node that is fixed, or comes with each request.
#include <rankd/op/option_value.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto bound_to(std::uint32_t param) -> plan_param {
  return {.name = "count",
          .kind = param_kind::int64,
          .value = {},
          .key_ids = {},
          .pointer = "/nodes/0/params/count",
          .bound = param_binding{.param_id = param, .min = std::int64_t{1}, .max = std::int64_t{50}}};
}

auto code_of(const plan_param& option) -> std::string {
  plan_node node;
  node.params.push_back(option);
  braid::diagnostics problems;
  check_bindings(node, op_world(), problems);
  return problems.empty() ? "" : problems.begin()->code;
}

}  // namespace

TEST_CASE("an option has the value of its plan, or that of the request's param") {
  const registries& declared = op_world();
  const std::uint32_t page_size = declared.find_param("page_size")->param_id;
  std::vector<scalar> params(declared.params().size());
  CHECK(option_value<std::int64_t>(5).in(params) == 5);
  CHECK(option_value<double>(0.5).in(params) == 0.5);
  const option_value<std::int64_t> given(bound_to(page_size), declared);
  params[declared.index_of(*declared.find_param("page_size"))] = std::int64_t{7};
  CHECK(given.in(params) == 7);
}

TEST_CASE("what an option is bound to is declared, may be read, has its type, and a default within") {
  const registries& declared = op_world();
  CHECK(code_of(bound_to(declared.find_param("page_size")->param_id)) == "");
  CHECK(code_of(bound_to(9'999)) == "unknown_param");
  CHECK(code_of(bound_to(declared.find_param("hidden_size")->param_id)) == "unreadable_param");
  CHECK(code_of(bound_to(declared.find_param("old_size")->param_id)) == "blocked_param");
  CHECK(code_of(bound_to(declared.find_param("surface")->param_id)) == "wrong_param_type");
  plan_param narrow = bound_to(declared.find_param("page_size")->param_id);
  narrow.bound->max = std::int64_t{10};
  CHECK(code_of(narrow) == "default_out_of_range");
}
