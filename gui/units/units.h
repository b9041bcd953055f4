#pragma once

#include <QObject>
#include <QString>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace moeblaze::gui {

/// How sizes are written. Always with their unit, so that nobody takes GB for GiB.
enum class ByteUnit : uint8_t {
  binary,   ///< KiB, MiB, GiB: powers of 1024
  exact,    ///< bytes, grouped by thousands
  decimal,  ///< kB, MB, GB: powers of 1000
};
inline constexpr std::array kByteUnits{ByteUnit::binary, ByteUnit::exact, ByteUnit::decimal};
/// "MiB / GiB (powers of 1024)": what a menu says.
std::string_view label(ByteUnit unit);

/// "1.250 GiB", "1,342,177,280 B", "1.342 GB": four digits, whole below the first prefix.
std::string bytesText(int64_t bytes, ByteUnit unit);
/// The same with its sign, "+12.00 MiB": for differences.
std::string deltaText(int64_t bytes, ByteUnit unit);
/// "12,345".
std::string countText(int64_t count);

/// The unit all of the program's windows use; any thread may ask.
class UnitFormat : public QObject {
  Q_OBJECT

 public:
  static UnitFormat& shared();

  ByteUnit unit() const { return unit_; }
  /// GUI thread only.
  void setUnit(ByteUnit unit);
  QString text(int64_t bytes) const { return QString::fromStdString(bytesText(bytes, unit_)); }
  QString delta(int64_t bytes) const { return QString::fromStdString(deltaText(bytes, unit_)); }

 Q_SIGNALS:
  void changed();

 private:
  std::atomic<ByteUnit> unit_ = ByteUnit::binary;
};

}  // namespace moeblaze::gui
