// rankd/server/page_endpoint.cpp: the page that shows plans, as files for a browser, and the hosts that it answers for.
#include <rankd/server/detail/shard.hpp>

#include <rankd/server/page.hpp>

#include <braid/io/sockets.hpp>

#include <algorithm>

namespace rankd::detail {
namespace {

auto is_localhost(std::string_view name) -> bool {
  return std::ranges::equal(name, std::string_view("localhost"),
                            [](char given, char wanted) { return (given | 0x20) == wanted; });
}

/// Whether the field Host names this machine in a way that no name server can answer for: an address, or localhost.
auto is_local_name(std::string_view host) -> bool {
  if (host.starts_with('[')) return braid::socket_address::ip(host.substr(1, host.find(']') - 1), 0).has_value();
  const std::string_view name = host.substr(0, host.find(':'));
  return is_localhost(name) || braid::socket_address::ip(name, 0).has_value();
}

}  // namespace

auto foreign_host(std::string_view request_id) -> error_answer {
  return answer_error(braid::http_status::forbidden, "foreign_host",
                      "with --ui and without tokens this server answers to an address of this machine or to localhost, "
                      "and the field Host names another; --token-file lets clients use any name",
                      request_id);
}

/// A page of another site whose name has come to mean this machine (DNS rebinding) asks with that name in Host.
auto shard::is_foreign(const braid::http_exchange& x) const -> bool {
  return all_->options.shows_page && !tokens_ && !is_local_name(x.request().host);
}

auto shard::may_come(braid::http_exchange& x, endpoint which) -> bool {
  if (!is_foreign(x)) return true;
  reply(x, which, foreign_host(given_request_id(x.request())));
  return false;
}

/// For every client: the files say nothing of this server, and what they ask it needs a token where all else does.
void shard::add_page_routes() {
  if (!all_->options.shows_page) return;
  for (const page_file& file : page_files())
    routes_.get(file.path, [this, &file](braid::http_exchange& x) { page(x, file); });
}

/// What the page can ask for beyond plans, metrics and runs.
auto shard::offers_to(const token_client& client) const -> std::vector<std::string> {
  std::vector<std::string> out;
  const bool may_see = client.may_see_shadows || tokens_ == nullptr;
  if (!all_->context.traffic_places.empty() && may_see) out.emplace_back("traffic");
  if (all_->context.drafts != nullptr && (client.may_edit || tokens_ == nullptr)) out.emplace_back("drafts");
  return out;
}

void shard::page(braid::http_exchange& x, const page_file& file) {
  if (!may_come(x, endpoint::page)) return;
  static_cast<void>(x.set_field("Content-Security-Policy", page_policy));
  static_cast<void>(x.set_field("X-Content-Type-Options", "nosniff"));
  static_cast<void>(x.set_field("Referrer-Policy", "no-referrer"));
  static_cast<void>(x.set_field("Cache-Control", "no-cache"));
  reply(x, endpoint::page, braid::http_status::ok, file.type, file.text);
}

}  // namespace rankd::detail
