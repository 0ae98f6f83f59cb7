// tests/rankd/op/onnx_nulls_test.cpp: warnings of trees that send nulls elsewhere than scikit-learn.
// tests/rankd/op/onnx/train.py made the files.
#include <rankd/op/models.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/trained_world.hpp>

#include <filesystem>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::key_text;
using rankd::testing::registries_of;
using rankd::testing::trained_world;

namespace {

const std::filesystem::path folder_of_models = "tests/rankd/op/onnx";

}  // namespace

TEST_CASE("trees whose file does not say where nulls go are warned of, unless no null comes to them") {
  model_folder models(folder_of_models, trained_world());
  for (const std::string name : {"tree", "forest", "forest_columns", "forest_classes", "boosting", "voting"}) {
    CAPTURE(name);
    const braid::diagnostics warnings = models.warnings(name);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings.front().code == "untracked_nulls");
    CHECK(warnings.front().source == (folder_of_models / (name + ".onnx")).string());
  }
  for (const std::string name : {"hist", "hist_binary", "filled_forest", "linear", "ridge_encoded", "none"}) {
    CAPTURE(name);
    CHECK(models.warnings(name).empty());
  }
  std::string keys = key_text(1, "id", "int");
  for (const auto& [number, name, type, value] : {std::tuple{2, "price", "float", "0.0"},
                                                  {3, "age", "int", "0"},
                                                  {4, "fresh", "bool", "false"},
                                                  {5, "brand", "int", "0"},
                                                  {6, "rating", "float", "0.0"}}) {
    const std::string text = key_text(number, name, type);
    keys += text.substr(0, text.find("nullable")) + "nullable = false\ndefault = " + value + "\n";
  }
  const registries never_null = registries_of(keys, "", "");
  CHECK(model_folder(folder_of_models, never_null).warnings("forest").empty());
}
