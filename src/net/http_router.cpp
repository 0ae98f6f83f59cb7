// src/net/http_router.cpp: stores the patterns of routes as a tree of path segments, and finds the route of a request.
#include <braid/net/http_server.hpp>

#include <braid/base/config.hpp>

#include <algorithm>

namespace braid {

struct http_router::route {
  http_router::handler handler;
  std::string pattern;
  http_router::route_options options;
  std::vector<std::string> names;
};

struct http_router::node {
  std::string segment;
  std::vector<std::unique_ptr<node>> written_out;
  std::unique_ptr<node> named;
  std::unique_ptr<node> rest;
  std::array<std::unique_ptr<route>, detail::http_methods> routes;
  http_router::method_set allowed;  // the methods with a route, and HEAD if GET has a route

  [[nodiscard]] auto find(std::string_view wanted) const noexcept -> node* {
    for (const auto& child : written_out)
      if (child->segment == wanted) return child.get();
    return nullptr;
  }

  auto child(std::string_view wanted) -> node& {
    if (node* known = find(wanted)) return *known;
    written_out.push_back(std::make_unique<node>());
    written_out.back()->segment = wanted;
    return *written_out.back();
  }
};

namespace {

constexpr std::string_view rest_mark = "...";

/// Ends the program with a message about an invalid route. The message contains the pattern of the route.
[[noreturn]] void refuse_route(std::string_view pattern, std::string_view problem) {
  const std::string sentence = "the route `" + std::string(pattern) + "` " + std::string(problem);
  detail::contract_failed(sentence, "the route is valid");
}

/// Like `BRAID_EXPECTS`, checks a condition of the route that is being added. If the check fails, the message contains
/// the pattern.
void require(bool holds, std::string_view pattern, std::string_view problem) {
  if (!holds) refuse_route(pattern, problem);
}

/// Removes the first segment from `path`, which begins with a slash. Returns the segment without the slash.
auto next_segment(std::string_view& path) -> std::string_view {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view out = path.substr(1, end - 1);
  path.remove_prefix(end);
  return out;
}

}  // namespace

http_router::http_router() : root_(std::make_unique<node>()) {}
http_router::http_router(http_router&&) noexcept = default;
auto http_router::operator=(http_router&&) noexcept -> http_router& = default;
http_router::~http_router() = default;

auto http_router::method_set::to_string() const -> std::string {
  std::string out;
  for (std::uint8_t i = 0; i < detail::http_methods; ++i) {
    if (!contains(static_cast<http_method>(i))) continue;
    if (!out.empty()) out += ", ";
    out += name_of(static_cast<http_method>(i));
  }
  return out;
}

void http_router::insert(http_method method, std::string_view pattern, http_router::route_options options,
                         http_router::handler handler) {
  require(pattern.starts_with('/'), pattern, "must begin with a slash");
  require(options.deadline == duration::max() || handler.index() != 0, pattern,
          "has a deadline, but its handler is a plain function, which nothing can interrupt: let it return task<void>");
  auto made = std::make_unique<route>();
  made->handler = std::move(handler);
  made->pattern = pattern;
  made->options = std::move(options);
  node* const at = find_place(pattern, made->names);
  auto& place = at->routes[static_cast<std::size_t>(method)];
  if (place) {
    refuse_route(pattern, "is added twice for " + std::string(name_of(method)) + ": `" + place->pattern +
                              "` already has a handler");
  }
  place = std::move(made);
  at->allowed.add(method);
  if (method == http_method::get) at->allowed.add(http_method::head);
}

/// Finds or creates the node of a pattern, and appends the pattern's parameter names to `names`.
auto http_router::find_place(std::string_view whole, std::vector<std::string>& names) -> node* {
  node* at = root_.get();
  for (std::string_view pattern = whole; !pattern.empty();) {
    const std::string_view segment = next_segment(pattern);
    if (!segment.starts_with('{')) {
      require(segment.find_first_of("{}") == segment.npos, whole, "must have braces around whole segments only");
      at = &at->child(segment);
      continue;
    }
    require(segment.size() > 2 && segment.ends_with('}'), whole, "must have each name in braces: `/{name}/`");
    require(names.size() < max_names, whole, "has more than eight names");
    std::string_view name = segment.substr(1, segment.size() - 2);
    const bool rest = name.ends_with(rest_mark);
    if (rest) name.remove_suffix(rest_mark.size());
    require(!rest || pattern.empty(), whole, "must have `{name...}` at its end only");
    require(std::ranges::find(names, name) == names.end(), whole, "has a name twice");
    names.emplace_back(name);
    auto& place = rest ? at->rest : at->named;
    if (!place) place = std::make_unique<node>();
    at = place.get();
  }
  return at;
}

auto http_router::find(http_method method, std::string_view path) const noexcept -> match {
  match out;
  if (path.starts_with('/')) static_cast<void>(search(*root_, method, path, 0, out));
  return out;
}

/// Looks for the method's handler at a node. Returns true if the node has such a handler, which ends the search.
auto http_router::try_route(const node& node, http_method method, match& match) noexcept -> bool {
  const auto find_handler = [&](http_method one) { return node.routes[static_cast<std::size_t>(one)].get(); };
  match.allowed_.add(node.allowed);
  match.route_ = find_handler(method);
  if (match.route_ == nullptr && method == http_method::head) match.route_ = find_handler(http_method::get);
  return match.route_ != nullptr;
}

/// Searches the tree for the path. Each level of the tree matches one segment, so no node is visited twice.
auto http_router::search(const node& at, http_method method, std::string_view rest, std::size_t names,
                         match& match) noexcept -> bool {
  if (rest.empty()) return try_route(at, method, match);
  std::string_view behind = rest;
  const std::string_view segment = next_segment(behind);
  if (const node* child = at.find(segment))
    if (search(*child, method, behind, names, match)) return true;
  if (at.named && !segment.empty()) {
    match.values_[names] = segment;
    if (search(*at.named, method, behind, names + 1, match)) return true;
  }
  if (!at.rest || rest.size() == 1) return false;
  match.values_[names] = rest.substr(1);
  return try_route(*at.rest, method, match);
}

auto http_router::match::handler() const noexcept -> const http_router::handler* {
  return route_ == nullptr ? nullptr : &route_->handler;
}

auto http_router::match::pattern() const noexcept -> std::string_view {
  return route_ == nullptr ? std::string_view() : route_->pattern;
}

auto http_router::match::options() const noexcept -> const http_router::route_options* {
  return route_ == nullptr ? nullptr : &route_->options;
}

auto http_router::match::value(std::string_view name) const noexcept -> std::optional<std::string_view> {
  if (route_ == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < route_->names.size(); ++i)
    if (route_->names[i] == name) return values_[i];
  return std::nullopt;
}

}  // namespace braid
