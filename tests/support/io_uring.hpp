// tests/support/io_uring.hpp: whether the system grants io_uring, asked without the library, and taking that away.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::testing {

/// Zero where the system grants io_uring with all that our backend needs; else why not.
inline auto io_uring_refusal() -> std::error_code {
  ::io_uring_params how{};
  const long ring = ::syscall(SYS_io_uring_setup, 1, &how);
  if (ring < 0) return {errno, std::system_category()};
  ::close(static_cast<int>(ring));
  constexpr unsigned needed = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP | IORING_FEAT_CQE_SKIP;
  if ((how.features & needed) != needed) return std::make_error_code(std::errc::not_supported);
  return {};
}

/// As the usual filter of containers does. Neither the process nor what it becomes can take it back.
inline auto refuse_io_uring() -> bool {
  std::array program{
      ::sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
      ::sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      ::sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      ::sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const ::sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace braid::testing
