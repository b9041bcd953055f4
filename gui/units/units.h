#pragma once

#include <QObject>
#include <QString>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace moeblaze::gui {

/// How sizes are written: always with a unit, so that GB and GiB are not confused.
enum class ByteUnit : uint8_t {
  binary,   ///< KiB, MiB, GiB: powers of 1024
  exact,    ///< bytes, with the digits grouped by thousands
  decimal,  ///< kB, MB, GB: powers of 1000
};
inline constexpr std::array kByteUnits{ByteUnit::binary, ByteUnit::exact, ByteUnit::decimal};
/// The text of a menu entry, as in "MiB / GiB (powers of 1024)".
std::string_view label(ByteUnit unit);

/// Writes a size as "1.250 GiB", "1,342,177,280 B" or "1.342 GB". It has four digits; sizes below the first prefix are
/// whole.
std::string bytesText(int64_t bytes, ByteUnit unit);
/// Writes a difference of sizes with its sign, as in "+12.00 MiB".
std::string deltaText(int64_t bytes, ByteUnit unit);
/// Writes a number with its digits grouped, as in "12,345".
std::string countText(int64_t count);

/// The unit that all windows of the program use. Any thread may read it.
class UnitFormat : public QObject {
  Q_OBJECT

 public:
  static UnitFormat& shared();

  ByteUnit unit() const { return unit_; }
  /// For the GUI thread only.
  void setUnit(ByteUnit unit);
  /// A size, or a difference of sizes, in the chosen unit.
  QString text(int64_t bytes) const { return QString::fromStdString(bytesText(bytes, unit_)); }
  QString delta(int64_t bytes) const { return QString::fromStdString(deltaText(bytes, unit_)); }

 Q_SIGNALS:
  void changed();

 private:
  std::atomic<ByteUnit> unit_ = ByteUnit::binary;
};

}  // namespace moeblaze::gui
