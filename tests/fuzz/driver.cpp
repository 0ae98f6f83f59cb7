// tests/fuzz/driver.cpp: runs a target on its corpus and on a number of mutations of it, without libFuzzer.
#include <tests/fuzz/mutate.hpp>
#include <tests/fuzz/target.hpp>

#include <braid/base/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace {

constexpr std::size_t largest_input = 8'192;

constexpr const char* usage =
    "usage: %s [--runs N] [--seed N] [--from N] FILE_OR_FOLDER...\n"
    "Runs the target on each file, and on N mutations of them (default 20000) that the seed (default 1) makes.\n"
    "--from N begins with mutation N, so that one can be repeated by itself.\n";

struct options {
  std::size_t runs = 20'000;
  std::uint64_t seed = 1;
  std::size_t from = 0;
  std::vector<std::filesystem::path> places;
};

auto bytes_of(const std::filesystem::path& file) -> std::string {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// In the order of their names, so that a seed means the same everywhere.
auto find_files(const std::vector<std::filesystem::path>& places) -> std::vector<std::filesystem::path> {
  std::vector<std::filesystem::path> out;
  for (const auto& place : places) {
    if (!std::filesystem::is_directory(place)) {
      out.push_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

/// The input at hand lies in a file, where it is found when the program dies, whatever kills it.
class last_words {
 public:
  last_words() {
    std::string name = (std::filesystem::temp_directory_path() / "braid_fuzz_XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    file_ = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
    if (file_ == nullptr) return;
    std::setvbuf(file_, nullptr, _IONBF, 0);
    name_ = name;
    std::printf("if this program dies, %s is what it was given last\n", name.c_str());
    std::fflush(stdout);
  }
  last_words(const last_words&) = delete;
  auto operator=(const last_words&) -> last_words& = delete;
  ~last_words() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::error_code ignored;
    std::filesystem::remove(name_, ignored);
  }

  void keep(std::string_view input) {
    if (file_ == nullptr) return;
    std::rewind(file_);
    std::fwrite(input.data(), 1, input.size(), file_);
    if (::ftruncate(::fileno(file_), static_cast<off_t>(input.size())) != 0) std::rewind(file_);
  }

 private:
  std::FILE* file_ = nullptr;
  std::filesystem::path name_;
};

auto mutation(const std::vector<std::string>& corpus, const options& how, std::size_t number) -> std::string {
  braid::random_source random(how.seed + number * 0x9e3779b97f4a7c15U);
  std::string text = corpus[random.below(corpus.size())];
  for (auto rounds = 1 + random.below(3); rounds > 0; --rounds)
    text = random.below(4) == 0 ? braid::testing::with_other_bytes(text, random())
                                : braid::testing::mutated(text, braid::testing::target.words, random());
  return text.substr(0, largest_input);
}

auto run_all(const options& how) -> int {
  last_words last;
  const auto run = [&](const std::string& input) {
    last.keep(input);
    braid::testing::target.run(input);
  };
  std::vector<std::string> corpus;
  for (const auto& file : find_files(how.places)) corpus.push_back(bytes_of(file));
  if (corpus.empty()) {
    std::fputs("there is no input to begin with\n", stderr);
    return 1;
  }
  for (const std::string& input : corpus) run(input);
  for (std::size_t number = how.from; number < how.from + how.runs; ++number) run(mutation(corpus, how, number));
  std::printf("%zu files, %zu mutations of seed %llu\n", corpus.size(), how.runs,
              static_cast<unsigned long long>(how.seed));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options how;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool numbered = word == "--runs" || word == "--seed" || word == "--from";
    if (!numbered && word.starts_with("-")) return std::fprintf(stderr, usage, argv[0]), 2;
    if (!numbered) {
      how.places.emplace_back(word);
      continue;
    }
    if (++i == argc) return std::fprintf(stderr, usage, argv[0]), 2;
    const auto number = std::strtoull(argv[i], nullptr, 10);
    if (word == "--seed")
      how.seed = number;
    else
      (word == "--runs" ? how.runs : how.from) = number;
  }
  return run_all(how);
}
