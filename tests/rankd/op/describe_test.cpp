// tests/rankd/op/describe_test.cpp: the printed list of operators holds what plans are checked against.
#include <rankd/op/operator_list.hpp>
#include <rankd/op/describe.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/toml.hpp>

#include <algorithm>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;

TEST_CASE("every operator is printed with its params, their ranges and what they accept") {
  const auto printed = parse_toml(ops_toml(), "ops.toml");
  REQUIRE(printed);
  const auto& ops = printed->at("op");
  REQUIRE(ops.size() == all_ops().size());
  for (std::size_t at = 0; at < ops.size(); ++at) {
    const op_shape& shape = all_ops()[at].shape;
    CAPTURE(shape.name);
    CHECK(ops[at].at("name") == shape.name);
    CHECK(ops[at].at("inputs") == shape.inputs);
    CHECK(ops[at].value("optional_inputs", 0U) == shape.optional_inputs);
    REQUIRE(ops[at].at("param").size() == shape.params.size());
    for (std::size_t i = 0; i < shape.params.size(); ++i) {
      const auto& param = ops[at].at("param")[i];
      CHECK(param.at("name") == shape.params[i].name);
      CHECK(param.at("kind") == to_string(shape.params[i].kind));
      CHECK(param.at("required") == (shape.params[i].need == presence::required));
    }
  }
  const auto params_of = [&ops](std::string_view name) {
    const auto found = std::ranges::find_if(ops, [name](const auto& op) { return op.at("name") == name; });
    REQUIRE(found != ops.end());
    return found->at("param");
  };
  const auto media = params_of("core::media");
  CHECK(media[0].at("endpoint_kinds") == nlohmann::json({"embedded", "redis"}));
  CHECK(media[1].at("min") == 1);
  CHECK(media[1].at("max") == 10'000);
  const auto out_key = params_of("core::vm")[0];
  CHECK(out_key.at("use") == "write");
  CHECK(out_key.at("key_types") == nlohmann::json::parse(R"(["float", "int", "string"])"));
  const auto map = params_of("core::join")[4];
  CHECK(map.at("use") == "write");
  CHECK_FALSE(map.contains("min_items"));
  CHECK(params_of("core::fetch_features")[1].at("min_items") == 1);
  const auto boundaries = params_of("core::extract_features")[3];
  CHECK(boundaries.at("kind") == "ascending");
  CHECK(boundaries.at("min_items") == 1);
  CHECK(boundaries.at("when_values") == nlohmann::json({"bucket"}));
  CHECK(params_of("core::extract_features")[6].at("kind") == "literals");
  CHECK(map.at("key_types") == nlohmann::json({"int", "float", "string", "bool"}));
  CHECK(params_of("core::hash")[1].at("kind") == "key_template");
  CHECK(params_of("core::hash")[3].at("kind") == "texts");
  CHECK(map.at("when") == "how");
  CHECK(map.at("when_values") == nlohmann::json({"inner", "left", "broadcast"}));
}

TEST_CASE("every op of expressions and predicates is printed with its fields") {
  const auto printed = parse_toml(ops_toml(), "ops.toml");
  REQUIRE(printed);
  nlohmann::json fields;
  for (const auto& op : printed->at("tree_op")) fields[op.at("name").get<std::string>()] = op.at("fields");
  CHECK(fields.size() == 43);
  CHECK(fields.at("neg") == nlohmann::json::parse(R"([["x", "value"]])"));
  CHECK(fields.at("in") == nlohmann::json::parse(R"([["lhs", "value"], ["list", "list"]])"));
  CHECK(fields.at("const_null") == nlohmann::json::array());
  CHECK(fields.at("clamp") == nlohmann::json::parse(R"([["x", "value"], ["lo", "value"], ["hi", "value"]])"));
  CHECK(fields.at("if") == nlohmann::json::parse(R"([["pred", "truth"], ["a", "value"], ["b", "value"]])"));
  std::size_t further = 0;
  for (const auto& op : printed->at("tree_op")) further += op.value("capability", "") == "cap.rfc.0001.arithmetic.v1";
  CHECK(further == 13);
  CHECK(fields.at("bucket") == nlohmann::json::parse(R"([["x", "value"], ["count", "count"], ["seed", "seed"]])"));
  CHECK(fields.at("const_text") == nlohmann::json::parse(R"([["value", "string"]])"));
  CHECK(fields.at("cmp_text") == nlohmann::json::parse(R"([["cmp", "cmp"], ["a", "text"], ["b", "text"]])"));
}

TEST_CASE("the file that bindings are made from is what is printed") {
  CHECK(read_text_file("registry/ops.toml").value() == ops_toml());
}
