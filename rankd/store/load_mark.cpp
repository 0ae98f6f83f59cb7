// rankd/store/load_mark.cpp: writes and parses marks as JSON, and computes the digest that decides whether a load can
// be continued.
#include <rankd/registry/digest.hpp>
#include <rankd/store/detail/load_mark.hpp>

#include <system_error>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

namespace rankd::detail {

using nlohmann::json;

auto to_text(const load_mark& mark) -> std::string {
  return json{{"made_from", mark.made_from}, {"file", mark.file},       {"bytes", mark.line.bytes},
              {"lines", mark.line.lines},    {"records", mark.records}, {"kept", mark.kept}}
             .dump() +
         '\n' + mark.merged_to;  // a key may be no text
}

auto parse_load_mark(std::string_view text) -> std::optional<load_mark> {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  try {
    const json document = json::parse(text.substr(0, end));
    return load_mark{document.at("made_from").get<std::string>(),
                     document.at("file").get<std::uint32_t>(),
                     {document.at("bytes").get<std::uint64_t>(), document.at("lines").get<std::uint64_t>()},
                     document.at("records").get<std::uint64_t>(),
                     document.at("kept").get<std::uint64_t>(),
                     std::string(text.substr(end + 1))};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

auto load_sources(std::span<const std::filesystem::path> files, load_mode mode,
                  const std::optional<store_manifest>& old) -> std::string {
  std::string all = mode == load_mode::merge ? "merge" : "replace";
  const auto add = [&all](auto number) { all += ' ' + std::to_string(number); };
  if (old) add(old->generation), add(old->data_bytes);
  for (const std::filesystem::path& file : files) {
    struct ::stat status{};
    std::error_code ignored;  // a missing file is reported elsewhere
    if (::stat(file.c_str(), &status) != 0) continue;
    all += '\n' + std::filesystem::absolute(file, ignored).string();
    add(status.st_dev), add(status.st_ino), add(status.st_size);
    add(status.st_mtim.tv_sec), add(status.st_mtim.tv_nsec), add(status.st_ctim.tv_sec), add(status.st_ctim.tv_nsec);
  }
  return sha256_hex(all);
}

}  // namespace rankd::detail
