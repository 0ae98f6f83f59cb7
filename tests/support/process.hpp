// tests/support/process.hpp: runs a program to its end and gives what it wrote.
#pragma once

#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::testing {

struct process_input {
  std::filesystem::path folder = ".";  ///< in which it runs
  std::string_view text = {};          ///< on its standard input
};

struct process_end {
  int status = 0;  ///< it exited with; 128 and more: the signal that ended it
  std::string out;
  std::string err;
};

namespace detail {

/// Never returns: becomes the program, or exits with 127. Calls only what may be called after a fork.
[[noreturn]] inline void become(char* const* words, const char* folder, const char* const (&files)[3]) {
  bool ready = ::chdir(folder) == 0;
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    const int file = ::open(files[descriptor], descriptor == 0 ? O_RDONLY : O_WRONLY);
    ready = ready && file >= 0 && ::dup2(file, descriptor) == descriptor;
  }
  if (ready) ::execv(words[0], words);
  ::_exit(127);
}

inline auto text_of(const std::filesystem::path& file) -> std::string {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace detail

/// Runs `words[0]` with the rest as its arguments. Its streams are files, so it can never wait for a reader.
inline auto run_process(std::vector<std::string> words, const process_input& input = {}) -> process_end {
  const scratch_folder streams;
  const std::string in = streams.write("in", input.text);
  const std::string out = streams.write("out", "");
  const std::string err = streams.write("err", "");
  const std::string folder = input.folder;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const char* const files[3] = {in.c_str(), out.c_str(), err.c_str()};
  const ::pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process can be made");
  if (child == 0) detail::become(arguments.data(), folder.c_str(), files);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = detail::text_of(out),
          .err = detail::text_of(err)};
}

}  // namespace braid::testing
