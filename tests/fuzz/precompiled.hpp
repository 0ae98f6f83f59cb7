// tests/fuzz/precompiled.hpp: what fuzz targets of rankd include, compiled once for all of them.
#pragma once

#include <nlohmann/json.hpp>

#include <rankd/engine/engine.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
