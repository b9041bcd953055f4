#include "core/base/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/input_file.h"

namespace moeblaze {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMaxHeaderBytes = int64_t{64} << 10;
constexpr int64_t kMaxElements = int64_t{1} << 31;
constexpr size_t kMaxDimensions = 8;

struct ElementType {
  int bytes = 0;
  bool isSigned = false;
};

constexpr std::array<std::string_view, 8> kTypeNames{"|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"};

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw InputError(fmt::format("{}: {}", path.string(), what));
}

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
};

/// Parses the Python dict literal of a header. Any key but the three that NumPy writes is an error.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::filesystem::path& path) : text_(text), path_(path) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = quotedString();
      expect(':');
      if (key == "descr") {
        store(header.descr, key, quotedString());
      } else if (key == "fortran_order") {
        store(header.fortranOrder, key, boolean());
      } else if (key == "shape") {
        store(header.shape, key, shape());
      } else {
        refuse(path_, fmt::format("header key {} is unknown; allowed: descr, fortran_order, shape", quote(key)));
      }
      if (!accept(',') && peek() != '}') malformed();
    }
    if (peek() != '\0' || position_ != text_.size()) malformed();
    if (!header.descr || !header.fortranOrder || !header.shape) {
      refuse(path_, "header lacks a key; needed: descr, fortran_order, shape");
    }
    return header;
  }

 private:
  [[noreturn]] void malformed() const {
    refuse(path_, fmt::format("header is not a NumPy dict near {}", quote(text_.substr(position_, 16))));
  }

  template <typename Value>
  void store(std::optional<Value>& slot, std::string_view key, Value value) const {
    if (slot) refuse(path_, fmt::format("header has {} twice", key));
    slot = std::move(value);
  }

  /// Skips blanks and returns the next character without consuming it; 0 at the end.
  char peek() {
    position_ = std::min(text_.find_first_not_of(" \n", position_), text_.size());
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c || position_ == text_.size()) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed();
  }

  std::string quotedString() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    const size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) malformed();
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return value;
    }
    malformed();
  }

  int64_t dimension() {
    peek();
    int64_t value = -1;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (end == begin) malformed();
    if (error != std::errc() || value < 0 || value > kMaxElements) {
      refuse(path_, fmt::format("shape holds {}; allowed 0 to {}", std::string_view(begin, end), kMaxElements));
    }
    position_ += static_cast<size_t>(end - begin);
    return value;
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> dimensions;
    expect('(');
    while (!accept(')')) {
      dimensions.push_back(dimension());
      // In Python "(3)" is a number, and only "(3,)" is a tuple.
      if (!accept(',') && (peek() != ')' || dimensions.size() == 1)) malformed();
    }
    return dimensions;
  }

  std::string_view text_;
  const std::filesystem::path& path_;
  size_t position_ = 0;
};

/// A file that is read from front to back. Its size is known from the start, so a size that the file announces can be
/// checked before memory is allocated for it.
class Source {
 public:
  explicit Source(const std::filesystem::path& path) : path_(path), in_(openRegular(path)) {
    std::error_code error;
    left_ = static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (error) refuse(path, "has no size: " + error.message());
  }

  int64_t left() const { return left_; }

  std::string take(int64_t bytes) {
    if (bytes > left_) truncated(bytes - left_);
    std::string data(static_cast<size_t>(bytes), '\0');
    if (!in_.read(data.data(), bytes)) truncated(bytes - in_.gcount());
    left_ -= bytes;
    return data;
  }

  [[noreturn]] void truncated(int64_t missing) const {
    refuse(path_, fmt::format("is truncated: {} bytes are missing", missing));
  }

 private:
  static std::ifstream openRegular(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_other(path, error)) refuse(path, "is not a regular file");  // opening a pipe could block
    return openInput(path);
  }

  const std::filesystem::path& path_;
  std::ifstream in_;
  int64_t left_ = 0;
};

uint64_t littleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Header readHeader(Source& source, const std::filesystem::path& path) {
  if (source.take(std::min<int64_t>(source.left(), kMagic.size())) != kMagic) {
    refuse(path, "is not a NumPy .npy file");
  }
  const std::string version = source.take(2);
  if (version[0] < 1 || version[0] > 3 || version[1] != 0) {
    refuse(path, fmt::format("has format {}.{}; allowed: 1.0, 2.0, 3.0", static_cast<unsigned char>(version[0]),
                             static_cast<unsigned char>(version[1])));
  }
  const auto bytes = static_cast<int64_t>(littleEndian(source.take(version[0] == 1 ? 2 : 4)));
  if (bytes > kMaxHeaderBytes) {
    refuse(path, fmt::format("header has {} bytes; allowed: up to {}", bytes, kMaxHeaderBytes));
  }
  return HeaderParser(source.take(bytes), path).parse();
}

ElementType elementType(const std::string& descr, const std::filesystem::path& path) {
  const auto found = std::ranges::find(kTypeNames, descr);
  if (found == kTypeNames.end()) {
    refuse(path,
           fmt::format("dtype {} is not a little-endian integer; allowed: {}", quote(descr), listNames(kTypeNames)));
  }
  return {descr[2] - '0', descr[1] == 'i'};
}

int64_t countElements(const std::vector<int64_t>& shape, const std::filesystem::path& path) {
  if (shape.empty() || shape.size() > kMaxDimensions) {
    refuse(path, fmt::format("has {} dimensions; allowed 1 to {}", shape.size(), kMaxDimensions));
  }
  int64_t count = 1;
  for (int64_t dimension : shape) {
    if (dimension > 0 && count > kMaxElements / dimension) {
      refuse(path,
             fmt::format("shape {} has too many elements; allowed: up to {}", fmt::join(shape, " x "), kMaxElements));
    }
    count *= dimension;
  }
  return count;
}

int64_t decode(std::string_view bytes, ElementType type, const std::filesystem::path& path) {
  const uint64_t raw = littleEndian(bytes);
  if (type.isSigned) {
    const int unused = 64 - 8 * type.bytes;
    return static_cast<int64_t>(raw << unused) >> unused;
  }
  if (raw > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    refuse(path, fmt::format("holds {}; allowed: up to {}", raw, std::numeric_limits<int64_t>::max()));
  }
  return static_cast<int64_t>(raw);
}

}  // namespace

NpyArray readNpy(const std::filesystem::path& path) {
  Source source(path);
  Header header = readHeader(source, path);
  const ElementType type = elementType(*header.descr, path);
  if (*header.fortranOrder) refuse(path, "fortran_order is True; allowed: False");

  NpyArray array{.shape = std::move(*header.shape), .values = {}};
  int64_t left = countElements(array.shape, path);
  const int64_t bytes = left * type.bytes;
  if (source.left() < bytes) source.truncated(bytes - source.left());
  if (source.left() > bytes) refuse(path, fmt::format("has {} bytes after its array", source.left() - bytes));

  array.values.reserve(static_cast<size_t>(left));
  constexpr int64_t kChunk = int64_t{1} << 16;
  for (; left > 0; left -= std::min(left, kChunk)) {
    const std::string chunk = source.take(std::min(left, kChunk) * type.bytes);
    for (size_t at = 0; at < chunk.size(); at += type.bytes) {
      array.values.push_back(decode(std::string_view(chunk).substr(at, type.bytes), type, path));
    }
  }
  return array;
}

}  // namespace moeblaze
