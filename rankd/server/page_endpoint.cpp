// rankd/server/page_endpoint.cpp: the page that shows plans, as files for a browser.
#include <rankd/server/detail/shard.hpp>

#include <rankd/server/page.hpp>

namespace rankd::detail {

/// For every client: the files say nothing of this server, and what they ask it needs a token where all else does.
void shard::add_page_routes() {
  if (!all_->options.shows_page) return;
  for (const page_file& file : page_files())
    add_get(file.path, [this, &file](braid::http_exchange& x) { page(x, file); });
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
  static_cast<void>(x.set_field("Content-Security-Policy", page_policy));
  static_cast<void>(x.set_field("X-Content-Type-Options", "nosniff"));
  static_cast<void>(x.set_field("Referrer-Policy", "no-referrer"));
  static_cast<void>(x.set_field("Cache-Control", "no-cache"));
  reply(x, endpoint::page, braid::http_status::ok, file.type, file.text);
}

}  // namespace rankd::detail
