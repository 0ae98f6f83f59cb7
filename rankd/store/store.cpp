// rankd/store/store.cpp: opens the store of an endpoint.
#include <rankd/store/store.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/followed_store.hpp>
#include <rankd/store/model_server.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/redis_store.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <variant>

namespace rankd {
namespace {

auto unsupported(const endpoint_entry& endpoint, std::string_view message) -> std::unexpected<braid::diagnostics> {
  return std::unexpected(
      braid::diagnostics({.code = "store_unsupported",
                          .pointer = {},
                          .message = "endpoint `" + endpoint.endpoint_id + "`: " + std::string(message),
                          .hint = {},
                          .node = {},
                          .source = {}}));
}

auto open_redis(const endpoint_entry& endpoint, server_messages words) -> braid::checked<std::unique_ptr<store>> {
  auto server = parse_redis_options(endpoint);
  if (!server) {
    server.error().set_source("endpoint `" + endpoint.endpoint_id + "`");
    return std::unexpected(std::move(server.error()));
  }
  return std::make_unique<redis_store>(redis_store_options{.endpoint_id = endpoint.endpoint_id,
                                                           .server = std::move(*server),
                                                           .connections = endpoint.policy.connections,
                                                           .words = words});
}

auto open_model_server(const endpoint_entry& endpoint, server_messages words)
    -> braid::checked<std::unique_ptr<store>> {
  auto server = make_model_server_options(endpoint, words);
  if (!server) {
    server.error().set_source("endpoint `" + endpoint.endpoint_id + "`");
    return std::unexpected(std::move(server.error()));
  }
  return std::make_unique<model_server>(std::move(*server));
}

}  // namespace

auto store::explain(const store_error& error) const -> store_failure {
  return {"store_error", "the store refused to answer: " + error.message()};
}

auto store::pinned() -> std::shared_ptr<store> { return nullptr; }

auto store::followed() noexcept -> followed_store* { return nullptr; }

auto store::scrub(std::uint64_t /*max_bytes*/) -> scrub_step { return {}; }

auto store::damage() const -> std::string { return {}; }

auto wrong_type_failure(std::string_view endpoint_id) -> store_failure {
  return {"store_wrong_type",
          "endpoint `" + std::string(endpoint_id) + "`: " + make_error_code(store_errc::wrong_type).message()};
}

auto open_store(const endpoint_entry& endpoint, const std::filesystem::path& root, server_messages words)
    -> braid::checked<std::unique_ptr<store>> {
  if (endpoint.kind == endpoint_entry::kind_type::http) return open_model_server(endpoint, words);
  if (!is_store(endpoint)) return unsupported(endpoint, "a vector file is not a store");
  const auto* embedded = std::get_if<endpoint_entry::embedded_resolver>(&endpoint.resolver);
  if (embedded == nullptr) return open_redis(endpoint, words);
  return followed_store::open(root / embedded->path, endpoint.endpoint_id);
}

}  // namespace rankd
