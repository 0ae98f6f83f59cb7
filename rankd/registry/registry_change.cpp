// rankd/registry/registry_change.cpp: compares old and new registries, and decides which changes need a restart.
#include <rankd/registry/registry_change.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace rankd {
namespace {

void refuse(braid::diagnostics& problems, std::string message, std::string hint) {
  problems.append(make_diagnostic("needs_restart", std::move(message), std::move(hint)));
}

constexpr std::string_view connects = "restart the server, because it connects to its endpoints only when it starts";

/// Reports an error if the endpoint is not declared in `others`.
void compare_endpoint(const endpoint_entry& id, const registries& others, std::string_view absent,
                      braid::diagnostics& problems) {
  const endpoint_entry* other = others.find_endpoint(id.endpoint_id);
  if (other == nullptr)
    refuse(problems, "endpoint " + quote_name(id.endpoint_id) + std::string(absent), std::string(connects));
}

auto what_needs_a_restart(const registries& now, const registries& read) -> braid::diagnostics {
  braid::diagnostics out;
  if (now.id_type() != read.id_type())
    refuse(out, "ids are now of type " + std::string(to_string(read.id_type())),
           "restart the server: the type of ids cannot change while the server runs");
  for (const endpoint_entry& each : now.endpoints()) compare_endpoint(each, read, " is no longer declared", out);
  for (const endpoint_entry& each : read.endpoints()) {
    compare_endpoint(each, now, " is new", out);
    const endpoint_entry* earlier = now.find_endpoint(each.endpoint_id);
    if (earlier != nullptr && earlier->kind != each.kind)
      refuse(out, "endpoint " + quote_name(each.endpoint_id) + " is now of kind " + std::string(to_string(each.kind)),
             std::string(connects));
  }
  return out;
}

/// Returns a sentence for each change of an endpoint that takes effect only after a restart.
auto until_restart(const registries& now, const registries& read) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const endpoint_entry& each : read.endpoints()) {
    const endpoint_entry& earlier = *now.find_endpoint(each.endpoint_id);
    const bool moved = earlier.resolver != each.resolver;
    if (!moved && earlier.policy == each.policy) continue;
    out.push_back("endpoint " + quote_name(each.endpoint_id) + " keeps its " + (moved ? "place" : "policy") +
                  " until the server is restarted");
  }
  return out;
}

template <typename Entry>
auto without_doc(std::span<const Entry> entries) -> std::vector<Entry> {
  std::vector<Entry> out(entries.begin(), entries.end());
  for (Entry& each : out) each.doc.clear();
  return out;
}

auto equal_for_plans(const capability_entry& a, const capability_entry& b) -> bool {
  return a.id == b.id && a.status == b.status && a.payload_schema == b.payload_schema;
}

/// Returns whether plans and requests cannot notice any difference between the two registries. Features are not
/// compared, because plans do not use them.
auto serves_like(const registries& a, const registries& b) -> bool {
  return without_doc(a.keys()) == without_doc(b.keys()) && without_doc(a.params()) == without_doc(b.params()) &&
         std::ranges::equal(a.capabilities(), b.capabilities(), equal_for_plans) &&
         std::ranges::equal(a.endpoints(), b.endpoints());
}

}  // namespace

auto change_registries(std::shared_ptr<const registries> now, registries read) -> braid::checked<registry_change> {
  if (auto refused = what_needs_a_restart(*now, read); !refused.empty()) return std::unexpected(std::move(refused));
  registry_change out{.next = std::move(now), .until_restart = {}};
  out.until_restart = until_restart(*out.next, read);
  read.keep_places(*out.next);
  if (!serves_like(*out.next, read)) out.next = std::make_shared<const registries>(std::move(read));
  return out;
}

}  // namespace rankd
