#include "traces/export/memory_viz.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "traces/export/memory_viz_device.h"
#include "traces/formats/pickle.h"
#include "traces/formats/torch_meta.h"

namespace moeblaze {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxSmallSegment = int64_t{2} << 20;  // bytes, as PyTorch's allocator calls it small

std::string_view metaText(const Trace& trace, std::string_view key) {
  const auto found = std::ranges::find(trace.meta, key, &std::pair<std::string, std::string>::first);
  return found == trace.meta.end() ? std::string_view() : found->second;
}

int64_t wholeMicroseconds(int64_t ns) { return ns >= 0 ? ns / 1000 : -((999 - ns) / 1000); }

class VizWriter {
 public:
  explicit VizWriter(const Trace& trace) : trace_(trace) {
    const std::string_view start = metaText(trace, kMetaStartUs);
    std::from_chars(start.data(), start.data() + start.size(), startUs_);
    hasTimes_ = metaText(trace, kMetaClock) != kMetaClockIndex;
  }

  std::string write() {
    std::vector<VizDevice> devices;
    for (const Track& track : trace_.tracks) {
      if (track.kind == TrackKind::planned || track.device < 0 || track.device >= kMaxSnapshotDevices) continue;
      if (devices.size() <= static_cast<size_t>(track.device)) devices.resize(static_cast<size_t>(track.device) + 1);
    }
    for (size_t i = 0; i < devices.size(); ++i) devices[i] = makeVizDevice(trace_, static_cast<int32_t>(i));
    out_.beginDict();
    out_.text("segments");
    out_.beginList();
    for (size_t i = 0; i < devices.size(); ++i)
      for (const VizSegment& segment : devices[i].segments) writeSegment(static_cast<int64_t>(i), segment);
    out_.endList();
    out_.text("device_traces");
    out_.beginList();
    for (const VizDevice& device : devices) {
      out_.beginList();
      for (const VizEvent& event : device.events) writeEvent(event);
      out_.endList();
    }
    out_.endList();
    out_.text("allocator_settings");
    // The settings are only shown, so anything but a JSON object may become an empty one.
    const Json settings = Json::parse(metaText(trace_, kMetaAllocatorSettings), nullptr, false);
    writeJson(settings.is_object() ? settings : Json::object(), 0);
    out_.text("external_annotations");
    out_.beginList();
    out_.endList();
    out_.endDict();
    return out_.finish();
  }

 private:
  template <typename Value>
  void field(std::string_view key, Value value) {
    out_.text(key);
    if constexpr (std::is_same_v<Value, std::string_view>) {
      out_.text(value);
    } else if constexpr (std::is_same_v<Value, bool>) {
      out_.boolean(value);
    } else {
      out_.integer(value);
    }
  }

  void writeEvent(const VizEvent& event) {
    const bool takes = event.action == "alloc" || event.action == "segment_alloc";
    out_.beginDict();
    field("action", event.action);
    field("addr", event.address);
    field("size", event.bytes);
    field("stream", event.allocation->stream);
    if (hasTimes_) field("time_us", startUs_ + wholeMicroseconds(event.timeNs));
    writeFrames(takes ? event.allocation->stack : StackId::none);
    out_.endDict();
  }

  void writeSegment(int64_t device, const VizSegment& segment) {
    int64_t allocated = 0, active = 0, requested = 0;
    for (const VizBlock& block : segment.blocks) {
      if (!block.allocation) continue;
      active += block.bytes;
      if (block.allocation->freeRequestedNs != kNever) continue;
      allocated += block.bytes;
      requested += requestedBytes(*block.allocation);
    }
    const Allocation* origin = segment.allocation ? segment.allocation : segment.blocks.front().allocation;
    out_.beginDict();
    field("device", device);
    field("address", segment.address);
    field("total_size", segment.bytes);
    field("allocated_size", allocated);
    field("active_size", active);
    field("requested_size", requested);
    field("stream", origin->stream);
    field("segment_type", std::string_view(segment.bytes <= kMaxSmallSegment ? "small" : "large"));
    out_.text("segment_pool_id");
    out_.integer(int64_t{0});
    out_.integer(int64_t{0});
    out_.pair();
    field("is_expandable", segment.joined);
    writeFrames(segment.allocation ? segment.allocation->stack : StackId::none);
    out_.text("blocks");
    out_.beginList();
    for (const VizBlock& block : segment.blocks) writeBlock(block);
    out_.endList();
    out_.endDict();
  }

  void writeBlock(const VizBlock& block) {
    const bool pending = block.allocation && block.allocation->freeRequestedNs != kNever;
    out_.beginDict();
    field("address", block.address);
    field("size", block.bytes);
    field("requested_size", block.allocation ? requestedBytes(*block.allocation) : block.bytes);
    field("state", std::string_view(!block.allocation ? "inactive"
                                    : pending         ? "active_pending_free"
                                                      : "active_allocated"));
    writeFrames(block.allocation ? block.allocation->stack : StackId::none);
    out_.endDict();
  }

  /// Writes a stack the first time, and a reference to it afterwards.
  void writeFrames(StackId stack) {
    out_.text("frames");
    const auto [entry, isNew] = stacks_.try_emplace(static_cast<uint32_t>(stack));
    if (!isNew) return out_.reference(entry->second);
    out_.beginList();
    for (const Frame& frame : trace_.stacks[stack]) {
      out_.beginDict();
      field("name", std::string_view(trace_.strings[frame.function]));
      field("filename", std::string_view(trace_.strings[frame.file]));
      field("line", int64_t{frame.line});
      out_.endDict();
    }
    out_.endList();
    entry->second = out_.remember();
  }

  /// Writes a JSON value. Values nested deeper than kMaxSettingsLevels become None.
  void writeJson(const Json& value, int level) {
    if (level > kMaxSettingsLevels) return out_.none();
    if (value.is_object()) {
      out_.beginDict();
      for (const auto& [key, item] : value.items()) {
        out_.text(key);
        writeJson(item, level + 1);
      }
      return out_.endDict();
    }
    if (value.is_array()) {
      out_.beginList();
      for (const Json& item : value) writeJson(item, level + 1);
      return out_.endList();
    }
    if (value.is_string()) return out_.text(value.get_ref<const std::string&>());
    if (value.is_boolean()) return out_.boolean(value.get<bool>());
    if (value.is_number_unsigned()) return out_.integer(value.get<uint64_t>());
    if (value.is_number_integer()) return out_.integer(value.get<int64_t>());
    if (value.is_number()) return out_.real(value.get<double>());
    out_.none();
  }

  const Trace& trace_;
  int64_t startUs_ = 0;
  bool hasTimes_ = true;
  PickleWriter out_;
  std::unordered_map<uint32_t, PickleWriter::Memo> stacks_;
};

}  // namespace

std::string exportMemoryViz(const Trace& trace) { return VizWriter(trace).write(); }

}  // namespace moeblaze
