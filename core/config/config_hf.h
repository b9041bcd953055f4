#pragma once

#include <filesystem>

#include "core/base/json_reader.h"
#include "core/config/config.h"

namespace moeblaze {

/// True when the object is a Hugging Face config.json rather than a config with this toolkit's keys.
bool isHuggingFace(const JsonReader& reader);

/// The MoE layer of the model that a Hugging Face config.json, read from `path`, describes. Throws InputError when the
/// family is unknown or a field is missing or wrong.
ConfigSource readHuggingFace(const JsonReader& reader, const std::filesystem::path& path);

}  // namespace moeblaze
