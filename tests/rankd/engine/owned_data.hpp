// tests/rankd/engine/owned_data.hpp: lists of ids that show whose they are, so that an answer from another's data does.
#pragma once

#include <tests/rankd/engine/engine_world.hpp>

#include <braid/base/random.hpp>

#include <cstdint>
#include <string>

namespace rankd::testing {

inline constexpr std::int64_t owners = 60;
inline constexpr int followed = 12;

/// An id that shows whose list it is in, and whether it was changed on the way.
inline auto id_of(std::int64_t owner, int place) -> std::int64_t {
  braid::random_source mix(static_cast<std::uint64_t>(owner * 1'000 + place));
  return (owner * 100 + place) * 1'000'000'000 + static_cast<std::int64_t>(mix.below(1'000'000'000));
}
/// 0 for an id that is nobody's.
inline auto owner_of(std::int64_t id) -> std::int64_t {
  const std::int64_t head = id / 1'000'000'000;
  return id > 0 && id_of(head / 100, static_cast<int>(head % 100)) == id ? head / 100 : 0;
}
/// A country that no other id has.
inline auto country_of(std::int64_t id) -> std::string { return "C" + std::to_string(id); }

/// Whom each owner follows, and their countries, as records of a store.
inline auto owned_data() -> std::string {
  std::string lines;
  for (std::int64_t owner = 1; owner <= owners; ++owner) {
    lines += R"({"list":"follow:)" + std::to_string(owner) + R"(","values":[)";
    std::string hashes;
    for (int place = 0; place < followed; ++place) {
      const std::string id = std::to_string(id_of(owner, place));
      lines += (place == 0 ? "" : ",") + id;
      hashes += R"({"hash":"user:)" + id + R"(","fields":{"country":"C)" + id + "\"}}\n";
    }
    lines += "]}\n" + hashes;
  }
  return lines;
}

/// The nodes of a plan that gives whom the viewer follows.
inline auto follow_nodes() -> std::string {
  return node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
         node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":100})");
}

}  // namespace rankd::testing
