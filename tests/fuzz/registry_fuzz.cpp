// tests/fuzz/registry_fuzz.cpp: any text, cut at lines of `%%`, as the five files of a registry, and the one of
// experiments.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>
#include <tests/support/scratch_folder.hpp>

#include <rankd/registry/experiments.hpp>
#include <rankd/registry/registries.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::string_view, 51> words{"[[key]]\n",
                                                 "[[param]]\n",
                                                 "[[capability]]\n",
                                                 "[[endpoint]]\n",
                                                 "key_id = @\n",
                                                 "param_id = @\n",
                                                 "endpoint_id = \"ep_0001\"\n",
                                                 "\"ep_0002\"",
                                                 "id = \"cap.rfc.0001.x.v1\"\n",
                                                 "name = @\n",
                                                 "type = \"int\"\n",
                                                 "\"float\"",
                                                 "\"string\"",
                                                 "\"bool\"",
                                                 "\"vector\"",
                                                 "nullable = true\n",
                                                 "default = @\n",
                                                 "doc = \"\"\n",
                                                 "status = \"blocked\"\n",
                                                 "\"deprecated\"",
                                                 "\"active\"",
                                                 "allow_read = false\n",
                                                 "allow_write = false\n",
                                                 "replaced_by = 1\n",
                                                 "payload_schema = {a = @}\n",
                                                 "kind = \"redis\"\n",
                                                 "\"embedded\"",
                                                 "\"http\"",
                                                 "resolver = { type = \"static\", host = \"h\", port = 1 }\n",
                                                 "resolver = { type = \"embedded\", path = \"p\" }\n",
                                                 "policy = { max_inflight = 1, connections = 1 }\n",
                                                 "inf",
                                                 "nan",
                                                 "1979-05-27T07:32:00Z",
                                                 "a.b.c.d = @\n",
                                                 "'''@'''",
                                                 "0x7fffffffffffffff",
                                                 "%%\n",
                                                 "[[layer]]\n",
                                                 "salt = @\n",
                                                 "unit = @\n",
                                                 "buckets = 10\n",
                                                 "[[experiment]]\n",
                                                 "id = \"exp_0001\"\n",
                                                 "layer = @\n",
                                                 "status = \"active\"\n",
                                                 "plans = [\"a\"]\n",
                                                 "arms = [{ name = @, from = 0, to = 9 }]\n",
                                                 ", set = { p = @ }",
                                                 "filter = { param = @, in = [@] }\n",
                                                 "start = \"2026-11-24T00:00:00Z\"\n"};

constexpr std::array<std::string_view, 5> files{"keys.toml", "params.toml", "endpoints.dev.toml", "capabilities.toml",
                                                experiments_file};

/// A folder of registries; only what changes is written.
class registry_folder {
 public:
  void fill(std::string_view text) {
    constexpr std::string_view cut = "%%\n";
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::size_t at = i + 1 == files.size() ? std::string_view::npos : text.find(cut);
      put(i, text.substr(0, at));
      text.remove_prefix(at == std::string_view::npos ? text.size() : at + cut.size());
    }
  }

  [[nodiscard]] auto load() const -> braid::checked<registries> { return registries::load(folder_.path(), "dev"); }
  [[nodiscard]] auto load_experiments(const registries& declared) const -> braid::checked<experiment_set> {
    return experiment_set::load(folder_.path(), declared);
  }

 private:
  void put(std::size_t i, std::string_view text) {
    if (written_[i] && *written_[i] == text) return;
    std::filesystem::remove(folder_.path() / files[i]);  // a file that is written over may be forced to the disk
    folder_.write(files[i], text);
    written_[i] = std::string(text);
  }

  braid::testing::scratch_folder folder_;
  std::array<std::optional<std::string>, files.size()> written_;
};

template <typename Entries, typename Id>
void expect_ascending(const Entries& entries, Id id) {
  const auto falls = [&](const auto& a, const auto& b) { return !(a.*id < b.*id); };
  BRAID_EXPECTS(std::ranges::adjacent_find(entries, falls) == entries.end(), "ids ascend, none twice");
}

