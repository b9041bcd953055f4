#pragma once

#include <filesystem>

#include "core/base/json_reader.h"
#include "core/config/config.h"

namespace moeblaze {

/// Whether the object is a Hugging Face config.json rather than one with the design's keys.
bool isHuggingFace(const JsonReader& reader);

/// The MoE layer of the model that a Hugging Face config.json, read from `path`, describes. Throws InputError.
ConfigSource readHuggingFace(const JsonReader& reader, const std::filesystem::path& path);

}  // namespace moeblaze
