// tests/support/refused_calls.hpp: system calls that this process is refused from now on, as a sandbox does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>
#include <optional>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::testing {

/// Refuses the calls with `error`, on all threads of the process. With `first`, only calls whose first argument is
/// that. Neither the process nor what it becomes can take it back. Returns false if the system does not take the
/// filter.
inline auto refuse_calls(const std::vector<long>& numbers, int error, std::optional<std::uint32_t> first = {}) -> bool {
  std::vector<::sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr))};
  const auto count = static_cast<std::uint8_t>(numbers.size());
  std::uint8_t at = 0;
  for (const long number : numbers) {  // to the instruction behind the one that allows
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number),
                               static_cast<std::uint8_t>(count - at), 0));
    ++at;
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  if (first) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, args)));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *first, 1, 0));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)));
  const ::sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

}  // namespace braid::testing