template <typename Entry>
void expect_default(const Entry& entry) {
  // In the order of value_type, behind null.
  const bool typed = entry.default_value.index() == static_cast<std::size_t>(entry.type) + 1;
  BRAID_EXPECTS(is_null(entry.default_value) || typed, "a default is of the declared type");
}

void expect_consistent(const registries& loaded) {
  expect_ascending(loaded.keys(), &key_entry::key_id);
  expect_ascending(loaded.params(), &param_entry::param_id);
  expect_ascending(loaded.capabilities(), &capability_entry::id);
  expect_ascending(loaded.endpoints(), &endpoint_entry::endpoint_id);
  std::ranges::for_each(loaded.keys(), expect_default<key_entry>);
  std::ranges::for_each(loaded.params(), expect_default<param_entry>);
  for (const key_entry& each : loaded.keys())
    BRAID_EXPECTS(loaded.find_key(each.key_id) == &each && loaded.find_key(each.name) == &each, "keys are found");
  for (const param_entry& each : loaded.params())
    BRAID_EXPECTS(loaded.find_param(each.param_id) == &each && loaded.find_param(each.name) == &each,
                  "params are found");
  for (const endpoint_entry& each : loaded.endpoints())
    BRAID_EXPECTS(loaded.find_endpoint(each.endpoint_id) == &each, "endpoints are found");
  const key_entry* id = loaded.find_key(registries::id_key);
  BRAID_EXPECTS(id != nullptr && id->name == "id" && !id->nullable && !id->allow_write, "key 1 is the id");
  for (const registry_digest& each : loaded.digests()) {
    BRAID_EXPECTS(each.sha256.size() == 64, "a digest is SHA-256");
    for (const entry_digest& entry : each.entries)
      BRAID_EXPECTS(!entry.id.empty() && entry.sha256.size() == 64, "each entry has a digest under its id");
  }
  BRAID_EXPECTS(loaded.digests()[0].entries.size() == loaded.keys().size(), "each key has a digest");
}

void expect_consistent(const experiment_set& loaded, const registries& declared) {
  for (const experiment_layer& each : loaded.layers())
    BRAID_EXPECTS(each.buckets > 0 && !each.salt.empty() && (!each.unit_param || declared.find_param(*each.unit_param)),
                  "a layer divides units");
  for (const experiment_entry& one : loaded.experiments()) {
    BRAID_EXPECTS(one.layer < loaded.layers().size() && !one.arms.empty() && !one.plans.empty(), "it is complete");
    for (const experiment_arm& arm : one.arms) {
      BRAID_EXPECTS(arm.from <= arm.to && arm.to < loaded.layers()[one.layer].buckets,
                    "buckets are those of the layer");
      for (const experiment_arm::setting& each : arm.set) {
        const param_entry* const param = declared.find_param(each.param_id);
        BRAID_EXPECTS(param != nullptr && each.value.index() == static_cast<std::size_t>(param->type) + 1,
                      "values are of the types of their params");
      }
    }
  }
}

void load_experiments(const registry_folder& folder, const registries& declared) {
  const auto loaded = folder.load_experiments(declared);
  const auto again = folder.load_experiments(declared);
  BRAID_EXPECTS(loaded.has_value() == again.has_value(), "what is right stays right");
  if (!loaded) {
    expect_sound(loaded.error());
    BRAID_EXPECTS(same_diagnostics(loaded.error(), again.error()), "diagnostics do not change");
    return;
  }
  expect_consistent(*loaded, declared);
  BRAID_EXPECTS(loaded->digest() == again->digest(), "digests do not change");
}

void run(std::string_view text) {
  static registry_folder folder;
  folder.fill(text);
  const auto loaded = folder.load();
  const auto again = folder.load();
  BRAID_EXPECTS(loaded.has_value() == again.has_value(), "what is right stays right");
  if (!loaded) {
    expect_sound(loaded.error());
    BRAID_EXPECTS(same_diagnostics(loaded.error(), again.error()), "diagnostics do not change");
    return;
  }
  expect_consistent(*loaded);
  for (std::size_t i = 0; i < loaded->digests().size(); ++i)
    BRAID_EXPECTS(loaded->digests()[i].sha256 == again->digests()[i].sha256, "digests do not change");
  load_experiments(folder, *loaded);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
