#include "traces/formats/json_tree.h"

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"

namespace moeblaze {
namespace {

using Json = nlohmann::json;

/// Fills a tree from the calls of a parser that does not recurse.
class TreeSax final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeSax(std::string_view source) : tree_(std::string(source)) {}

  ValueTree take() { return std::move(tree_); }

  bool null() override { return put(ValueId::none); }
  bool boolean(bool value) override { return put(value ? ValueId::yes : ValueId::no); }
  bool number_integer(number_integer_t value) override { return put(tree_.addInteger(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(tree_.addUnsigned(value)); }
  bool number_float(number_float_t value, const string_t&) override { return put(tree_.addReal(value)); }
  bool string(string_t& value) override { return put(text(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override { return put(text(value)); }
  bool start_object(size_t) override { return open(ValueKind::dict); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(ValueKind::list); }
  bool end_array() override { return close(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    if (error.id == 406) refuse(tree_.source(), "byte {}: holds a number beyond the range of a double", position);
    refuse(tree_.source(), "byte {}: is not valid JSON", position);
  }

 private:
  struct Open {
    ValueId container;
    size_t begin;  ///< where its items begin in items_
  };

  /// JSON repeats its keys and names, so each text is kept only once.
  ValueId text(const std::string& value) {
    const auto [entry, isNew] = texts_.try_emplace(value, ValueId::none);
    if (isNew) entry->second = tree_.addText(value);
    return entry->second;
  }

  bool put(ValueId id) {
    if (open_.empty()) tree_.setRoot(id);
    items_.push_back(id);
    return true;
  }

  bool open(ValueKind kind) {
    if (open_.size() == kMaxJsonLevels) {
      refuse(tree_.source(), "is nested too deep; allowed: up to {} levels", kMaxJsonLevels);
    }
    const ValueId container = tree_.addContainer(kind);
    put(container);
    open_.push_back({container, items_.size()});
    return true;
  }

  bool close() {
    const auto [container, begin] = open_.back();
    tree_.append(container, std::span(items_).subspan(begin));
    items_.resize(begin);
    open_.pop_back();
    return true;
  }

  ValueTree tree_;
  std::vector<ValueId> items_;
  std::vector<Open> open_;
  std::unordered_map<std::string, ValueId> texts_;
};

}  // namespace

ValueTree readJsonTree(std::string_view text, std::string_view source, const ReadProgress& progress) {
  if (text.size() > ValueTree::kMaxFileBytes) {
    refuse(source, "has {} bytes; allowed: up to {}", text.size(), ValueTree::kMaxFileBytes);
  }
  TreeSax sax(source);
  const auto [begin, end] = watched(text, progress);
  Json::sax_parse(begin, end, &sax);
  return sax.take();
}

}  // namespace moeblaze
