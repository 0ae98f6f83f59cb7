// rankd/server/grpc/grpc_descriptors.hpp: the descriptors of the services of this server, for reflection.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Returns a serialized google.protobuf.FileDescriptorSet with the files of all services (rankd/server/grpc.cmake).
[[nodiscard]] auto serialized_descriptors() noexcept -> std::string_view;

/// The files of all services, with their symbols. Threads: any.
class grpc_descriptors {
 public:
  /// Parses the files of `serialized_descriptors`.
  [[nodiscard]] static auto all() -> const grpc_descriptors&;

  /// Returns a serialized google.protobuf.FileDescriptorProto, or null if no file has this name.
  [[nodiscard]] auto find_file(std::string_view name) const -> const std::string*;
  /// Returns the file that defines a message, an enumeration, a service, or a member of one of them, such as
  /// `rankd.v1.Ranking.Rank`. Returns null if no file defines it.
  [[nodiscard]] auto find_symbol(std::string_view name) const -> const std::string*;
  /// Returns the full names of all services.
  [[nodiscard]] auto services() const noexcept -> const std::vector<std::string>& { return services_; }

 private:
  grpc_descriptors();

  std::vector<std::string> services_;
  std::map<std::string, std::string, std::less<>> files_;
  std::map<std::string, const std::string*, std::less<>> symbols_;
};

}  // namespace rankd
