// tests/rankd/server/counted_project.hpp: registries with rules of each kind, in Redis or an embedded store.
#pragma once

#include <rankd/registry/file.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace rankd::testing {

/// Registries of which ep_0001 is what `resolver` says, with counters of clicks, of prices, of pieces, which are whole,
/// and of plays, which fade; and with rules of the other kinds for other events (`rule_place`).
class counted_project {
 public:
  explicit counted_project(const std::string& resolver) {
    for (const auto& each : std::filesystem::directory_iterator("registry"))
      if (each.path().extension() == ".toml")
        std::filesystem::copy(each.path(), folder_.path() / each.path().filename());
    std::filesystem::remove(folder_.path() / "endpoints.prod.toml");
    std::filesystem::remove(folder_.path() / "endpoints.test.toml");
    folder_.write("endpoints.dev.toml",
                  "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"redis_default\"\nkind = \"redis\"\n"
                  "resolver = " +
                      resolver +
                      "\npolicy = { max_inflight = 64, connect_timeout_ms = 20000, "
                      "request_timeout_ms = 20000, connections = 1 }\n");
    more_of("keys.toml",
            "[[key]]\nkey_id = 8001\nname = \"plays\"\ntype = \"float\"\nnullable = true\n"
            "[[key]]\nkey_id = 8002\nname = \"plays_at\"\ntype = \"int\"\nnullable = true\n");
    more_of("params.toml",
            "[[param]]\nparam_id = 8001\nname = \"now_ms\"\ntype = \"int\"\nnullable = false\n"
            "source = \"context\"\nclock = \"milliseconds\"\n");
    folder_.write(
        events_file,
        "[[counter]]\nname = \"clicks\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n"
        "[[counter]]\nname = \"spent\"\nevent = \"purchase\"\nendpoint = \"ep_0001\"\nkey = \"spent\"\n"
        "by = \"price\"\nwindow_s = 3600\n"
        "[[counter]]\nname = \"pieces\"\nevent = \"order\"\nendpoint = \"ep_0001\"\nkey = \"orders\"\n"
        "by = \"count\"\n"
        "[[counter]]\nname = \"plays\"\nevent = \"play\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n"
        "half_life_s = 10\nidle_s = 600\n"
        "[[event]]\nname = \"play\"\n[[event]]\nname = \"view\"\n"
        "[[event]]\nname = \"click\"\n[[event]]\nname = \"purchase\"\n"
        "[[event]]\nname = \"order\"\nfields = { count = \"int\" }\n"
        "[[event]]\nname = \"seen\"\n[[event]]\nname = \"block\"\n[[event]]\nname = \"unblock\"\n"
        "[[event]]\nname = \"rate\"\nfields = { stars = \"float\", note = \"string\" }\n"
        "[[event]]\nname = \"unrate\"\n" +
            other_rules());
    declared = std::make_unique<registries>(registries::load(folder_.path(), "dev").value());
    rules = std::make_unique<event_rules>(event_rules::load(folder_.path(), *declared).value());
  }

  auto write(const std::string& name, std::string_view text) const -> std::filesystem::path {
    return folder_.write(name, text);
  }
  [[nodiscard]] auto path() const -> const std::filesystem::path& { return folder_.path(); }

  std::unique_ptr<registries> declared;
  std::unique_ptr<event_rules> rules;

 private:
  static auto other_rules() -> std::string {
    const auto rule = [](const std::string& kind, const std::string& event, const std::string& key,
                         const std::string& more) {
      return "[[" + kind + "]]\nevent = \"" + event + "\"\nendpoint = \"ep_0001\"\nkey = \"" + key + ":{user_id}\"\n" +
             more;
    };
    const std::string item = "value = \"item_id\"\n";
    return rule("field", "seen", "session", "name = \"last_item\"\n" + item + "idle_s = 600\n") +
           rule("field", "seen", "session", "name = \"last_ms\"\nvalue = \"time_ms\"\n") +
           rule("list", "seen", "viewed", item + "max_items = 3\n") +
           rule("set", "block", "blocked", item + "max_items = 4\n") +
           rule("set", "unblock", "blocked", item + "action = \"remove\"\n") +
           rule("sorted_set", "seen", "seen", item + "max_items = 5\nmax_age_s = 3600\nidle_s = 7200\n") +
           rule("sorted_set", "rate", "rated", item + "score = \"stars\"\nmax_items = 3\nwindow_s = 3600\n") +
           rule("sorted_set", "unrate", "rated", item + "action = \"remove\"\n");
  }

  void more_of(const std::string& file, const std::string& lines) const {
    folder_.write(file, read_text_file(folder_.path() / file).value() + lines);
  }

  braid::testing::scratch_folder folder_;
};

/// The places of a project's rules, in the order of their kinds.
namespace rule_place {
enum : std::size_t { clicks, spent, pieces, plays, last_item, last_ms, viewed, block, unblock, seen, rate, unrate };
}  // namespace rule_place

/// The resolver of an embedded store in folder `store`.
inline constexpr const char* embedded_place = "{ type = \"embedded\", path = \"store\" }";

/// Plays of a hash under `stats:{id}`, as they have faded until `now_ms`, with a half-life of 10 s.
inline constexpr const char* faded_plays_plan =
    R"("capabilities_required":["cap.rfc.0001.arithmetic.v1"],"expr_table":{"e":{"op":"coalesce","a":{"op":"mul",)"
    R"("a":{"op":"key_ref","key_id":8001},"b":{"op":"pow","a":{"op":"const_number","value":2},)"
    R"("b":{"op":"div","a":{"op":"sub","a":{"op":"key_ref","key_id":8002},"b":{"op":"param_ref","param_id":8001}},)"
    R"("b":{"op":"const_number","value":10000}}}},"b":{"op":"const_number","value":0}}},)";

}  // namespace rankd::testing
