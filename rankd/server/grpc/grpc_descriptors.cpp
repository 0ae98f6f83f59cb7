// rankd/server/grpc/grpc_descriptors.cpp: finds the symbols in descriptors.
#include <rankd/server/grpc/grpc_descriptors.hpp>

#include <utility>

#include <standard.pb.h>

namespace rankd {
namespace {

/// Collects the full names of the symbols of one file.
class symbol_list {
 public:
  explicit symbol_list(const grpc::File& file) {
    const std::string& scope = file.package();
    for (const grpc::MessageType& each : file.message_type()) add(scope, each);
    for (const grpc::EnumType& each : file.enum_type()) add(scope, each);
    for (const grpc::Service& each : file.service()) {
      services.push_back(add(scope, each.name()));
      for (const grpc::Named& method : each.method()) add(services.back(), method.name());
    }
  }

  std::vector<std::string> names;
  std::vector<std::string> services;

 private:
  auto add(const std::string& scope, const std::string& name) -> std::string {
    return names.emplace_back(scope.empty() ? name : scope + "." + name);
  }
  void add(const std::string& scope, const grpc::MessageType& message) {
    const std::string name = add(scope, message.name());
    for (const grpc::Named& field : message.field()) add(name, field.name());
    for (const grpc::MessageType& each : message.nested_type()) add(name, each);
    for (const grpc::EnumType& each : message.enum_type()) add(name, each);
  }
  /// Adds an enumeration. The names of its values belong to the scope around the enumeration.
  void add(const std::string& scope, const grpc::EnumType& values) {
    add(scope, values.name());
    for (const grpc::Named& value : values.value()) add(scope, value.name());
  }
};

}  // namespace

grpc_descriptors::grpc_descriptors() {
  grpc::Files set;
  const std::string_view bytes = serialized_descriptors();
  static_cast<void>(set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  for (std::string& each : *set.mutable_file()) {
    grpc::File file;
    static_cast<void>(file.ParseFromString(each));
    const std::string* const kept = &files_.insert_or_assign(file.name(), std::move(each)).first->second;
    symbol_list found(file);
    for (std::string& name : found.names) symbols_.insert_or_assign(std::move(name), kept);
    for (std::string& name : found.services) services_.push_back(std::move(name));
  }
}

auto grpc_descriptors::all() -> const grpc_descriptors& {
  static const grpc_descriptors made;
  return made;
}

auto grpc_descriptors::find_file(std::string_view name) const -> const std::string* {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

auto grpc_descriptors::find_symbol(std::string_view name) const -> const std::string* {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : found->second;
}

}  // namespace rankd
